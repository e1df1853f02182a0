"""When starts come, and for which lock."""
from itertools import accumulate


def paced(rate, seconds):
    """Starts at even distances: a limit shows at its mean, without the noise of chance."""
    for number in range(int(rate * seconds)):
        yield number / rate


def poisson(rate, seconds, random):
    """Starts that know nothing of each other."""
    at = random.expovariate(rate)
    while at < seconds:
        yield at
        at += random.expovariate(rate)


def together(count):
    """All starts at once, as from schedules of the same minute."""
    return (0.0 for _ in range(count))


def uniform(locks, random):
    """A choice of locks, all alike."""
    return lambda: int(random.random() * locks)


def zipf(locks, exponent, random):
    """A choice of locks of which the one of rank r is started 1 / r^exponent as often as the first."""
    totals = list(accumulate(rank ** -exponent for rank in range(1, locks + 1)))
    ranks = range(locks)
    return lambda: random.choices(ranks, cum_weights=totals)[0]


def each_once():
    """A lock of its own for each start."""
    counter = iter(range(1 << 62))
    return lambda: next(counter)


def one(lock=0):
    return lambda: lock
