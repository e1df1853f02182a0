"""Keeps the known verdicts as lines of JSON, so that a run can be interrupted and resumed."""
import fcntl
import json

from .settings import LEVELS, STATE

PATH = "results.jsonl"


class Verdict:
    """The verdict on one mutant: the levels that it survived, and the level that ended it."""

    def __init__(self, mutant, line=None):
        line = line or {}
        self.mutant = mutant
        self.passed = list(line.get("passed", []))
        self.counted = line.get("counted", "")
        self.ended = line.get("ended", "")
        self.level = line.get("level", "")
        self.why = line.get("why", "")
        self.seconds = line.get("seconds", 0.0)

    @property
    def left(self):
        """The levels that have not judged the mutant."""
        return [] if self.ended else [level for level in LEVELS[self.mutant.levels] if level.name not in self.passed]

    @property
    def state(self):
        """unviable, timeout, caught, counted or missed. While levels are left: survives, or unknown if none has judged it."""
        if self.ended:
            return self.ended
        if self.left:
            return "survives" if self.passed else "unknown"
        return "counted" if self.counted else "missed"

    def add(self, level, result):
        self.seconds += result.seconds
        if result.verdict in ("passed", "counted"):
            self.passed.append(level.name)
            if result.verdict == "counted":
                self.counted, self.why = level.name, result.why
        else:
            self.ended, self.level, self.why = result.verdict, level.name, result.why

    def line(self, tree):
        return {"id": self.mutant.id, "tree": tree, "content": self.mutant.content, "passed": self.passed, "counted": self.counted,
                "ended": self.ended, "level": self.level, "why": self.why, "seconds": round(self.seconds, 1),
                "mutant": str(self.mutant)}


class Results:
    """The results for one state of the tree. Results for other states stay in the file.

    With `trust`, a mutant that a level ended on another tree counts if its file is the same. The tests may have changed since, so
    such results make an interim report and not a score."""

    def __init__(self, tree, folder=STATE, trust=False):
        self.tree = tree
        self.path = folder / PATH
        self.lines, self.trusted = {}, {}
        if self.path.exists():
            for text in self.path.read_text().splitlines():
                line = json.loads(text)
                if line["tree"] == tree:
                    self.lines[line["id"]] = line
                elif trust and line["ended"]:
                    self.trusted[line["id"], line.get("content")] = line

    def of(self, mutant):
        return Verdict(mutant, self.lines.get(mutant.id) or self.trusted.get((mutant.id, mutant.content)))

    def put(self, verdict):
        line = verdict.line(self.tree)
        self.lines[verdict.mutant.id] = line
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a") as out:
            fcntl.flock(out, fcntl.LOCK_EX)
            out.write(json.dumps(line) + "\n")
