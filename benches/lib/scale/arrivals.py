"""The times of starts, and the locks that they ask for."""
from itertools import accumulate


def paced(rate, seconds):
    """Yields the times of starts at even distances, so that a limit shows without random noise."""
    for number in range(int(rate * seconds)):
        yield number / rate


def poisson(rate, seconds, random):
    """Yields the times of independent starts."""
    at = random.expovariate(rate)
    while at < seconds:
        yield at
        at += random.expovariate(rate)


def together(count):
    """Returns an iterator with the time 0 for all starts, as from schedules of the same minute."""
    return (0.0 for _ in range(count))


def uniform(locks, random):
    """Returns a function that chooses each lock with the same probability."""
    return lambda: int(random.random() * locks)


def zipf(locks, exponent, random):
    """Returns a function that chooses the lock of rank r 1 / r^exponent times as often as the first."""
    totals = list(accumulate(rank ** -exponent for rank in range(1, locks + 1)))
    ranks = range(locks)
    return lambda: random.choices(ranks, cum_weights=totals)[0]


def each_once():
    """Returns a function that chooses a new lock for each start."""
    counter = iter(range(1 << 62))
    return lambda: next(counter)


def one(lock=0):
    return lambda: lock
