"""Token buckets, which limit a rate, and meters, which record the use of a limit."""


class TokenBucket:
    """Tokens that refill at `rate` a second, up to `size`."""

    __slots__ = ("size", "rate", "tokens", "at")

    def __init__(self, size, rate):
        if size <= 0 or rate <= 0:
            raise ValueError(f"a bucket of size {size} and rate {rate}: both must be above 0")
        self.size, self.rate, self.tokens, self.at = size, rate, size, 0.0

    def refill(self, now):
        tokens = self.tokens + (now - self.at) * self.rate
        self.tokens = tokens if tokens < self.size else self.size
        self.at = now

    def has(self, now, count=1):
        """Returns whether `count` tokens are there. A full bucket passes a count above its size, and then owes the rest."""
        self.refill(now)
        return self.tokens >= (count if count < self.size else self.size)

    def take(self, now, count=1):
        """Takes the tokens if they are there, and returns whether they were."""
        if not self.has(now, count):
            return False
        self.tokens -= count
        return True

    def reserve(self, now, count=1):
        """Takes the tokens in any case, and returns the seconds until they are there. Requests queue in their order."""
        self.refill(now)
        self.tokens -= count
        return -self.tokens / self.rate if self.tokens < 0 else 0.0


class OnDemand(TokenBucket):
    """The throughput of an on-demand table: after each `window` seconds, it is at least twice the highest peak until then."""

    __slots__ = ("window", "ends", "second", "used", "peak", "most")

    def __init__(self, rate, most, window=1800.0):
        super().__init__(rate, rate)
        self.most, self.window, self.ends = most, window, window
        self.second, self.used, self.peak = 0, 0, 0

    def take(self, now, count=1):
        while now >= self.ends:
            self.grow()
        if not super().take(now, count):
            return False
        if int(now) != self.second:
            self.second, self.used = int(now), 0
        self.used += count
        self.peak = max(self.peak, self.used)
        return True

    def grow(self):
        self.refill(self.ends)
        self.rate = self.size = min(self.most, max(self.rate, 2 * self.peak))
        self.ends += self.window


class Meter:
    """Records the requests for a resource: their number, how many were throttled, and the delays that followed."""

    __slots__ = ("asked", "throttled", "peak", "second", "used", "delays", "first")

    def __init__(self):
        self.asked = self.throttled = self.peak = self.second = self.used = 0
        self.delays, self.first = [], None

    def use(self, now, count=1):
        """Counts a request, throttled or not. The peak is the highest demand in one second."""
        self.asked += 1
        if int(now) != self.second:
            self.second, self.used = int(now), 0
        self.used += count
        if self.used > self.peak:
            self.peak = self.used

    def level(self, value):
        self.asked += 1
        if value > self.peak:
            self.peak = value

    def throttle(self, now):
        self.throttled += 1
        if self.first is None:
            self.first = now

    def delay(self, seconds):
        """Records the total delay of one request over all its attempts."""
        if seconds > 0:
            self.delays.append(seconds)

    def share(self):
        return self.throttled / self.asked if self.asked else 0.0


def percentile(values, share, zeros=0):
    """Returns the value below which a `share` of the values lies, with `zeros` further values of 0."""
    place = int(share * (len(values) + zeros))
    if place < zeros or not values:
        return 0.0
    return sorted(values)[min(place - zeros, len(values) - 1)]
