"""Tests runs with fake levels: order, resuming, verdicts, the list of survivors."""
import contextlib
import dataclasses
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from .. import byhand, judge, rust, score, survivors
from ..judge import Result
from ..mutant import Mutant, numbered, shard
from ..results import Results
from ..run import Run
from ..settings import ALL_LEVELS, INTEGRATION, Problem
from ..switch import VARIABLE, Switch


CODE = "fn f() { a < b }"


def mutant(change, file="core/src/domain/lease.rs", kind="rust"):
    edit = (CODE.index("<"), CODE.index("<") + 1, f"/*{change}*/")
    return Mutant(kind, file, "is_live", change, "a < b", f"text of {change}", edit=edit)


class FakeSlot:
    """A slot with fake levels, whose verdicts are a table, and a log of the levels that ran on each mutant."""

    def __init__(self, folder, verdicts, sick):
        self.folder, self.tree, self.verdicts, self.sick, self.log, self.content = folder, folder, verdicts, sick, [], ""
        self.texts = {}

    def read(self, file):
        return CODE if file.endswith("lease.rs") else ""

    def write(self, texts):
        self.texts = texts

    def restored(self):
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def mutated(self, mutant):
        self.content = mutant.change
        yield
        self.content = ""

    def build(self, level, slot):
        """Fails for the text `sick`, and names its place in the error."""
        for file, text in self.texts.items():
            if self.sick and self.sick in text:
                return judge.NotBuilt([("it is sick", [(file, len(text[:text.index(self.sick)].encode()))])])
        self.log.append((level.name, "build"))
        return judge.Program(level.name, "", 1.0)

    def run(self, program, env, bounds):
        number = env[VARIABLE]
        found = re.search(rf"\b{number} => return {{.*?/\*(.*?)\*/", "".join(self.texts.values()))
        change = found[1] if found else self.content
        self.log.append((program.path, change))
        verdict = self.verdicts.get((change, program.path), "passed")
        return Result(verdict, f"{program.path} test" if verdict != "passed" else "", 1.0, 1.0)


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_with(self, verdicts, mutants, levels=None, sick=""):
        levels = levels or [level for level in ALL_LEVELS if level != INTEGRATION.name]
        slot = FakeSlot(self.folder, verdicts, sick)
        results = lambda tree, trust: Results(tree, self.folder, trust)
        with mock.patch.object(judge, "build", slot.build), mock.patch.object(judge, "run", slot.run), \
                mock.patch.object(judge, "environment", lambda slot, extra, stack: extra), \
                mock.patch("mutantctl.run.Results", results), mock.patch("mutantctl.run.say"):
            return slot, Run(slot, mutants, "tree", levels, None).all()

    def test_mutants_share_a_build_and_a_caught_one_meets_no_further_level(self):
        slot, verdicts = self.run_with({("x", "unit"): "caught", ("y", "contract"): "timeout"}, [mutant("x"), mutant("y")])

        self.assertEqual([(v.state, v.level) for v in verdicts], [("caught", "unit"), ("timeout", "contract")])
        self.assertEqual(slot.log, [("unit", "build"), ("unit", ""), ("unit", "x"), ("unit", "y"),
                                    ("contract", "build"), ("contract", ""), ("contract", "y")])

    def test_a_mutant_outside_of_functions_has_its_own_build(self):
        outside = dataclasses.replace(mutant("x"), edit=(0, 1, "c"))

        slot, verdicts = self.run_with({("x", "unit"): "caught"}, [outside])

        self.assertEqual(verdicts[0].state, "caught")
        self.assertEqual(slot.log, [("unit", "build"), ("unit", ""), ("unit", "build"), ("unit", "x")])

    def test_a_mutant_that_does_not_compile_is_unviable_and_stops_no_other(self):
        slot, verdicts = self.run_with({("y", "unit"): "caught"}, [mutant("x"), mutant("y")], sick="/*x*/")

        self.assertEqual([verdict.state for verdict in verdicts], ["unviable", "caught"])
        self.assertEqual(slot.log, [("unit", "build"), ("unit", ""), ("unit", "y")])

    def test_a_mutant_is_missed_only_after_all_levels(self):
        _, some = self.run_with({}, [mutant("x")], ("unit", "contract"))
        slot, every = self.run_with({}, [mutant("x")])

        self.assertEqual([some[0].state, every[0].state], ["survives", "missed"])
        self.assertNotIn(("unit", "x"), slot.log, "a level judges once")

    def test_after_a_counted_verdict_the_next_level_judges_too(self):
        _, alone = self.run_with({("x", "model"): "counted"}, [mutant("x")])
        _, more = self.run_with({("y", "model"): "counted", ("y", "simulation"): "caught"}, [mutant("y")])

        self.assertEqual([alone[0].state, alone[0].counted], ["counted", "model"])
        self.assertEqual([more[0].state, more[0].level], ["caught", "simulation"])

    def test_a_level_that_fails_without_a_mutant_is_an_error(self):
        with self.assertRaisesRegex(Problem, "fails without a mutant"):
            self.run_with({("", "unit"): "caught"}, [mutant("x")])

    def test_a_definition_meets_only_the_levels_that_read_it(self):
        slot, _ = self.run_with({}, [mutant("x", "statemachines/m.asl.json", "definition")])

        self.assertEqual([level for level, content in slot.log if content == "x"], ["definition", "simulation", "contract"])

    def test_results_of_another_tree_do_not_count(self):
        self.run_with({("x", "unit"): "caught"}, [mutant("x")])

        self.assertEqual(Results("other", self.folder).of(mutant("x")).state, "unknown")
        self.assertEqual(Results("tree", self.folder).of(mutant("x")).state, "caught")

    def test_trust_takes_results_of_another_tree_if_the_file_is_the_same(self):
        self.run_with({("x", "unit"): "caught"}, [mutant("x"), mutant("y")])
        results = Results("other", self.folder, trust=True)
        changed = dataclasses.replace(mutant("x"), text="of another file")

        self.assertEqual([results.of(each).state for each in (mutant("x"), mutant("y"), changed)],
                         ["caught", "unknown", "unknown"])


class Switches(unittest.TestCase):
    def test_a_switch_adds_copies_with_mutants_and_finds_them_by_place(self):
        code = "fn ä(a: u8) -> bool {\n    a < 1\n}\nconst fn b() -> u8 { 3 }\nfn c() -> impl Fn() { d }\n"
        edit = lambda old, new: (code.index(old), code.index(old) + len(old), new)
        first, second, constant, unnamed = (
            dataclasses.replace(mutant(old), edit=edit(old, new))
            for old, new in (("<", ">"), ("1", "2"), ("3", "4"), ("d", "e")))
        switch = Switch([first, second, constant, unnamed], lambda file: "" if file.endswith("lib.rs") else code)

        text = switch.files()[first.file]

        self.assertEqual(list(switch.numbers), [first, second])
        self.assertEqual(text, code.replace("bool {", "bool { match crate::mutation::active() { 1 => return {"
                                            "\n    a > 1\n}, 2 => return {\n    a < 2\n}, _ => {} }"))
        self.assertEqual(switch.guilty([(first.file, len(text[:text.index(found)].encode()))
                                        for found in ("< 2", "a < 1", "> 1")]), [second, first])

        switch.drop(first)
        switch.drop(second)

        self.assertEqual(switch.files()[first.file], code)


class Judged(unittest.TestCase):
    def test_exit_code_and_output_give_the_verdict(self):
        count = "---- a stdout ----\nassertion failed: the number of states has changed: find out why\n\n"
        real = "---- b stdout ----\nassertion failed: left == right\n\n"
        cases = [
            (0, "test result: ok", ("passed", "")),
            (101, count, ("counted", "a")),
            (101, count + real, ("caught", "b")),
            (101, real, ("caught", "b")),
            (101, "memory allocation failed", ("caught", "exit code 101")),
            (-24, "", ("timeout", "out of processor time")),
            (-6, "", ("caught", "ended by signal 6")),
        ]
        for code, output, expected in cases:
            with self.subTest(code=code, output=output):
                self.assertEqual(judge.read(code, output), expected)

    def test_a_program_that_loops_or_sleeps_is_a_timeout(self):
        for program, bounds in (("while :; do :; done", judge.Bounds(1, 60)), ("sleep 60", judge.Bounds(60, 1))):
            with self.subTest(program), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "program"
                path.write_text(f"#!/bin/sh\n{program}\n")
                path.chmod(0o755)

                self.assertEqual(judge.run(judge.Program(str(path), folder, 0.0), {}, bounds).verdict, "timeout")

    def test_the_first_failure_ends_a_fail_fast_run(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "program"
            path.write_text("#!/bin/sh\necho 'test a::b ... ok'\necho 'test a::c ... FAILED'\nsleep 60\n")
            path.chmod(0o755)
            for fail_fast, expected in ((True, ("caught", "a::c")), (False, ("timeout", "still running"))):
                program = judge.Program(str(path), folder, fail_fast=fail_fast)

                result = judge.run(program, {}, judge.Bounds(60, 2))

                self.assertEqual((result.verdict, result.why), expected)


class Survivors(unittest.TestCase):
    def verdict(self, change, state, level="", kind="rust"):
        return mock.Mock(mutant=mutant(change, kind=kind), state=state, level=level, counted="", why="no field")

    def test_unlisted_survivors_and_stale_entries_are_complaints(self):
        listed, caught, gone = mutant("listed"), mutant("caught"), mutant("gone")
        reasons = {each.key: "equal" for each in (listed, caught, gone)}
        verdicts = [self.verdict("listed", "missed"), self.verdict("caught", "caught", "unit"),
                    self.verdict("new", "missed"), self.verdict("open", "unknown")]

        found = survivors.complaints(verdicts, reasons, {verdict.mutant.key for verdict in verdicts})

        self.assertEqual([complaint.split(":")[0] for complaint in found],
                         ["listed, but there is no such mutant", "listed as a survivor, but caught by unit", "survives"])

    def test_only_a_by_hand_mutant_that_does_not_compile_is_a_complaint(self):
        verdicts = [self.verdict("ours", "unviable", kind="by-hand"), self.verdict("generated", "unviable")]

        found = survivors.complaints(verdicts, {}, set())

        self.assertEqual([complaint.split(" (")[0] for complaint in found], ["does not compile, so no test can judge it"])

    def test_a_printed_entry_can_be_read_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "survivors.toml"
            for change in ("< becomes <=", "without 'a\": \\b"):
                path.write_text(survivors.entry(mutant(change)).replace('reason = ""', 'reason = "equal"'))

                self.assertEqual(survivors.load(path), {mutant(change).key: "equal"})

    def test_an_entry_without_a_reason_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "survivors.toml"
            path.write_text(survivors.entry(mutant("x")))

            with self.assertRaisesRegex(Problem, "needs file, change and reason"):
                survivors.load(path)


class Lists(unittest.TestCase):
    def test_equal_mutants_get_ordinals_and_each_mutant_is_in_one_shard(self):
        mutants = numbered([mutant("x"), mutant("x"), mutant("y")])
        parts = [shard(mutants, f"{part}/3") for part in (1, 2, 3)]

        self.assertEqual([each.ordinal for each in mutants], [1, 2, 1])
        self.assertEqual(sorted(each.id for part in parts for each in part), sorted(each.id for each in mutants))

    def test_a_mutant_of_cargo_mutants_is_applied_at_its_place(self):
        text = "fn f(a: u8) -> bool {\n    let ä = 1; a < ä\n}\n"
        span = {"start": {"line": 2, "column": 18}, "end": {"line": 2, "column": 19}}
        entry = {"file": "f.rs", "function": {"function_name": "f"}, "genre": "BinaryOperator", "replacement": "<=",
                 "span": span}

        found = rust.from_entry(entry, text)

        self.assertEqual(found.text, text.replace("a < ä", "a <= ä"))
        self.assertEqual((found.scope, found.change, found.line), ("f", "< becomes <=", "let ä = 1; a < ä"))

    def test_the_text_of_a_by_hand_mutant_must_occur_once(self):
        entry = {"name": "no slack", "file": "f.rs", "find": "+ 5000", "replace": ""}

        self.assertEqual(byhand.from_entry(entry, "a + 5000").text, "a ")
        for text in (None, "a", "a + 5000 + 5000"):
            with self.assertRaisesRegex(Problem, "not once"):
                byhand.from_entry(entry, text)

    def test_the_score_ignores_justified_mutants_and_needs_all_verdicts(self):
        states = [("caught", "unit"), ("caught", "model"), ("missed", ""), ("missed", ""), ("unviable", "")]
        verdicts = [mock.Mock(mutant=mutant(str(number)), state=state, level=level)
                    for number, (state, level) in enumerate(states)]

        opened = mock.Mock(mutant=mutant("open"), state="unknown", level="")
        reasons = {verdicts[2].mutant.key: "equal"}

        (_, lease), (_, total) = score.rows(verdicts, reasons)
        (_, unsure), _ = score.rows([*verdicts, opened], reasons)

        self.assertEqual(lease, total)
        self.assertEqual([lease[name] for name in ("viable", "unit", "model", "missed", "justified", "open", "unviable")],
                         [4, 1, 1, 2, 1, 0, 1])
        self.assertEqual([score.percent(lease), score.percent(unsure)], ["66.7 %", ""])
