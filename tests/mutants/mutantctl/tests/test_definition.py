"""Tests each kind of definition mutant on a small state machine."""
import json
import unittest

from .. import definition
from ..settings import DEFINITIONS, ROOT

FILE = "statemachines/small.asl.json"


def machine(**states):
    return json.dumps({"StartAt": "A", "States": states})


def changes(text, part=""):
    """Returns the changed documents by change and line, for the mutants with `part` in their change."""
    found = definition.mutants(FILE, text)
    return {f"{mutant.change} {mutant.line}".strip(): json.loads(mutant.text) for mutant in found if part in mutant.change}


class EachKind(unittest.TestCase):
    def test_an_error_is_dropped_from_its_list_a_single_one_with_its_entry(self):
        catch = [{"ErrorEquals": ["X", "Y"], "Next": "A"}, {"ErrorEquals": ["States.ALL"], "Next": "A"}]

        found = changes(machine(A={"Type": "Task", "Catch": catch}), "Catch")

        lists = {name: [entry["ErrorEquals"] for entry in changed["States"]["A"].get("Catch", [])]
                 for name, changed in found.items()}
        self.assertEqual(lists, {
            "Catch is dropped X and 1 more": [["States.ALL"]],
            "Catch.ErrorEquals is without X X and 1 more": [["Y"], ["States.ALL"]],
            "Catch.ErrorEquals is without Y X and 1 more": [["X"], ["States.ALL"]],
            "Catch is dropped States.ALL": [["X", "Y"]],
        })

    def test_the_last_retrier_is_dropped_with_its_list(self):
        found = changes(machine(A={"Type": "Task", "Retry": [{"ErrorEquals": ["X"], "MaxAttempts": 8}]}))

        self.assertNotIn("Retry", found["Retry is dropped X"]["States"]["A"])
        self.assertEqual(found["Retry.MaxAttempts becomes 3 X"]["States"]["A"]["Retry"][0]["MaxAttempts"], 3)

    def test_a_transition_leads_to_each_other_state_of_its_scope(self):
        inner = {"StartAt": "I", "States": {"I": {"Type": "Pass", "Next": "J"}, "J": {"Type": "Pass", "End": True}}}
        text = machine(A={"Type": "Parallel", "Branches": [inner], "Next": "B"}, B={"Type": "Succeed"})

        found = definition.mutants(FILE, text)

        self.assertEqual([(mutant.scope, mutant.change) for mutant in found],
                         [("A", "Next leads to A"), ("A/I", "Next leads to I")])

    def test_rules_of_one_target_are_one_transition(self):
        rules = [{"Condition": "{% $x %}", "Next": "B"}, {"Condition": "{% $y %}", "Next": "B"}]
        text = machine(A={"Type": "Choice", "Choices": rules, "Default": "C"}, B={"Type": "Succeed"}, C={"Type": "Succeed"})

        found = changes(text, "leads to")

        self.assertEqual(sorted(found), ["Choices.Next leads to A $x", "Choices.Next leads to C $x",
                                         "Default leads to A", "Default leads to B"])

    def test_a_condition_always_holds_or_is_negated(self):
        rule = {"Condition": "{% $x in ['a', 'b'] %}", "Next": "A"}

        found = changes(machine(A={"Type": "Choice", "Choices": [rule]}), "Condition")

        conditions = [changed["States"]["A"]["Choices"][0]["Condition"] for changed in found.values()]
        self.assertEqual(conditions, ["{% true %}", "{% $not($x in ['a', 'b']) %}",
                                      "{% $x in [ 'b'] %}", "{% $x in ['a'] %}"])

    def test_times_are_scaled_as_numbers_and_as_expressions(self):
        text = machine(A={"Type": "Task", "TimeoutSeconds": 15, "HeartbeatSeconds": "{% $beat %}"})

        states = [changed["States"]["A"] for changed in changes(text).values()]

        self.assertEqual([(state["TimeoutSeconds"], state["HeartbeatSeconds"]) for state in states],
                         [(150, "{% $beat %}"), (1, "{% $beat %}"), (15, "{% 10 * ($beat) %}"),
                          (15, "{% $ceil(($beat) / 10) %}")])

    def test_fields_are_dropped_and_outcomes_swapped_at_any_depth(self):
        text = machine(A={"Type": "Task", "Arguments": {"FunctionName": "f", "Payload": {"outcome": "failed"}}})

        found = changes(text)

        self.assertEqual({name: changed["States"]["A"]["Arguments"] for name, changed in found.items()}, {
            "Arguments.Payload is dropped": {"FunctionName": "f"},
            "Arguments.Payload.outcome is dropped": {"FunctionName": "f", "Payload": {}},
            "Arguments.Payload.outcome becomes succeeded": {"FunctionName": "f", "Payload": {"outcome": "succeeded"}},
            "Arguments.Payload.outcome becomes stopping": {"FunctionName": "f", "Payload": {"outcome": "stopping"}},
        })

    def test_an_assignment_is_dropped_wherever_it_stands(self):
        catch = {"ErrorEquals": ["X"], "Assign": {"failure": 1}, "Next": "A"}

        found = changes(machine(A={"Type": "Task", "Assign": {"a": 1, "b": 2}, "Catch": [catch]}), "is not assigned")

        self.assertEqual(sorted(found), ["Assign.a is not assigned", "Assign.b is not assigned",
                                         "Catch.Assign.failure is not assigned X"])
        self.assertEqual(found["Assign.a is not assigned"]["States"]["A"]["Assign"], {"b": 2})
        self.assertNotIn("Assign", found["Catch.Assign.failure is not assigned X"]["States"]["A"]["Catch"][0])

    def test_an_integration_pattern_is_dropped(self):
        found = changes(machine(A={"Type": "Task", "Resource": "arn:aws:states:::startExecution.sync:2"}))

        self.assertEqual(found["Resource is without .sync"]["States"]["A"]["Resource"], "arn:aws:states:::startExecution")


class TheRealDefinitions(unittest.TestCase):
    def test_every_mutant_has_its_own_text_and_key_and_is_reproducible(self):
        paths = sorted(ROOT.glob(DEFINITIONS))
        self.assertTrue(paths)
        for path in paths:
            text = path.read_text()
            found = definition.mutants(path.name, text)
            whole = json.dumps(json.loads(text), indent=2) + "\n"

            self.assertGreater(len(found), 10 * text.count('"Type"'), path)
            self.assertEqual(len({mutant.key for mutant in found}), len(found), path)
            self.assertEqual(len({mutant.text for mutant in found} | {whole}), len(found) + 1, path)
            self.assertEqual(definition.mutants(path.name, text), found)
