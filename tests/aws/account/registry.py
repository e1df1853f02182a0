"""The probes by their names, and how a probe says that it cannot run."""

PROBES = {}


class Skipped(Exception):
    """The reason why a probe cannot run here."""


def probe(name):
    """Registers a function of one argument, the Scratch, under the name that the documentation uses. It
    returns a note for its line, or nothing; an exception is its failure."""
    def register(function):
        assert name not in PROBES, name
        PROBES[name] = function
        return function
    return register


def check(condition, why):
    if not condition:
        raise AssertionError(why)
