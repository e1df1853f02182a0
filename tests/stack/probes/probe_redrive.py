"""redrive.py."""
import time

from .functions import recorder
from .probe_callbacks import waiting_for
from .support import Probe, client, ended, jsonata, machine, output, queue, queue_arn, receive, rule_to, run, start


class Redrive(Probe):
    def setUp(self):
        self.states = client("stepfunctions")

    def test_aborted_parallel_goes_on_where_it_was(self):
        url = queue()
        done = {"StartAt": "Done", "States": {"Done": {"Type": "Pass", "Output": "{% $millis() %}", "End": True}}}
        waits = {"StartAt": "Count", "States": {
            "Count": {"Type": "Pass", "Assign": {"n": "{% $n + 1 %}"}, "Next": "Token"},
            "Token": waiting_for(url, Output={"said": "{% $states.result %}", "n": "{% $n %}"})}}
        arn = start(machine(jsonata({
            "First": {"Type": "Pass", "Next": "Both", "Assign": {"n": "{% $states.input.n %}", "at": "{% $millis() %}"}},
            "Both": {"Type": "Parallel", "Branches": [done, waits], "Next": "Last"},
            "Last": {"Type": "Pass", "End": True, "Output": {"branches": "{% $states.input %}", "at": "{% $at %}"}},
        })), {"n": 5})
        stale = receive(url)["token"]
        self.states.stop_execution(executionArn=arn)
        stopped_at = time.time() * 1000
        self.assertEqual("REDRIVABLE", ended(arn)["redriveStatus"])
        self.states.redrive_execution(executionArn=arn)
        token = receive(url)["token"]
        with self.assertRaises(self.states.exceptions.TaskTimedOut):
            self.states.send_task_success(taskToken=stale, output="1")
        self.states.send_task_success(taskToken=token, output='"again"')
        response = ended(arn)
        result = output(response)
        self.assertEqual({"said": "again", "n": 6}, result["branches"][1])  # neither Count nor First ran twice
        self.assertLess(max(result["branches"][0], result["at"]), stopped_at)
        self.assertEqual((1, "NOT_REDRIVABLE"), (response["redriveCount"], response["redriveStatus"]))

    def test_items_of_a_map_that_succeeded_do_not_run_again(self):
        call = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Output": "{% $millis() %}", "End": True, "Arguments": {
            "FunctionName": "{% $states.input = 0 or $states.context.Execution.RedriveCount > 0 ? $name : 'none' %}"}}
        arn = start(machine(jsonata({
            "First": {"Type": "Pass", "Assign": {"name": "{% $states.input.name %}"}, "Next": "Each"},
            "Each": {"Type": "Map", "Items": [0, 1], "MaxConcurrency": 1, "End": True,
                     "ItemProcessor": {"StartAt": "Call", "States": {"Call": call}}}})), {"name": recorder()})
        self.assert_failed(ended(arn), "Lambda.ResourceNotFoundException")
        stopped_at = time.time() * 1000
        self.states.redrive_execution(executionArn=arn)
        first, second = output(ended(arn))
        self.assertTrue(first < stopped_at <= second, (first, stopped_at, second))

    def test_context_counts_redrives_and_arguments_are_evaluated_again(self):
        """The variables stay, and the state that runs again sees the number of redrives."""
        count = "$states.context.Execution.RedriveCount"
        url = queue()
        response = {"count": f"{{% {count} %}}", "time": "{% $exists($states.context.Execution.RedriveTime) %}",
                "made": "{% $made %}"}
        arn = start(machine(jsonata({
            "First": {"Type": "Pass", "Assign": {"made": f"{{% {count} & ' ' & $string($millis()) %}}"}, "Next": "Ask"},
            "Ask": {"Type": "Parallel", "End": True, "Branches": [{"StartAt": "Token", "States": {
                "Token": waiting_for(url, more=response, Output=response)}}]}})))
        first = receive(url)
        self.states.stop_execution(executionArn=arn)
        ended(arn)
        self.states.redrive_execution(executionArn=arn)
        second = receive(url)
        self.states.send_task_success(taskToken=second["token"], output="1")
        self.assertEqual([(0, False), (1, True)], [(one["count"], one["time"]) for one in (first, second)])
        self.assertEqual(first["made"], second["made"])
        self.assertNotEqual(first["token"], second["token"])
        self.assertEqual({"count": 1, "time": True, "made": first["made"]}, output(ended(arn))[0])

    def test_error_in_arguments_is_caught_by_its_name(self):
        for field in ("Arguments", "TimeoutSeconds"):
            state = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Next": "Wrong",
                     "Arguments": {"FunctionName": "none"}, field: "{% $error('not twice') %}",
                     "Catch": [{"ErrorEquals": ["States.Timeout"], "Next": "Wrong"},
                               {"ErrorEquals": ["States.QueryEvaluationError"], "Next": "Caught",
                                "Output": "{% $states.errorOutput %}"}]}
            response = output(run(jsonata({"Call": state, "Caught": {"Type": "Pass", "End": True},
                                       "Wrong": {"Type": "Fail", "Error": "Probe.Wrong"}})))
            self.assertEqual("States.QueryEvaluationError", response["Error"], field)
            self.assertIn("not twice", response["Cause"], field)

    def test_failed_execution_fails_at_the_same_state(self):
        url = queue()
        arn = machine(jsonata({"Fail": {"Type": "Fail", "Error": "Probe.Failed", "Cause": "on purpose"}}))
        rule_to(queue_arn(url), {"source": ["aws.states"], "detail": {"stateMachineArn": [arn], "status": ["FAILED"],
                                                                      "redriveCount": [1]}})
        execution = start(arn)
        ended(execution)
        self.states.redrive_execution(executionArn=execution)
        self.assertEqual(execution, receive(url)["detail"]["executionArn"])
        self.assert_failed(ended(execution), "Probe.Failed")

    def test_succeeded_execution_cannot_be_redriven(self):
        response = run(jsonata({"End": {"Type": "Succeed"}}))
        with self.assertRaises(self.states.exceptions.ExecutionNotRedrivable):
            self.states.redrive_execution(executionArn=response["executionArn"])
