"""executions.py, callbacks.py and behaviour that needs no correction: DescribeExecution, and the effects of an execution's end."""
import datetime
import json
import time

from . import batches
from .functions import function, function_arn, recorded, recorder
from .probe_callbacks import waiting_for
from .support import (Probe, client, ended, jsonata, machine, output, queue, receive, rule_to, run, start, unique,
                      wait_for)

WAIT = {"Wait": {"Type": "Wait", "Seconds": 20, "End": True}}


class Stopped(Probe):
    """A stop ends all work that the execution has started."""

    def test_parallel_ends_with_its_task_and_token(self):
        url, definition = queue(), batches.task_definition()
        branches = [{"StartAt": "Run", "States": {"Run": batches.run_state(definition, SECONDS=30, IGNORE_SIGTERM=1)}},
                    {"StartAt": "Token", "States": {"Token": waiting_for(url)}}]
        arn = start(machine(jsonata({"Both": {"Type": "Parallel", "Branches": branches, "End": True}})))
        token = receive(url)["token"]
        (task,) = wait_for(lambda: batches.tasks_of(definition), "task")
        wait_for(lambda: batches.lines(task), "first line")
        client("stepfunctions").stop_execution(executionArn=arn, error="Probe.Stopped", cause="on purpose")
        with self.assertRaises(client("stepfunctions").exceptions.TaskTimedOut):
            client("stepfunctions").send_task_success(taskToken=token, output="1")
        response = ended(arn)
        self.assertEqual(("ABORTED", "Probe.Stopped", "on purpose"),
                         tuple(response[field] for field in ("status", "error", "cause")))
        stopped = batches.reaches(task, "STOPPED", 10)
        self.assertEqual(["start", "sigterm"], batches.events(task))
        self.assertEqual(137, stopped["containers"][0]["exitCode"])  # SIGKILL after its stopTimeout


class Descriptions(Probe):
    corrected = False

    def status_events(self, arn, **detail):
        name = recorder()
        rule_to(function_arn(name), {
            "source": ["aws.states"], "detail-type": ["Step Functions Execution Status Change"],
            "detail": {"stateMachineArn": [arn], **detail}})
        return name

    def test_status_changes_are_events(self):
        arn = machine(jsonata(WAIT))
        name = self.status_events(arn, status=["ABORTED", "FAILED", "TIMED_OUT"])
        execution = start(arn, {"lock": "nightly"})
        client("stepfunctions").stop_execution(executionArn=execution)
        (event,) = wait_for(lambda: recorded(name), "event")
        detail = event["detail"]
        self.assertEqual((execution, "ABORTED"), (detail["executionArn"], detail["status"]))
        self.assertEqual({"lock": "nightly"}, json.loads(detail["input"]))
        self.assertEqual({"included": True}, detail["inputDetails"])
        self.assertEqual([execution], event["resources"])

    def test_unknown_execution_does_not_exist(self):
        arn = machine(jsonata(WAIT)).replace(":stateMachine:", ":execution:") + ":never"
        states = client("stepfunctions")
        for call in (states.describe_execution, states.stop_execution):
            with self.assertRaises(states.exceptions.ExecutionDoesNotExist):
                call(executionArn=arn)

    def test_wait_until_a_moment(self):
        until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)
        states = {"Wait": {"Type": "Wait", "Timestamp": "{% $states.input.notBefore %}", "End": True}}
        arn = machine(jsonata(states))
        response = ended(start(arn, {"notBefore": f"{until:%Y-%m-%dT%H:%M:%SZ}"}))
        self.assertGreaterEqual(response["stopDate"].timestamp(), until.timestamp() // 1)
        began = time.monotonic()
        output(ended(start(arn, {"notBefore": "2020-01-01T00:00:00+09:00"})))
        self.assertLess(time.monotonic() - began, 1.5)

    def test_wait_ends_with_a_stop(self):
        arn = start(machine(jsonata(WAIT)))
        time.sleep(0.4)
        client("stepfunctions").stop_execution(executionArn=arn)
        self.assertEqual("ABORTED", ended(arn, 2)["status"])

    def test_unknown_token_is_refused(self):
        states = client("stepfunctions")
        with self.assertRaises((states.exceptions.TaskDoesNotExist, states.exceptions.InvalidToken)):
            states.send_task_success(taskToken=unique(), output="1")


class FunctionErrors(Probe):
    corrected = False

    def test_function_that_is_killed_fails_with_an_exit_error(self):
        """A Retry gets this error if the process of a function dies. Needs no correction."""
        state = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": True,
                 "Arguments": {"Payload": {}, "FunctionName": function(
                     DIES, "bootstrap", "provided.al2023", "bootstrap")}}
        self.assert_failed(run(jsonata({"Call": state})), "Runtime.ExitError")


DIES = """#!/usr/bin/env python3
import http.client, os
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
api.request("GET", "/2018-06-01/runtime/invocation/next")
api.getresponse().read()
os.kill(os.getpid(), 9)
"""
