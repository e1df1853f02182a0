"""Tests which judges of promises are recorded, with fake levels."""
import dataclasses
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from .. import judge
from ..judge import Result
from ..results import Results
from ..seen import LEVELS, Seeing, ledger, to_see
from ..settings import Problem
from ..switch import VARIABLE
from .test_run import FakeSlot, mutant


def promise(name, *judges, mutant="x"):
    return ledger.Promise(name, (f"It is {name}.",), judges, mutant)


class Slot(FakeSlot):
    """A slot whose tests fail as a table says: the verdict by (mutant, test)."""

    def run(self, program, env, bounds):
        exact, *names = program.arguments
        number = env[VARIABLE]
        found = re.search(rf"\b{number} => return {{.*?/\*(.*?)\*/", "".join(self.texts.values()))
        change = found[1] if found else self.content
        self.log.append((program.path, change, exact, *names))
        failed = [(name, self.verdicts[change, name]) for name in names if (change, name) in self.verdicts]
        if not failed:
            return Result("passed", "", 1.0, 1.0)
        return Result(failed[0][1], ", ".join(name for name, _ in failed), 1.0, 1.0)


class Seen(unittest.TestCase):
    def setUp(self):
        self.kept = []

    def seen(self, verdicts, promises, mutants=None, sick="", **options):
        with tempfile.TemporaryDirectory() as folder:
            slot = Slot(Path(folder), verdicts, sick)
            results = lambda tree, trust: Results(tree, Path(folder), trust)
            with mock.patch.object(judge, "build", slot.build), mock.patch.object(judge, "run", slot.run), \
                    mock.patch.object(judge, "environment", lambda slot, extra, stack: extra), \
                    mock.patch("mutantctl.run.Results", results), mock.patch("mutantctl.run.say"), \
                    mock.patch("mutantctl.seen.say"):
                return slot, Seeing(slot, promises, mutants or [mutant("x")], "tree", lambda seen: self.kept.append(dict(seen)), **options).all()

    def test_only_the_judges_of_a_promise_run_and_none_after_a_failure(self):
        slot, found = self.seen({("x", "a::b"): "caught"}, [promise("one", "core::a::b", "contract::c", "e2e::d")])

        self.assertEqual(found, {"one": "core::a::b"})
        self.assertEqual(slot.log, [("unit", "build"), ("unit", "", "--exact", "a::b"), ("unit", "x", "--exact", "a::b")])

    def test_if_the_judges_of_a_level_pass_those_of_the_next_level_run(self):
        slot, found = self.seen({("x", "c"): "caught"}, [promise("one", "core::a::b", "contract::c")])

        self.assertEqual(found, {"one": "contract::c"})
        self.assertEqual([entry[0] for entry in slot.log if entry[1:2] == ("x",)], ["unit", "contract"])

    def test_a_level_that_is_not_selected_is_not_built(self):
        slot, found = self.seen({("x", "c"): "caught"}, [promise("one", "core::a::b", "contract::c")], words=["contract"])

        self.assertEqual(found, {"one": "contract::c"})
        self.assertNotIn(("unit", "build"), slot.log)

    def test_the_results_of_a_level_are_kept_before_the_next_level(self):
        verdicts = {("x", "a::b"): "caught", ("x", "c"): "caught"}

        self.seen(verdicts, [promise("one", "core::a::b"), promise("two", "contract::c")])

        self.assertEqual(self.kept, [{"one": "core::a::b"}, {"one": "core::a::b", "two": "contract::c"}])

    def test_a_timeout_a_count_or_a_failed_build_records_no_judge(self):
        for verdict in ("timeout", "counted", "unviable"):
            with self.subTest(verdict):
                _, found = self.seen({("x", "a::b"): verdict}, [promise("one", "core::a::b")])

                self.assertEqual(found, {})

    def test_a_definition_is_changed_in_the_tree(self):
        definition = mutant("x", "statemachines/m.asl.json", "by-hand")

        _, found = self.seen({("x", "definition::a"): "caught"}, [promise("one", "simulation::definition::a")], [definition])

        self.assertEqual(found, {"one": "simulation::definition::a"})

    def test_a_mutant_outside_of_functions_has_its_own_build(self):
        outside = dataclasses.replace(mutant("x"), edit=(0, 1, "c"))

        slot, found = self.seen({("x", "a::b"): "caught"}, [promise("one", "core::a::b")], [outside])

        self.assertEqual(found, {"one": "core::a::b"})
        self.assertEqual(slot.log.count(("unit", "build")), 2)

    def test_a_mutant_that_does_not_compile_is_not_seen_and_stops_no_other(self):
        both = [promise("one", "core::a::b", mutant="sick"), promise("two", "core::a::b", mutant="x")]
        caught = {("sick", "a::b"): "passed", ("x", "a::b"): "caught"}

        _, found = self.seen(caught, both, [mutant("sick"), mutant("x")], sick="/*sick*/")

        self.assertEqual(found, {"two": "core::a::b"})

    def test_a_judge_that_fails_without_a_mutant_is_an_error(self):
        with self.assertRaisesRegex(Problem, "fails without a mutant"):
            self.seen({("", "a::b"): "caught"}, [promise("one", "core::a::b")])

    def test_a_script_runs_on_the_changed_tree_without_a_build(self):
        judge_of_page = "tests/infra/test_page.py::Page.test_row"
        page = mutant("x", "docs/page.md", "by-hand")
        for before, expected in ((None, {"one": judge_of_page}), (judge_of_page, None)):
            runs = iter([before, judge_of_page])
            with self.subTest(before), mock.patch("mutantctl.seen.failed", lambda tree, names: next(runs)):
                if expected is None:
                    self.assertRaisesRegex(Problem, "fails without a mutant", self.seen, {}, [promise("one", judge_of_page)], [page])
                    continue
                slot, found = self.seen({}, [promise("one", judge_of_page, "contract::c")], [page])

                self.assertEqual(found, expected)
                self.assertEqual(slot.log, [])

    def test_promises_that_were_seen_and_faults_of_the_model_are_not_tried(self):
        everything = ledger.Ledger(
            promises=[promise("one", "core::a"), promise("two", "core::a"), promise("three", mutant="model Lost"),
                      promise("four", mutant=""), promise("five", "core::b")],
            seen={"one": {"mutant": "x", "judge": "core::a"}, "five": {"mutant": "y", "judge": "core::b"}})

        self.assertEqual([each.id for each in to_see(everything, [mutant("x")], [])], ["two", "five"])
        self.assertEqual(to_see(everything, [mutant("x")], ["three"]), [])
        self.assertEqual(to_see(everything, [mutant("x")], [], ["contract"]), [])

    def test_every_level_of_a_unit_test_has_its_own_crate(self):
        self.assertEqual({word for word, level in LEVELS.items() if level and level.name == "unit"},
                         {"core", "shared", "operate", "weave", "command"})


if __name__ == "__main__":
    unittest.main()
