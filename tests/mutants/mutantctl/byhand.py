"""Mutants that somebody wrote: changes that no generator makes, in the places where it matters most."""
import tomllib

from .mutant import Mutant
from .settings import BY_HAND, Problem


def mutants(read, path=BY_HAND):
    """The mutants of the list, and what is wrong with it; `read` gives a file's text, or None."""
    entries = tomllib.loads(path.read_text()).get("mutant", []) if path.exists() else []
    names = [entry["name"] for entry in entries]
    if len(set(names)) != len(names):
        raise Problem(f"{path.name}: names must differ")
    found, wrong = [], []
    for entry in entries:
        try:
            found.append(from_entry(entry, read(entry["file"])))
        except Problem as problem:
            # The others are worth their run all the same.
            wrong.append(str(problem))
    return found, wrong


def from_entry(entry, text):
    """The text to find has to stand in the file once: a change of it changes the mutant with it."""
    name, old, new = entry["name"], entry["find"], entry["replace"]
    times = 0 if text is None else text.count(old)
    if times != 1:
        raise Problem(f"by-hand mutant \"{name}\": its text stands in {entry['file']} {times} times, not once")
    if old == new:
        raise Problem(f"by-hand mutant \"{name}\" changes nothing")
    begin = text.index(old)
    return Mutant("by-hand", entry["file"], "", name, "", text.replace(old, new), edit=(begin, begin + len(old), new))
