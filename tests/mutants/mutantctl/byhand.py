"""Reads the mutants of by-hand.toml: changes that no generator makes, in the places that matter most."""
import tomllib

from .mutant import Mutant
from .settings import BY_HAND, Problem


def mutants(read, path=BY_HAND):
    """Returns the mutants of the list, and its faults. `read` returns the text of a file, or None."""
    entries = tomllib.loads(path.read_text()).get("mutant", []) if path.exists() else []
    names = [entry["name"] for entry in entries]
    if len(set(names)) != len(names):
        raise Problem(f"{path.name}: names must differ")
    found, wrong = [], []
    for entry in entries:
        try:
            found.append(from_entry(entry, read(entry["file"])))
        except Problem as problem:
            # A faulty entry must not prevent the run of the others.
            wrong.append(str(problem))
    return found, wrong


def from_entry(entry, text):
    """Returns the mutant of an entry. The text to find must occur in the file exactly once."""
    name, old, new = entry["name"], entry["find"], entry["replace"]
    times = 0 if text is None else text.count(old)
    if times != 1:
        raise Problem(f"by-hand mutant \"{name}\": its text occurs in {entry['file']} {times} times, not once")
    if old == new:
        raise Problem(f"by-hand mutant \"{name}\" changes nothing")
    begin = text.index(old)
    return Mutant("by-hand", entry["file"], "", name, "", text.replace(old, new), edit=(begin, begin + len(old), new))
