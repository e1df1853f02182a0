"""Runs the judges that a promise names on the mutant that it names, until one judge of each promise was seen to fail.

The ledger in tests/promises names judges and mutants, and its `seen.toml` keeps the judges that failed. A level builds once for
all mutants, as in a run."""
import datetime
import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from . import judge
from .run import Run
from .settings import AWS, COMMAND, CONTRACT, CORE, MODEL, OPERATE, PROPERTY, ROOT, SIMULATION, WEAVE, Problem, say
from .switch import Switch

sys.path.insert(0, str(ROOT / "tests" / "promises"))
import judges  # noqa: E402
import ledger  # noqa: E402

# The level of a judge by the first word of its name, in order of cost. The scripts of tests/infra need no build, so their level
# is None. Integration is left out, because it needs a stack.
LEVELS = {judges.INFRA: None, "core": CORE, "shared": AWS, "operate": OPERATE, "contract": CONTRACT, "weave": WEAVE, "command": COMMAND,
          "property": PROPERTY, "simulation": SIMULATION, "model": MODEL}


class Seeing:
    """Tries promises whose mutant was not noticed yet. `seen` has the judges that noticed it in this run, by promise id."""

    def __init__(self, slot, promises, mutants, tree, keep, words=tuple(LEVELS)):
        self.slot, self.promises, self.keep = slot, promises, keep
        self.levels = {word: level for word, level in LEVELS.items() if word in words}
        self.mutants = {mutant.change: mutant for mutant in mutants}
        self.seen = {}
        self.run = Run(slot, list(self.mutants.values()), tree, (), None)

    def all(self):
        switch = Switch(list(self.mutants.values()), self.slot.read)
        with self.slot.restored():
            for word, level in self.levels.items():
                waiting = [(promise, names) for promise in self.promises if promise.id not in self.seen
                           if (names := [name for name in promise.judges if judges.level(name) == word])]
                if waiting:
                    self.on(level, waiting, switch) if level else self.on_scripts(waiting)
                    # Keeps the results of each level, in case the run is interrupted.
                    self.keep(self.seen)
        return self.seen

    def on(self, level, waiting, switch):
        """Builds a level, and runs the judges of each promise on its mutant. All judges have to pass without a mutant."""
        program = self.run.build(level, switch)
        bounds = self.run.bounds(level, only(program, sorted({name for _, names in waiting for name in names})))
        for promise, names in waiting:
            mutant = self.mutants[promise.mutant]
            if mutant in switch.places and mutant not in switch.numbers:
                result = judge.Result("unviable", "it does not compile")
            elif mutant.file.endswith(".rs") and mutant not in switch.numbers:
                # The mutant is outside of functions, so it needs its own build.
                result = self.alone(level, mutant, names, bounds)
            else:
                with nullcontext() if mutant in switch.numbers else self.slot.mutated(mutant):
                    result = judge.run(only(program, names), self.run.environment(level, switch.numbers.get(mutant, 0)), bounds)
            self.note(promise, names, result)

    def alone(self, level, mutant, names, bounds):
        with self.slot.mutated(mutant):
            built = judge.build(level, self.slot)
            if not isinstance(built, judge.Program):
                return judge.Result("unviable", built.errors[0][0])
            return judge.run(only(built, names), self.run.environment(level, 0), bounds)

    def on_scripts(self, waiting):
        for name in sorted({name for _, names in waiting for name in names}):
            if failed(self.slot.tree, [name]):
                raise Problem(f"{name} fails without a mutant")
        for promise, names in waiting:
            with self.slot.mutated(self.mutants[promise.mutant]):
                first = failed(self.slot.tree, names)
            self.note(promise, names, judge.Result("caught", judges.filter_of(first)) if first else judge.Result("passed"))

    def note(self, promise, names, result):
        """Records the judge whose name is among the failures. A crash, a time-out or a recorded number does not count."""
        own = {judges.filter_of(name): name for name in names}
        first = result.why.split(", ")[0].split(" and ")[0]
        if result.verdict == "caught" and first in own:
            self.seen[promise.id] = own[first]
        say(f"{promise.id}: \"{promise.mutant}\" {result.verdict} {result.why} by {names[0]}{', …' if names[1:] else ''}")


def failed(tree, names):
    """Runs tests of Python scripts with the Python of infra/validate. Returns the first that fails. Raises Problem for an error."""
    # The cache comes first, because a shim of Python puts its own folder at the front of PATH.
    cache = os.environ.get("LOCKSTEP_CACHE") or Path.home() / ".cache" / "lockstep"
    lint = shutil.which("cfn-lint", path=os.pathsep.join([str(Path(cache) / "bin"), os.environ["PATH"]]))
    if not lint:
        raise Problem(f"cfn-lint is neither in {cache}/bin nor on PATH: run make tools")
    python = Path(lint).resolve().parent / "python"
    for name in names:
        done = subprocess.run([python, *name.split("::")], cwd=tree, capture_output=True, text=True)
        if done.returncode and "failures=" not in done.stderr:
            raise Problem(f"{name} did not run:\n{done.stderr}")
        if done.returncode:
            return name
    return None


def only(program, names):
    return replace(program, arguments=("--exact", *map(judges.filter_of, names)))


def to_see(everything, mutants, texts, words=tuple(LEVELS)):
    """Returns the promises with one of these mutants and a judge on one of these levels, whose mutant no judge has noticed yet."""
    names = {mutant.change for mutant in mutants}
    return [promise for promise in everything.promises if promise.mutant in names and not everything.has_seen(promise)
            if {judges.level(judge) for judge in promise.judges} & set(words)
            if not texts or any(text in f"{promise.id} {promise.mutant}" for text in texts)]


def keep(promises, found):
    """Adds the judges that were found to the current ledger, which may have changed since the run began."""
    everything, today = ledger.load(), datetime.date.today().isoformat()
    everything.seen |= {promise.id: {"mutant": promise.mutant, "judge": found[promise.id], "date": today}
                        for promise in promises if promise.id in found}
    ledger.keep_seen({promise.id: everything.seen[promise.id] for promise in everything.promises if everything.has_seen(promise)})


def main(slot, mutants, tree, texts, words):
    """Tries the promises whose mutant no judge has noticed, keeps the results, and names the promises that are left."""
    everything = ledger.load()
    promises = to_see(everything, mutants, texts, words)
    wanted = [mutant for mutant in mutants if mutant.change in {promise.mutant for promise in promises}]
    found = Seeing(slot, promises, wanted, tree, lambda seen: keep(promises, seen), words).all()
    unseen = [promise for promise in promises if promise.id not in found]
    for promise in unseen:
        say(f"promises: {promise.id}: none of its judges notices \"{promise.mutant}\"")
    say(f"promises: for {len(found)} of {len(promises)}, a judge fails on the mutant")
    return 1 if unseen else 0
