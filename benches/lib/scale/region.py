"""An account's Region: its clock, its limits and the use of each limit."""
import heapq
from dataclasses import dataclass
from itertools import count
from random import Random

from .bucket import Meter, OnDemand, TokenBucket

TABLE_MOST = 40_000
# The back-off of the SDK's standard mode, as published: up to one second before the second attempt, then up to two.
SDK_WAITS = (1.0, 2.0)


@dataclass(frozen=True)
class Options:
    """How a Region is simulated.

    limited   the limits that refuse requests; None means all
    other     the default quotas are those outside of the large Regions
    raised    the quotas are the raised ones
    scale     how many locks one simulated lock stands for
    """
    limited: frozenset = None
    other: bool = False
    raised: bool = False
    scale: float = 1.0


class Clock:
    """Runs events in the order of their times. Events of the same time run in the order in which they were added."""

    def __init__(self):
        self.now, self.events, self.order = 0.0, [], count()

    def at(self, time, act, *given):
        heapq.heappush(self.events, (time, next(self.order), act, given))

    def after(self, seconds, act, *given):
        self.at(self.now + seconds, act, *given)

    def run(self, until):
        events = self.events
        while events and events[0][0] <= until:
            self.now, _, act, given = heapq.heappop(events)
            act(*given)
        self.now = until


class Region:
    """Limits as buckets, each with a meter. All limits are metered, but only those in `limited` refuse.

    `scale` divides the limits that all locks share, so that fewer starts reach the same limit."""

    def __init__(self, quotas, settings, options, seed):
        self.clock, self.random = Clock(), Random(seed)
        self.quotas, self.settings, self.scale = quotas, settings, options.scale
        self.limited = set(quotas if options.limited is None else options.limited)
        self.values = {name: quota.values(options.other, options.raised) for name, quota in quotas.items()}
        self.meters = {name: Meter() for name in quotas}
        self.buckets = {name: self.bucket(name) for name in quotas}
        self.levels = {name: 0 for name, quota in quotas.items() if quota.kind == "level"}
        self.per_function, self.environments, self.busy = {}, {}, {}
        self.locks = {}
        self.shards = [self.part("shard", self.scale) for _ in range(settings.shards)]

    def plain(self, name, scale=1):
        rate, size = self.values[name]
        return TokenBucket(max(size / scale, 1), rate / scale)

    def part(self, name, scale=1):
        """Returns one of several buckets of the same limit, with its own meter."""
        return self.plain(name, scale), Meter()

    def bucket(self, name):
        if name == "table-write":
            rate, _ = self.values[name]
            return OnDemand(rate / self.scale, TABLE_MOST / self.scale)
        return self.plain(name, self.scale)

    def drain(self):
        """Leaves at most one second's tokens in each bucket, and resets the meters, so that a steady state follows."""
        now = self.clock.now
        parts = [bucket for bucket, _ in [*self.locks.values(), *self.shards]]
        for bucket in [*self.buckets.values(), *parts, *self.per_function.values()]:
            bucket.refill(now)
            bucket.tokens = min(bucket.tokens, bucket.rate)
        self.meters = {name: Meter() for name in self.quotas}

    def take(self, name, tokens=1):
        """Makes a request that fails above the quota. Returns whether it passes."""
        now, meter = self.clock.now, self.meters[name]
        meter.use(now, tokens)
        if self.buckets[name].take(now, tokens) or name not in self.limited:
            return True
        meter.throttle(now)
        return False

    def wait(self, name, tokens=1):
        """Makes a request that waits above the quota. Returns the seconds of the wait."""
        now, meter = self.clock.now, self.meters[name]
        meter.use(now, tokens)
        if name not in self.limited:
            return 0.0
        seconds = self.buckets[name].reserve(now, tokens)
        if seconds > 0:
            meter.throttle(now)
            meter.delay(seconds)
        return seconds

    def rise(self, name):
        """Adds one to a level, unless the level is at its limit. Returns whether there was room."""
        meter = self.meters[name]
        meter.level(self.levels[name] + 1)
        if name in self.limited and self.levels[name] >= self.values[name][0] / self.scale:
            meter.throttle(self.clock.now)
            return False
        self.levels[name] += 1
        return True

    def fall(self, name):
        self.levels[name] -= 1

    def enter(self, function):
        """Starts a call of a function. Returns the quota that refuses it, or None, and whether it needs a new environment."""
        if not self.take("invocations"):
            return "invocations", False
        if not self.rise("concurrency"):
            return "concurrency", False
        busy, there = self.busy.get(function, 0), self.environments.get(function, 0)
        new = busy >= there
        if new and not self.grow(function):
            self.fall("concurrency")
            return "environments", False
        self.busy[function] = busy + 1
        return None, new

    def grow(self, function):
        bucket = self.per_function.setdefault(function, self.plain("environments", self.scale))
        now, meter = self.clock.now, self.meters["environments"]
        meter.use(now)
        if not bucket.take(now) and "environments" in self.limited:
            meter.throttle(now)
            return False
        self.environments[function] = self.environments.get(function, 0) + 1
        return True

    def leave(self, function):
        self.busy[function] -= 1
        self.fall("concurrency")

    def write(self, lock, units, entries=0):
        """Writes a lock's item and `entries` units of its index. Returns the quota that throttles the write, or None.

        DynamoDB throttles a write as a whole, so a throttled write takes nothing from the other quotas."""
        now = self.clock.now
        asked = [("table-write", self.buckets["table-write"], units)]
        if "partition" in self.limited:
            asked.append(self.parted("partition", self.of_lock(lock), units))
        if entries:
            asked.append(self.parted("shard", self.shards[lock % len(self.shards)], entries))
        self.meters["table-write"].use(now, units)
        for name, bucket, tokens in asked:
            if name in self.limited and not bucket.has(now, tokens):
                self.meters[name].throttle(now)
                return name
        for _, bucket, tokens in asked:
            bucket.take(now, tokens)
        return None

    def of_lock(self, lock):
        """Returns the partition of a lock. DynamoDB splits a hot partition until each lock, a partition key, has its own."""
        if lock not in self.locks:
            self.locks[lock] = self.part("partition")
        return self.locks[lock]

    def parted(self, name, part, tokens):
        """Meters a part's demand. The peak of the limit is that of its busiest part. Returns (name, bucket, tokens)."""
        (bucket, own), whole = part, self.meters[name]
        own.use(self.clock.now, tokens)
        whole.asked += 1
        whole.peak = max(whole.peak, own.peak)
        return name, bucket, tokens

    def sdk_wait(self, attempt):
        return self.random.uniform(0, SDK_WAITS[min(attempt, len(SDK_WAITS)) - 1])

