"""A mutant: one change of one file, with a name that stays the same when other parts of the file change."""
import hashlib
import re
from collections import Counter
from dataclasses import dataclass, replace

# The crates whose levels are not those of a use case.
CRATES = {"core": "rust", "operate": "operate", "weave": "weave", "cli": "command"}
COMMENT = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    kind      "rust", "definition" or "by-hand"
    scope     the function or state that has the change
    change    a description of the change
    line      the source line, if the change is smaller than its scope
    text      the content of the file with the change
    ordinal   counts, from 1, the mutants whose other names are all equal
    lines     the numbers of the first and the last changed line, if known
    edit      (begin, end, new text) of the change, if known
    """

    kind: str
    file: str
    scope: str
    change: str
    line: str
    text: str
    ordinal: int = 1
    lines: tuple[int, int] | None = None
    edit: tuple[int, int, str] | None = None

    def is_in(self, changed):
        """Returns whether the mutant changes a line in `changed`, which has the numbers of lines by file."""
        lines = changed.get(self.file, ())
        return bool(lines) and (self.lines is None or any(self.lines[0] <= at <= self.lines[1] for at in lines))

    @property
    def key(self):
        """The key in survivors.toml. It has no line number, so that it stays valid when the file grows."""
        return (self.file, self.scope, self.change, self.line, self.ordinal)

    @property
    def id(self):
        return hashlib.sha256("\0".join(map(str, self.key)).encode()).hexdigest()[:10]

    @property
    def content(self):
        """A hash of the changed file, without comments of Rust. It differs between two versions of the file."""
        code = COMMENT.sub("", self.text) if self.file.endswith(".rs") else self.text
        return hashlib.sha256(code.encode()).hexdigest()[:10]

    @property
    def levels(self):
        """The key in LEVELS of the levels whose tests can notice the mutant, or "text" for a page or a template."""
        if self.file.endswith(".json"):
            return "definition"
        if not self.file.endswith(".rs"):
            return "text"
        if self.file.startswith("shared/src/store/dynamodb"):
            return "adapter"
        return CRATES.get(self.file.split("/")[0], "service")

    def __str__(self):
        place = f"{self.file} {self.scope}".rstrip()
        line = f" in `{self.line}`" if self.line else ""
        ordinal = f" ({self.ordinal})" if self.ordinal > 1 else ""
        return f"{place}: {self.change}{line}{ordinal}"


def numbered(mutants):
    """Returns the mutants, with ordinals for those whose keys are equal."""
    seen = Counter()
    result = []
    for mutant in mutants:
        seen[mutant.key] += 1
        result.append(replace(mutant, ordinal=seen[mutant.key]) if seen[mutant.key] > 1 else mutant)
    return result


def shard(mutants, text):
    """Returns part `k/n` of the mutants, with k from 1. The shard of a mutant depends on its id alone."""
    if not text:
        return mutants
    part, parts = (int(number) for number in text.split("/"))
    return [mutant for mutant in mutants if int(mutant.id, 16) % parts == part - 1]
