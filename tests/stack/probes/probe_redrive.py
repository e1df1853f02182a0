"""redrive.py."""
import time

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
        told = ended(arn)
        result = output(told)
        self.assertEqual({"said": "again", "n": 6}, result["branches"][1])  # neither Count nor First ran twice
        self.assertLess(max(result["branches"][0], result["at"]), stopped_at)
        self.assertEqual((1, "NOT_REDRIVABLE"), (told["redriveCount"], told["redriveStatus"]))

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
        told = run(jsonata({"End": {"Type": "Succeed"}}))
        with self.assertRaises(self.states.exceptions.ExecutionNotRedrivable):
            self.states.redrive_execution(executionArn=told["executionArn"])
