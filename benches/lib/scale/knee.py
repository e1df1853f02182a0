"""At which rate a limit begins to bite: bisection over simulations in which only that limit refuses."""
from dataclasses import replace

from .arrivals import each_once, one, paced
from .region import Options, Region
from .run import TABLE_MS, Load, Runs
from .sweep import Sweep, capacity

# A limit bites when it throttles more than one request in a hundred.
BITES = 0.01
TOLERANCE = 0.02
# Starts of one probe: enough that a limit of a hundred at once is a number and no accident.
STARTS = 2_000
SEED = 1


def bisect(bites, low, high, tolerance=TOLERANCE):
    """The highest rate at which `bites` is false, to that tolerance: it is false at `low` and true at `high`."""
    while high / low > 1 + tolerance:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if bites(middle) else (middle, high)
    return low


def search(bites, guess, most):
    """The knee near a guess; None if there is none up to `most`."""
    low = high = guess
    if bites(guess):
        low = guess / 2
        while bites(low):
            low /= 2
        high = low * 2
    else:
        high = guess * 2
        while not bites(high):
            if high > most:
                return None
            high *= 2
        low = high / 2
    return bisect(bites, low, high)


class Probe:
    """A steady state: starts at even distances, each on a free lock of its own, or all on one held lock."""

    def __init__(self, quotas, settings, options, work, skips=False):
        self.quotas, self.settings, self.options = quotas, settings, options
        self.work, self.skips = work, skips

    def run(self, rate, name):
        """The region after some time of a steady state at that rate, and its sweep."""
        minute = self.settings.sweep_every
        warm, measured = (3 * minute, 2 * minute) if name == "sweep" else (minute / 6, minute)
        warm += 0 if self.skips else self.work
        seconds = warm + measured
        limited = {name} & self.quotas.keys()
        # What one lock takes does not depend on the number of others.
        scale = max(1.0, rate * seconds / STARTS) if name != "partition" else 1.0
        region = Region(self.quotas, self.settings, replace(self.options, scale=scale, limited=limited), SEED)
        load = Load(paced(rate / scale, seconds), one() if self.skips else each_once(), lambda: self.work)
        sweep = Sweep(region, load.table_ms, scale)
        runs = Runs(region, load, sweep)
        if self.skips:
            runs.holders[0] = HELD
        runs.begin()
        sweep.begin()
        region.clock.run(warm)
        region.drain()
        region.clock.run(seconds)
        return region, sweep

    def bites(self, rate, name):
        region, sweep = self.run(rate, name)
        if name == "sweep":
            return any(not past["finished"] for past in sweep.sweeps[-2:-1])
        return region.meters[name].share() > BITES

    def guesses(self, rate=50.0):
        """Limit → the rate at which its mean use would reach it."""
        region, sweep = self.run(rate, "sweep")
        values = {name: quota.values(self.options.other)[0] for name, quota in self.quotas.items()}
        peaks = {name: meter.peak * region.scale for name, meter in region.meters.items()}
        found = {name: rate * values[name] / peak for name, peak in peaks.items() if peak}
        due = max(past["due"] for past in sweep.sweeps) * sweep.scale
        if due:
            found["sweep"] = rate * capacity(self.settings, TABLE_MS) / due
        return found

    def knee(self, name, guess, most):
        """The highest rate that the limit lets through; None if it is not reached up to `most` starts a second."""
        return search(lambda rate: self.bites(rate, name), guess, most)


class Held:
    """A holder that renewed a moment ago, for ever: its lock refuses every start."""
    beat = 20.0

    @property
    def lease_end(self):
        return float("inf")


HELD = Held()


def pairs(quotas, settings, most=100_000):
    """Pairs of acquire and release that one lock takes a second, from a process without a task token."""
    def bites(rate):
        options = Options(limited=frozenset({"partition"}))
        region = Region(quotas, settings, options, SEED)
        region.of_lock(0)[0].tokens = 0
        for time in paced(rate, 5):
            region.clock.now = time
            region.write(0, settings.units["pair"])
        return region.meters["partition"].share() > BITES

    return search(bites, quotas["partition"].rate / settings.units["pair"], most)
