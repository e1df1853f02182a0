"""states/expressions.py and states/visit.py: JSONata as AWS evaluated it.

Recorded on AWS (tests/aws/services/stepfunctions/v2 of https://github.com/localstack/localstack):
test_undefined_reference, 2024-11-21; test_map_state_items_eval_jsonata_fail, 2024-11-19; test_assign_in_choice and
test_wait_timestamp_jsonata, 2024-12-27; test_output_in_choice, 2026-02-19.
"""
from .executions import ERROR, history, of_kind
from .support import Probe, ended, jsonata, machine, output, run, start

NOTHING = "{% $states.input.missing %}"
CALL = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": True}
PASS = {"Type": "Pass", "End": True}


def failed_at(state, data=None):
    """Runs an execution of one state, and returns (description, EvaluationFailed)."""
    execution = start(machine(jsonata({"One": state})), data)
    description = ended(execution)
    noted = of_kind(history(execution), "EvaluationFailed")
    return description, noted[0]["evaluationFailedEventDetails"] if noted else None


class Undefined(Probe):
    """An expression that returns nothing fails its state, and the history names the field."""

    def test_expression_without_a_value_fails_the_state_and_names_its_field(self):
        for fields, location in (
                ({"Output": NOTHING}, "Output"), ({"Output": {"result": NOTHING}}, "Output/result"),
                ({"Output": {"a": [{"b": NOTHING}]}}, "Output/a[0]/b"), ({"Assign": {"result": NOTHING}}, "Assign/result")):
            description, noted = failed_at({**PASS, **fields})
            self.assert_failed(description, ERROR)
            self.assertIn(f"specified for the field '{location}' returned nothing (undefined).", description["cause"])
            self.assertEqual((location, "One", description["cause"]),
                             (noted["location"], noted["state"], noted["cause"]), fields)

    def test_arguments_without_a_value_fail_before_the_call(self):
        for arguments, location in ((NOTHING, "Arguments"), ({"FunctionName": NOTHING}, "Arguments/FunctionName")):
            execution = start(machine(jsonata({"One": {**CALL, "Arguments": arguments}})))
            self.assert_failed(ended(execution), ERROR)
            events = history(execution)
            self.assertEqual([], of_kind(events, "TaskScheduled"))
            self.assertEqual(location, of_kind(events, "EvaluationFailed")[0]["evaluationFailedEventDetails"]["location"])

    def test_expression_without_a_value_fails_every_kind_of_state(self):
        caught = {"ErrorEquals": ["States.ALL"], "Next": "Last"}
        call = {**CALL, "Arguments": {"FunctionName": "none"}}
        for state in (
                {**call, "Catch": [{**caught, "Output": NOTHING}]}, {**call, "Catch": [{**caught, "Assign": {"a": NOTHING}}]},
                {"Type": "Choice", "Choices": [{"Condition": "{% true %}", "Output": NOTHING, "Next": "Last"}]},
                {"Type": "Choice", "Choices": [{"Condition": NOTHING, "Next": "Last"}], "Default": "Last"},
                {"Type": "Fail", "Error": NOTHING}, {"Type": "Wait", "Seconds": NOTHING, "Next": "Last"},
                {"Type": "Parallel", "Arguments": NOTHING, "Branches": [{"StartAt": "P", "States": {"P": PASS}}], "Next": "Last"},
                {"Type": "Map", "Items": NOTHING, "ItemProcessor": {"StartAt": "P", "States": {"P": PASS}}, "Next": "Last"},
                {"Type": "Succeed", "Output": NOTHING}):
            self.assert_failed(run(jsonata({"One": state, "Last": {"Type": "Succeed"}})), ERROR)

    def test_operators_of_a_later_jsonata_are_refused(self):
        for operator in ("??", "?:"):
            text = f"{{% $states.input.missing {operator} 1 %}}"
            with self.assertRaisesRegex(Exception, "INVALID_JSONATA_EXPRESSION"):
                machine(jsonata({"One": {**PASS, "Output": text}}))

    def test_null_is_a_value_and_a_field_that_an_object_lacks_is_left_out(self):
        for text, expected in (("{% null %}", None), ("{% {'a': $states.input.missing} %}", {}), ("{% [$states.input.missing] %}", []),
                               ("{% $parse('null') %}", None)):
            self.assertEqual(expected, output(run(jsonata({"One": {**PASS, "Output": text}}))), text)

    def test_eval_is_not_supported(self):
        description, _ = failed_at({**PASS, "Output": "{% $eval('1 + 1') %}"})
        self.assert_failed(description, ERROR)

    def test_function_is_not_a_value(self):
        description, _ = failed_at({**PASS, "Output": "{% function($x){$x} %}"})
        self.assert_failed(description, ERROR)


class Types(Probe):
    def test_value_of_another_type_fails_the_state(self):
        fields = {"StartAt": "P", "States": {"P": PASS}}
        for items, found in (("{% 1 %}", "number"), ("{% 'a' %}", "string"), ("{% null %}", "null"), ("{% true %}", "boolean"),
                             ("{% {'a': 1} %}", "object")):
            description, noted = failed_at({"Type": "Map", "Items": items, "ItemProcessor": fields, "End": True})
            self.assert_failed(description, ERROR)
            self.assertIn(f"Expected 'array', but was '{found}' for value:", description["cause"])
            self.assertEqual("Items", noted["location"])

    def test_condition_is_a_boolean(self):
        rule = {"Condition": "{% 'true' %}", "Next": "One"}
        description, _ = failed_at({"Type": "Choice", "Choices": [rule], "Default": "One"})
        self.assert_failed(description, ERROR)

    def test_input_of_a_map_without_items_is_an_array(self):
        fields = {"StartAt": "P", "States": {"P": PASS}}
        description, _ = failed_at({"Type": "Map", "ItemProcessor": fields, "End": True}, {"foo": "bar"})
        self.assert_failed(description, ERROR)
        self.assertTrue(description["cause"].endswith('Map state input must be an array but was: {"foo":"bar"}'), description)

    def test_wait_refuses_a_time_without_offset_and_part_of_a_second(self):
        for field, value in (("Timestamp", "{% '2016-12-05T21:29:29' %}"), ("Timestamp", "{% '2016-12-05 21:29:29Z' %}"),
                             ("Timestamp", "{% '2016-13-05T21:29:29Z' %}"), ("Seconds", "{% 1.5 %}"), ("Seconds", "{% -1 %}")):
            description, noted = failed_at({"Type": "Wait", field: value, "End": True})
            self.assert_failed(description, ERROR)
            self.assertEqual(field, noted["location"], value)


class Choices(Probe):
    def test_rule_that_matches_assigns_and_else_the_state_does(self):
        rule = {"Condition": "{% $states.input.ok %}", "Assign": {"by": "rule"}, "Output": "of the rule", "Next": "Last"}
        states = {
            "Which": {"Type": "Choice", "Choices": [rule], "Assign": {"by": "state"}, "Output": "of the state", "Default": "Last"},
            "Last": {**PASS, "Output": "{% [$by, $states.input] %}"}}
        for ok, expected in ((True, ["rule", "of the rule"]), (False, ["state", "of the state"])):
            self.assertEqual(expected, output(run(jsonata(states), {"ok": ok})))


class Context(Probe):
    def test_context_object_has_what_aws_names_and_nothing_more(self):
        seen = output(run(jsonata({"First": {"Type": "Pass", "Assign": {"hidden": 1}, "Next": "One"},
                                   "One": {**PASS, "Output": "{% $states.context %}"}}), {"a": 1}))
        self.assertEqual({"Execution": ["Id", "Input", "Name", "RedriveCount", "RoleArn", "StartTime"],
                          "State": ["EnteredTime", "Name"], "StateMachine": ["Id", "Name"]},
                         {part: sorted(fields) for part, fields in seen.items()})
        self.assertEqual({"a": 1}, seen["Execution"]["Input"])


class Mixed(Probe):
    """test_output_to_state and test_variable_sampling, 2024-11-07."""

    def test_values_and_variables_pass_between_the_languages(self):
        states = {
            "Path": {"Type": "Pass", "Assign": {"a.$": "$.n"}, "Next": "Query"},
            "Query": {"Type": "Pass", "QueryLanguage": "JSONata", "Assign": {"b": "{% $a + 1 %}"},
                      "Output": {"foo": "{% $states.input %}"}, "Next": "Back"},
            "Back": {"Type": "Pass", "Parameters": {"a.$": "$a", "b.$": "$b", "n.$": "$.foo.n"}, "End": True}}
        self.assertEqual({"a": 4, "b": 5, "n": 4}, output(run({"StartAt": "Path", "States": states}, {"n": 4})))
