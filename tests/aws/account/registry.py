"""The probes by their names, the exception of a skipped probe, and the check of a probe."""

PROBES = {}
FREE = set()  # names of probes that create nothing, and so run without --confirm


class Skipped(Exception):
    """The reason why a probe cannot run here."""


def probe(name, free=False):
    """Registers a probe under the name that the documentation uses.

    A probe is a function with one argument, the Scratch. It returns a note for its line, or None, and fails by an exception.
    """
    def register(function):
        assert name not in PROBES, name
        FREE.update([name] if free else [])
        PROBES[name] = function
        return function
    return register


def check(condition, why):
    if not condition:
        raise AssertionError(why)
