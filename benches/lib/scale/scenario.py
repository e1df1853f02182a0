"""The scenarios, each a simulation at a given rate of starts, and their figures."""
import math
from dataclasses import dataclass
from random import Random

from .arrivals import poisson, together, uniform, zipf
from .bucket import percentile
from .region import Options, Region
from .run import Load, Runs
from .sweep import Sweep

EXPONENT = 1.1
# The standard deviation of the logarithm of the work's length: most lengths are within a factor of e of the median.
SPREAD = 1.0
CHUNK = 5.0


@dataclass(frozen=True)
class World:
    """The settings that all scenarios share."""
    rate: int = 1_000
    locks: int = 100_000
    seconds: int = 150
    work: int = 60
    seed: int = 1


@dataclass(frozen=True)
class Scenario:
    id: str
    title: str
    locks: str = "uniform"
    burst: bool = False
    tasks: bool = False
    length: float = 1.0


SCENARIOS = (
    Scenario("uniform", "starts spread evenly over the locks"),
    Scenario("skewed", f"starts by Zipf's law with exponent {EXPONENT}", locks="zipf"),
    Scenario("hour", "every lock started once, at the full hour", burst=True, length=1.5),
    Scenario("fargate", "as the first one, with the work as Fargate tasks", tasks=True, length=0.4),
)


def load(scenario, world):
    random = Random(world.seed + 1)
    seconds = scenario.length * world.seconds
    times = together(world.locks) if scenario.burst else poisson(world.rate, seconds, random)
    choose = {"uniform": lambda: uniform(world.locks, random), "zipf": lambda: zipf(world.locks, EXPONENT, random)}
    locks = iter(range(world.locks)).__next__ if scenario.burst else choose[scenario.locks]()
    # The mean of a lognormal distribution is above its median by half of the variance.
    middle = math.log(world.work) - SPREAD ** 2 / 2
    return Load(times, locks, lambda: random.lognormvariate(middle, SPREAD))


def simulate(scenario, world, quotas, settings, raised, progress):
    """Simulates a scenario under the default quotas or the raised ones, and returns its figures."""
    limited = frozenset(quotas) if scenario.tasks else frozenset(quotas) - {"run-task"}
    region = Region(quotas, settings, Options(limited=limited, raised=raised), world.seed)
    what = load(scenario, world)
    sweep = Sweep(region, what.table_ms)
    runs = Runs(region, what, sweep)
    runs.begin()
    sweep.begin()
    seconds = scenario.length * world.seconds
    for step in range(1, math.ceil(seconds / CHUNK) + 1):
        region.clock.run(min(seconds, step * CHUNK))
        kind = "raised" if raised else "default"
        progress(f"{scenario.id}, {kind} quotas: {region.clock.now:.0f} of {seconds:.0f} s")
    return figures(region, runs, sweep, limited, raised, seconds)


def figures(region, runs, sweep, limited, raised, seconds):
    firsts = {name: meter.first for name, meter in region.meters.items() if meter.first is not None}
    begun = runs.begun
    return {
        "seconds": seconds,
        "starts": runs.arrived,
        "waiting": runs.arrived - len(begun) - runs.skipped - sum(runs.failed.values()),
        "begun": len(begun),
        "skipped": runs.skipped,
        "failed": runs.failed,
        "lapsed": runs.lapsed,
        "delay": [rounded(percentile(begun, share)) for share in (0.5, 0.99)],
        "first": min(firsts, key=firsts.get) if firsts else None,
        "order": sorted(firsts, key=firsts.get),
        "limits": {name: limit(region, name, name in limited, raised) for name in region.quotas},
        "sweeps": [past for past in sweep.sweeps if past["seconds"] is not None],
    }


def limit(region, name, limited, raised):
    meter = region.meters[name]
    passed = max(0, meter.asked - meter.throttled - len(meter.delays))
    quota, size = region.quotas[name].values(raised=raised)
    return {
        "peak": meter.peak, "quota": quota, "size": size, "limited": limited,
        "asked": meter.asked, "throttled": meter.throttled,
        "delay": [rounded(percentile(meter.delays, share, passed)) for share in (0.5, 0.99)],
    }


def rounded(seconds):
    return round(seconds, 1) if seconds < 100 else round(seconds)
