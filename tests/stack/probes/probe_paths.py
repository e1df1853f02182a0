"""states/paths.py, templates.py, choices.py and simple.py: JSONPath as AWS evaluated it.

Recorded on AWS (tests/aws/services/stepfunctions/v2 of https://github.com/localstack/localstack):
test_reference_assign, 2024-11-06; test_assign_in_choice_state, 2024-11-12; test_invalid_jsonpath, 2025-01-02;
test_json_path_array_wildcard_or_slice_with_no_input, 2025-04-01; test_base_wait_seconds_path, 2024-03-22;
test_catch_states_runtime, 2023-11-23; test_max_concurrency_path, 2024-06-19; test_map_state_catch_empty_fail, 2023-08-08.
"""
from .executions import history, of_kind
from .support import Probe, ended, machine, output, run, start

RUNTIME = "States.Runtime"
PASS = {"Type": "Pass", "End": True}
EACH = {"ItemProcessor": {"StartAt": "P", "States": {"P": PASS}}}


def path(states, **fields):
    """Returns a JSONPath definition that starts at its first state."""
    return {"StartAt": next(iter(states)), "States": states, **fields}


def after(assigned, state, **more):
    """Returns a state that follows one which assigns variables."""
    return path({"First": {"Type": "Pass", "Assign": assigned, "Next": "One"}, "One": state, **more})


class Variables(Probe):
    def test_variable_is_read_wherever_a_path_is(self):
        cases = (
            ({**PASS, "Parameters": {"a.$": "$v.deep[1]", "b.$": "States.Format('{}-{}', $w, $.n)"}}, {"a": 2, "b": "x-7"}),
            ({**PASS, "InputPath": "$v"}, {"deep": [1, 2]}), ({**PASS, "OutputPath": "$w"}, "x"),
            ({**EACH, "Type": "Map", "ItemsPath": "$v.deep", "End": True}, [1, 2]),
            ({**EACH, "Type": "Map", "ItemsPath": "$v.deep", "MaxConcurrencyPath": "$one", "End": True,
              "ItemSelector": {"w.$": "$w", "i.$": "$$.Map.Item.Value"}}, [{"i": 1, "w": "x"}, {"i": 2, "w": "x"}]),
            ({"Type": "Wait", "SecondsPath": "$one", "Next": "Last"}, {"n": 7}),
            ({"Type": "Choice", "Choices": [{"Variable": "$w", "StringEqualsPath": "$same", "Next": "Last"}]}, {"n": 7}))
        for state, expected in cases:
            definition = after({"v": {"deep": [1, 2]}, "w": "x", "same": "x", "one": 1}, state, Last={"Type": "Succeed"})
            self.assertEqual(expected, output(run(definition, {"n": 7})), state)

    def test_fail_reads_its_error_and_cause_from_variables(self):
        description = run(after({"e": "Probe.Variable", "c": "why"}, {"Type": "Fail", "ErrorPath": "$e", "CausePath": "$c"}))
        self.assert_failed(description, "Probe.Variable")
        self.assertEqual("why", description["cause"])

    def test_states_rules_and_catchers_assign(self):
        call = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": "none"},
                "Catch": [{"ErrorEquals": ["States.ALL"], "Assign": {"caught.$": "$.Error"}, "ResultPath": None, "Next": "Which"}]}
        which = {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericEquals": 1, "Assign": {"by": "rule"}, "Next": "Wait"}],
                 "Assign": {"by": "state", "seen.$": "$.n"}, "Default": "Wait"}
        states = {"Call": call, "Which": which, "Wait": {"Type": "Wait", "Seconds": 0, "Assign": {"at.$": "$.n"}, "Next": "Last"},
                  "Last": {**PASS, "Parameters": {"by.$": "$by", "caught.$": "$caught", "at.$": "$at"}}}
        for n, by in ((1, "rule"), (2, "state")):
            self.assertEqual({"by": by, "caught": "Lambda.ResourceNotFoundException", "at": n}, output(run(path(states), {"n": n})))

    def test_assignments_are_in_the_event_of_the_states_exit(self):
        execution = start(machine(after({"a": 1, "b": {"c": "d"}}, PASS)))
        ended(execution)
        left = of_kind(history(execution), "PassStateExited")[0]["stateExitedEventDetails"]
        self.assertEqual({"a": "1", "b": '{"c":"d"}'}, left["assignedVariables"])


class Missing(Probe):
    def test_path_to_one_place_that_is_not_there_fails_the_state(self):
        for state, text in (
                ({**PASS, "InputPath": "$.no"}, "Invalid path '$.no' : No results for path: $['no']"),
                ({**PASS, "OutputPath": "$.no.more"}, "Invalid path '$.no.more' : Missing property in path $['no']"),
                ({**PASS, "Parameters": {"v.$": "$.no"}},
                 "The JSONPath '$.no' specified for the field 'v.$' could not be found in the input '{}'"),
                ({"Type": "Fail", "CausePath": "$.no"},
                 "The JSONPath '$.no' specified for the field 'CausePath' could not be found in the input '{}'"),
                ({"Type": "Wait", "SecondsPath": "$.no", "End": True},
                 "The SecondsPath parameter does not reference an input value: $.no")):
            description = run(path({"One": state}))
            self.assert_failed(description, RUNTIME)
            self.assertEqual(f"An error occurred while executing the state 'One' (entered at the event id #2). {text}",
                             description["cause"])

    def test_path_to_several_places_may_be_empty(self):
        for text in ("$.items[*]", "$.a.items[1:5].v", "$.items[:1]", "$[*]"):
            self.assertEqual({"v": []}, output(run(path({"One": {**PASS, "Parameters": {"v.$": text}}}))), text)

    def test_slices_filters_and_deep_paths_have_all_that_they_find(self):
        data = {"items": [{"n": 1, "k": "a"}, {"n": 2, "k": "b"}, {"n": 3, "k": "b"}]}
        for text, expected in (("$.items[0].n", 1), ("$.items[-1].n", 3), ("$.items[1:].n", [2, 3]), ("$..n", [1, 2, 3]),
                               ("$.items[?(@.k == 'b' && @.n > 2)].n", [3]), ("$.items[0,2].n", [1, 3])):
            self.assertEqual({"v": expected}, output(run(path({"One": {**PASS, "Parameters": {"v.$": text}}}), data)), text)

    def test_states_runtime_is_neither_caught_nor_retried(self):
        call = {"Type": "Parallel", "Branches": [{"StartAt": "P", "States": {"P": PASS}}], "OutputPath": "$.no.such",
                "Catch": [{"ErrorEquals": [RUNTIME], "Next": "Caught"}, {"ErrorEquals": ["States.ALL"], "Next": "Caught"}],
                "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 60}], "End": True}
        self.assert_failed(run(path({"One": call, "Caught": PASS}), seconds=10), RUNTIME)

    def test_value_at_the_path_of_a_number_must_be_a_valid_number(self):
        each = {**EACH, "Type": "Map", "ItemsPath": "$.items", "End": True}
        for state, value in (({**each, "MaxConcurrencyPath": "$.n"}, "none"), ({"Type": "Wait", "SecondsPath": "$.n", "End": True}, 1.5),
                             ({"Type": "Wait", "SecondsPath": "$.n", "End": True}, -1),
                             ({"Type": "Wait", "TimestampPath": "$.n", "End": True}, "2016-12-05T21:29:29")):
            self.assert_failed(run(path({"One": state}), {"items": [1], "n": value}), RUNTIME)

    def test_value_at_items_path_must_be_an_array(self):
        self.assert_failed(run(path({"One": {**EACH, "Type": "Map", "ItemsPath": "$.items", "End": True}}), {"items": {"a": 1}}), RUNTIME)


class Fails(Probe):
    def test_fail_without_error_and_cause_has_none(self):
        execution = start(machine(path({"One": {"Type": "Fail"}})))
        description = ended(execution)
        self.assertEqual("FAILED", description["status"])
        self.assertFalse({"error", "cause"} & set(description), description)
        self.assertEqual({}, of_kind(history(execution), "ExecutionFailed")[0]["executionFailedEventDetails"])
