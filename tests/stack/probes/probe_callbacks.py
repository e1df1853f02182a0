"""callbacks.py and timeouts.py."""
from .functions import function
from .support import Probe, client, ended, jsonata, machine, output, queue, receive, run, start

TOKEN = "{% $states.context.Task.Token %}"
BAD = """#!/usr/bin/env python3
import http.client, json, os
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
while True:
    api.request("GET", "/2018-06-01/runtime/invocation/next")
    event = api.getresponse()
    event.read()
    answer = json.dumps({"errorType": "Probe.Bad", "errorMessage": "no"})
    api.request("POST", f"/2018-06-01/runtime/invocation/{event.headers['Lambda-Runtime-Aws-Request-Id']}/error", answer)
    api.getresponse().read()
"""


def waiting_for(url, more=None, **fields):
    return {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "End": True,
            "Arguments": {"QueueUrl": url, "MessageBody": {"token": TOKEN, **(more or {})}}, **fields}


class Callbacks(Probe):
    def setUp(self):
        self.states = client("stepfunctions")

    def test_error_of_the_function_fails_the_state(self):
        state = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "TimeoutSeconds": 8,
                 "Arguments": {"FunctionName": function(BAD, "bootstrap", "provided.al2023", "bootstrap"),
                               "Payload": {"token": TOKEN}}, "End": True}
        self.assert_failed(run(jsonata({"Call": state})), "Probe.Bad")

    def test_each_attempt_has_its_own_token(self):
        url = queue()
        retry = {"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 1, "BackoffRate": 1, "MaxAttempts": 5}
        arn = start(machine(jsonata({"Wait": waiting_for(url, TimeoutSeconds=1, Retry=[retry])})))
        stale, later = receive(url)["token"], receive(url)["token"]
        self.assertNotEqual(stale, later)
        with self.assertRaises(self.states.exceptions.TaskTimedOut):
            self.states.send_task_success(taskToken=stale, output='"stale"')
        with self.assertRaises(self.states.exceptions.InvalidOutput):
            self.states.send_task_success(taskToken=later, output="current")
        self.states.send_task_success(taskToken=later, output='"current"')
        self.assertEqual("current", output(ended(arn)))
        with self.assertRaises(self.states.exceptions.TaskTimedOut):
            self.states.send_task_success(taskToken=later, output='"again"')

    def test_missing_heartbeat_is_a_timeout(self):
        state = waiting_for(queue(), HeartbeatSeconds=1, TimeoutSeconds=6)
        caught = {"ErrorEquals": ["States.Timeout"], "Output": "{% $states.errorOutput.Error %}", "Next": "End"}
        states = {"Wait": {**state, "Catch": [caught]}, "End": {"Type": "Succeed"}}
        self.assertEqual("States.Timeout", output(run(jsonata(states), seconds=5)))

    def test_time_limit_may_be_an_expression(self):
        state = waiting_for(queue(), TimeoutSeconds="{% $states.input.limit %}")
        self.assert_failed(run(jsonata({"Wait": state}), {"limit": 1}, seconds=6), "States.Timeout")
