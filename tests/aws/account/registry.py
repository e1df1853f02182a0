"""The probes by their names, and how a probe says that it cannot run."""

PROBES = {}
FREE = set()  # those that create nothing, and so run without a confirmation


class Skipped(Exception):
    """The reason why a probe cannot run here."""


def probe(name, free=False):
    """Registers a function of one argument, the Scratch, under the name that the documentation uses. It
    returns a note for its line, or nothing; an exception is its failure."""
    def register(function):
        assert name not in PROBES, name
        FREE.update([name] if free else [])
        PROBES[name] = function
        return function
    return register


def check(condition, why):
    if not condition:
        raise AssertionError(why)
