"""One change of one file, with a name that survives changes elsewhere in the file."""
import hashlib
import re
from collections import Counter
from dataclasses import dataclass, replace

# The crates whose levels are not those of a use case.
CRATES = {"core": "rust", "operate": "operate", "weave": "weave", "cli": "command"}
COMMENT = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """The `change` of `file` inside `scope`; with it the file has the content `text`.

    `line` is the source line of a change that is smaller than its scope, and tells apart what
    `change` alone does not. `ordinal` counts from 1 among mutants that are still the same. `lines`
    are the numbers of the first and the last line that it changes, and `edit` is what it changes in the
    file's text (begin, end, what stands there instead), where they are known.
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
        """Whether it changes a line that `changed` has: file → numbers of lines."""
        lines = changed.get(self.file, ())
        return bool(lines) and (self.lines is None or any(self.lines[0] <= at <= self.lines[1] for at in lines))

    @property
    def key(self):
        """What a justification names. No line number, so that it holds when the file grows."""
        return (self.file, self.scope, self.change, self.line, self.ordinal)

    @property
    def id(self):
        return hashlib.sha256("\0".join(map(str, self.key)).encode()).hexdigest()[:10]

    @property
    def content(self):
        """Tells apart the same mutant in two versions of its file. Comments of Rust do not count."""
        code = COMMENT.sub("", self.text) if self.file.endswith(".rs") else self.text
        return hashlib.sha256(code.encode()).hexdigest()[:10]

    @property
    def levels(self):
        """Which levels can see it: a definition is JSON to the domain's tests, and they call no use case. Text is a page or a
        template."""
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
    """The same mutants, with ordinals where their keys are equal."""
    seen = Counter()
    result = []
    for mutant in mutants:
        seen[mutant.key] += 1
        result.append(replace(mutant, ordinal=seen[mutant.key]) if seen[mutant.key] > 1 else mutant)
    return result


def shard(mutants, text):
    """The part `k/n` of the mutants, k from 1. A mutant's shard hangs on its id alone."""
    if not text:
        return mutants
    part, parts = (int(number) for number in text.split("/"))
    return [mutant for mutant in mutants if int(mutant.id, 16) % parts == part - 1]
