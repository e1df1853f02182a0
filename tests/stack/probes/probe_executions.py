"""executions.py and states/attempts.py."""
import time

from .support import Probe, client, ended, jsonata, machine, output, run, start, unique

FAIL_AT_ONCE = {"Type": "Fail", "Error": "Probe.Failed", "Cause": "on purpose"}
NO_FUNCTION = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke",
               "Arguments": {"FunctionName": "no-such-function", "Payload": {}}, "End": True}


class Executions(Probe):
    def test_stopped_execution_stays_aborted(self):
        branch = {"StartAt": "Wait", "States": {
            "Wait": {"Type": "Wait", "Seconds": 1, "Next": "Fail"}, "Fail": FAIL_AT_ONCE}}
        arn = start(machine(jsonata({"Both": {"Type": "Parallel", "Branches": [branch], "End": True}})))
        time.sleep(0.4)
        client("stepfunctions").stop_execution(executionArn=arn, error="Probe.Stopped")
        time.sleep(1.5)
        self.assertEqual("ABORTED", ended(arn)["status"])

    def test_machine_times_out(self):
        states = {"Wait": {"Type": "Wait", "Seconds": 5, "End": True}}
        self.assertEqual("TIMED_OUT", run(jsonata(states, TimeoutSeconds=1), seconds=8)["status"])

    def test_start_is_idempotent_while_it_runs(self):
        arn = machine(jsonata({"Wait": {"Type": "Wait", "Seconds": 2, "End": True}}))
        name = unique()
        first = start(arn, {"a": 1}, name=name)
        self.assertEqual(first, start(arn, {"a": 1}, name=name))
        with self.assertRaises(client("stepfunctions").exceptions.ExecutionAlreadyExists):
            start(arn, {"a": 2}, name=name)

    def test_failed_execution_has_no_output(self):
        description = run(jsonata({"Fail": FAIL_AT_ONCE}))
        self.assert_failed(description, "Probe.Failed")
        self.assertNotIn("output", description)

    def test_failed_execution_has_its_error_and_no_output_from_the_start(self):
        arn = machine(jsonata({"Fail": FAIL_AT_ONCE}))
        for _ in range(40):
            execution, status = start(arn), "RUNNING"
            while status == "RUNNING":
                description = client("stepfunctions").describe_execution(executionArn=execution)
                status = description["status"]
            self.assert_failed(description, "Probe.Failed")
            self.assertNotIn("output", description)

    def test_assign_sees_the_variables_of_entry(self):
        states = {
            "First": {"Type": "Pass", "Assign": {"a": 1}, "Next": "Second"},
            "Second": {"Type": "Pass", "Assign": {"a": 2, "b": "{% $a %}"}, "Next": "Last"},
            "Last": {"Type": "Pass", "Output": "{% [$a, $b] %}", "End": True}}
        self.assertEqual([2, 1], output(run(jsonata(states))))

    def test_rules_and_catchers_assign_in_the_language_of_their_state(self):
        call = {**NO_FUNCTION, "QueryLanguage": "JSONata",
                "Catch": [{"ErrorEquals": ["States.ALL"], "Assign": {"caught": True}, "Next": "Which"}]}
        rule = {"Condition": "{% $caught %}", "Assign": {"ruled": 7}, "Next": "Last"}
        states = {
            "Call": call,
            "Which": {"Type": "Choice", "QueryLanguage": "JSONata", "Choices": [rule]},
            "Last": {"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% [$caught, $ruled] %}", "End": True}}
        self.assertEqual([True, 7], output(run({"StartAt": "Call", "States": states})))

    def test_failing_item_stops_the_map(self):
        item = {"StartAt": "Which", "States": {
            "Which": {"Type": "Choice", "Default": "Wait",
                      "Choices": [{"Condition": "{% $states.input = 1 %}", "Next": "Fail"}]},
            "Wait": {"Type": "Wait", "Seconds": 6, "End": True}, "Fail": FAIL_AT_ONCE}}
        states = {"Each": {"Type": "Map", "Items": [1, 2], "ItemProcessor": item, "End": True}}
        self.assert_failed(run(jsonata(states), seconds=4), "Probe.Failed")

    def test_max_delay_bounds_a_retry(self):
        retry = {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 6, "MaxDelaySeconds": 1, "MaxAttempts": 1}
        description = run(jsonata({"Call": {**NO_FUNCTION, "Retry": [retry]}}), seconds=5)
        self.assertEqual("FAILED", description["status"])

    def test_full_jitter_shortens_a_retry(self):
        retry = {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 4, "JitterStrategy": "FULL", "MaxAttempts": 1}
        arn = machine(jsonata({"Call": {**NO_FUNCTION, "Retry": [retry]}}))
        ends = [ended(execution) for execution in [start(arn) for _ in range(5)]]
        taken = [(end["stopDate"] - end["startDate"]).total_seconds() for end in ends]
        self.assertLess(min(taken), 3.8)


class Jsonata(Probe):
    corrected = False

    def test_fail_state_evaluates_error_and_cause(self):
        description = run(jsonata({"Fail": {
            "Type": "Fail", "Error": "{% 'Probe.' & $states.input.kind %}", "Cause": "{% $states.input.why %}"}}),
            {"kind": "Bad", "why": "because"})
        self.assert_failed(description, "Probe.Bad")
        self.assertEqual("because", description["cause"])

    def test_catch_assigns_and_outputs_the_error(self):
        states = {
            "Call": {**NO_FUNCTION, "Catch": [{
                "ErrorEquals": ["States.ALL"], "Assign": {"caught": "{% $states.errorOutput.Error %}"},
                "Output": {"seen": "{% $exists($states.errorOutput.Cause) %}"}, "Next": "Last"}]},
            "Last": {"Type": "Pass", "Output": "{% [$caught, $states.input.seen] %}", "End": True}}
        self.assertEqual(["Lambda.ResourceNotFoundException", True], output(run(jsonata(states))))
