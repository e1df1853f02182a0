"""Finds the rate at which a limit begins to bite, its knee, by bisection over simulations in which only that limit refuses."""
from dataclasses import replace

from .arrivals import each_once, one, paced
from .region import Options, Region
from .run import TABLE_MS, Load, Runs
from .sweep import Sweep, capacity

# A limit bites when it throttles more than one request in a hundred.
BITES = 0.01
TOLERANCE = 0.02
# Starts of one probe: enough for a stable result at a limit of a hundred at once.
STARTS = 2_000
SEED = 1


def bisect(bites, low, high, tolerance=TOLERANCE):
    """Returns the highest rate at which `bites` is false, within the tolerance. `bites` is false at `low` and true at `high`."""
    while high / low > 1 + tolerance:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if bites(middle) else (middle, high)
    return low


def search(bites, guess, most):
    """Returns the knee, searched from a guess, or None if there is none up to `most`."""
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
        """Simulates a steady state at that rate, and returns the Region and its sweep."""
        minute = self.settings.sweep_every
        warm, measured = (3 * minute, 2 * minute) if name == "sweep" else (minute / 6, minute)
        warm += 0 if self.skips else self.work
        seconds = warm + measured
        limited = {name} & self.quotas.keys()
        # The limit of one lock's partition does not depend on other locks, so it is not scaled.
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
        """Returns for each limit the rate at which the use would reach it, if the use grew in proportion."""
        region, sweep = self.run(rate, "sweep")
        values = {name: quota.values(self.options.other)[0] for name, quota in self.quotas.items()}
        peaks = {name: meter.peak * region.scale for name, meter in region.meters.items()}
        found = {name: rate * values[name] / peak for name, peak in peaks.items() if peak}
        due = max(past["due"] for past in sweep.sweeps) * sweep.scale
        if due:
            found["sweep"] = rate * capacity(self.settings, TABLE_MS) / due
        return found

    def knee(self, name, guess, most):
        """Returns the highest rate that the limit lets through, or None if `most` starts a second do not reach it."""
        return search(lambda rate: self.bites(rate, name), guess, most)


class Held:
    """A holder whose lease never ends, so its lock refuses every start."""
    beat = 20.0

    @property
    def lease_end(self):
        return float("inf")


HELD = Held()


def pairs(quotas, settings, most=100_000):
    """Returns the pairs of acquire and release per second that one lock allows, for a process without a task token."""
    def bites(rate):
        options = Options(limited=frozenset({"partition"}))
        region = Region(quotas, settings, options, SEED)
        region.of_lock(0)[0].tokens = 0
        for time in paced(rate, 5):
            region.clock.now = time
            region.write(0, settings.units["pair"])
        return region.meters["partition"].share() > BITES

    return search(bites, quotas["partition"].rate / settings.units["pair"], most)
