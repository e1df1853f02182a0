"""Runs all simulations (the scenarios, the knees, one lock, the sweep), and lays out the file of results."""
import json

from . import knee
from .quotas import label
from .region import Options
from .run import EVENT_FIRST, PREPARE_MS, TABLE_MS
from .scenario import SCENARIOS, simulate
from .sweep import capacity

# Lengths of work in seconds at which the knees are searched. The second is for the limits of OF_LENGTH, which depend on
# the length.
WORK, LONG = 60, 600
OF_LENGTH = {"transition", "open", "invocations", "table-write", "table-read", "shard", "sweep"}
MOST = 20_000
# The chart leaves out knees above this many times the rate of the scenarios.
CHARTED = 5
# Limits without a knee here. For calls below 100 ms, the limit of requests per second is tighter than that of concurrency.
# The scaling rate of environments limits changes, not a steady state.
LEFT_OUT = {"concurrency", "environments", "partition", "put-events"}
FIGURE = "starts a second at which a limit begins to bite"
NOTE = ("Simulated with benches/scale: the starts a second at which more than 1 % of the requests of one limit are "
        "throttled, every start on a lock of its own with {work} s of work, default quotas of us-east-1, us-west-2 and "
        "eu-west-1, up to five times the rate of its scenarios. [Scale and quotas](scale.md) has the limits and what is left out.")


def scenario(chosen, world, quotas, settings, progress):
    return {name: simulate(chosen, world, quotas, settings, raised, progress)
            for name, raised in (("default", False), ("raised", True))}


def knees(quotas, settings, work, other, progress):
    """Returns for each limit the starts per second at which it begins to bite, or None if it does not."""
    probe = knee.Probe(quotas, settings, Options(other=other), work)
    found = {}
    for name, guess in probe.guesses().items():
        known = work == LONG and name not in OF_LENGTH or other and quotas_alike(quotas, name)
        if name in LEFT_OUT or known:
            continue
        progress(f"knee of {name}, {work} s of work{', other Regions' if other else ''}")
        found[name] = digits(probe.knee(name, guess, MOST))
    return found


def quotas_alike(quotas, name):
    return name not in quotas or quotas[name].values(other=True) == quotas[name].values()


def skips(quotas, settings, progress):
    """Returns the starts per second on one held lock that PutEvents allows, and that the lock's partition allows."""
    probe = knee.Probe(quotas, settings, Options(), 0, skips=True)
    guesses = {"put-events": quotas["put-events"].rate, "partition": quotas["partition"].rate / settings.units["refused"]}
    progress("knees of starts that are skipped")
    return {name: digits(probe.knee(name, guess, MOST)) for name, guess in guesses.items()}


def sweep(settings, quotas):
    describe = quotas["describe"]
    return {"live": capacity(settings, TABLE_MS),
            "dead": capacity(settings, TABLE_MS, dead=True),
            "dead, throttled": capacity(settings, TABLE_MS, describe.values(), dead=True),
            "dead, raised": capacity(settings, TABLE_MS, describe.values(raised=True), dead=True)}


def digits(value):
    """Rounds to two significant digits: a bisection to 2 % has no more."""
    return None if value is None else float(f"{value:.2g}")


def everything(world, date, quotas, settings, progress):
    scenarios = {chosen.id: scenario(chosen, world, quotas, settings, progress) for chosen in SCENARIOS}
    found = {str(work): knees(quotas, settings, work, False, progress) for work in (WORK, LONG)}
    others = knees(quotas, settings, WORK, True, progress)
    return {
        "id": "scale", "title": "Scale and quotas", "date": date,
        "machine": f"simulated with seed {world.seed}, on no machine", "note": NOTE.format(work=WORK),
        "rows": rows(found[str(WORK)], quotas, CHARTED * world.rate),
        "world": vars(world), "assumed": {"table_ms": TABLE_MS, "prepare_ms": PREPARE_MS, "event_first": EVENT_FIRST},
        "settings": settings.facts(), "scenarios": scenarios, "knees": found, "other Regions": others,
        "skips": skips(quotas, settings, progress), "pairs": digits(knee.pairs(quotas, settings)),
        "sweep": sweep(settings, quotas),
    }


def rows(found, quotas, most):
    """Returns the rows of docs/performance.md. They leave out far limits, which would make the other bars too short."""
    near = sorted((value, name) for name, value in found.items() if value and value <= most)
    return [{"figure": FIGURE, "subject": label(quotas, name), "unit": "starts/s", "median": value, "n": 1}
            for value, name in near]


def as_text(result):
    """Returns the results as JSON with a line for each row, each limit of a scenario and each other value."""
    return layout(json.loads(json.dumps(result, default=vars))) + "\n"


def layout(value, depth=0):
    flat = not isinstance(value, (dict, list)) or not any(isinstance(one, (dict, list)) for one in inner(value))
    if flat or depth > 4:
        return json.dumps(value, ensure_ascii=False)
    before, after = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, list):
        return "[" + before + f",{before}".join(layout(one, depth + 1) for one in value) + after + "]"
    pairs = (f"{json.dumps(name)}: {layout(one, depth + 1)}" for name, one in value.items())
    return "{" + before + f",{before}".join(pairs) + after + "}"


def inner(value):
    return value.values() if isinstance(value, dict) else value
