"""Judges mutants, the cheapest levels first."""
import time
from contextlib import nullcontext

from . import judge
from .results import Results
from .settings import IN_ORDER, Problem, say
from .switch import VARIABLE, Switch

# The bounds for the run without a mutant, which measures the level. The machine may be slow.
UNBOUNDED = judge.Bounds(3600, 7200)


class Run:
    """A run in one slot: the mutants, the results until now, and the chosen levels."""

    def __init__(self, slot, mutants, tree, levels, seeds, trust=False):
        self.slot, self.mutants, self.seeds = slot, mutants, seeds
        self.levels = [level for level in IN_ORDER if level.name in levels]
        self.results = Results(tree, trust=trust)

    def all(self):
        """Judges first the mutants that share a build, then the others, each with its own builds."""
        left = [mutant for mutant in self.mutants if self.is_left(mutant)]
        switch = Switch(left, self.slot.read)
        together = [mutant for mutant in left if mutant in switch.numbers or not mutant.file.endswith(".rs")]
        alone = [mutant for mutant in left if mutant not in switch.numbers and mutant.file.endswith(".rs")]
        say(f"{len(together)} mutants share a build, {len(alone)} have one of their own")
        with self.slot.restored():
            # Twice, because the levels of a kind of mutant may be in another order.
            for level in (*self.levels, *self.levels):
                self.together(level, together, switch)
        for level in self.levels:
            self.alone(level, alone)
        return [self.results.of(mutant) for mutant in self.mutants]

    def is_left(self, mutant):
        return any(level in self.results.of(mutant).left for level in self.levels)

    def waiting(self, level, mutants):
        """Returns the mutants for which this level is the next."""
        return [mutant for mutant in mutants if level in self.results.of(mutant).left[:1]]

    def together(self, level, mutants, switch):
        """Makes one build with all mutants, and runs it once for each."""
        if not self.waiting(level, mutants):
            return
        program = self.build(level, switch)
        bounds = self.bounds(level, program)
        waiting = self.waiting(level, mutants)
        begin = time.monotonic()
        for number, mutant in enumerate(waiting, 1):
            # The program reads a definition from the tree when it runs.
            place = nullcontext() if mutant in switch.numbers else self.slot.mutated(mutant)
            with place:
                result = judge.run(program, self.environment(level, switch.numbers.get(mutant, 0)), bounds)
            self.put(level, mutant, result, f"{number}/{len(waiting)}", begin, number / len(waiting))

    def build(self, level, switch):
        """Builds the level, and drops mutants that do not compile until the build succeeds."""
        while True:
            self.slot.write(switch.files())
            built = judge.build(level, self.slot)
            if isinstance(built, judge.Program):
                say(f"{level.name}: built in {built.seconds:.0f} s with {len(switch.numbers)} mutants")
                return built
            dropped = 0
            for message, places in built.errors:
                for mutant in switch.guilty(places):
                    if mutant in switch.numbers:
                        switch.drop(mutant)
                        self.put(level, mutant, judge.Result("unviable", message))
                        dropped += 1
            say(f"{level.name}: {dropped} mutants do not compile")
            if not dropped:
                raise Problem(f"{level.name} does not build: {built.errors[0]}")

    def alone(self, level, mutants):
        waiting = self.waiting(level, mutants)
        if not waiting:
            return
        built = judge.build(level, self.slot)
        if not isinstance(built, judge.Program):
            raise Problem(f"{level.name} does not build: {built.errors[0]}")
        bounds = self.bounds(level, built)
        begin = time.monotonic()
        for number, mutant in enumerate(waiting, 1):
            with self.slot.mutated(mutant):
                built = judge.build(level, self.slot)
                if isinstance(built, judge.Program):
                    result = judge.run(built, self.environment(level, 0), bounds)
                else:
                    result = judge.Result("unviable", built.errors[0][0])
            self.put(level, mutant, result, f"{number}/{len(waiting)}", begin, number / len(waiting))

    def bounds(self, level, program):
        """Runs the level without a mutant, which has to pass, and returns the bounds for runs with a mutant."""
        result = judge.run(program, self.environment(level, 0), UNBOUNDED)
        if result.verdict != "passed":
            raise Problem(f"{level.name} fails without a mutant: {result.verdict} {result.why}")
        say(f"{level.name}: ran {result.seconds:.1f} s without a mutant, {result.cpu:.1f} s of processor")
        return judge.Bounds.after(result.cpu, result.seconds)

    def environment(self, level, number):
        extra = {VARIABLE: str(number)}
        if self.seeds:
            extra["LOCKSTEP_SEEDS"] = str(self.seeds)
        return judge.environment(self.slot, extra, level.stack)

    def put(self, level, mutant, result, progress="", begin=0.0, part=0.0):
        verdict = self.results.of(mutant)
        verdict.add(level, result)
        self.results.put(verdict)
        passed = time.monotonic() - begin
        left = f"{passed / part * (1 - part) / 60:.0f} min left " if part else ""
        why = f" <- {result.why}" if result.why else ""
        say(f"{level.name} {progress} {left}{result.verdict:8} {result.seconds:.1f} s {mutant}{why}")
