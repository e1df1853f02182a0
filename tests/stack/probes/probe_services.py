"""schedules.py, lambdas.py, and the roles of functions."""
import datetime
import json

from .functions import function, invoke
from .support import Probe, client, jsonata, machine, role, run, unique, wait_for

BOOTSTRAP = """#!/usr/bin/env python3
import http.client, json, os
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
while True:
    api.request("GET", "/2018-06-01/runtime/invocation/next")
    event = api.getresponse()
    event.read()
    answer = json.dumps({"dynamodb": os.environ.get("AWS_ENDPOINT_URL_DYNAMODB")})
    api.request("POST", f"/2018-06-01/runtime/invocation/{event.headers['Lambda-Runtime-Aws-Request-Id']}/response", answer)
    api.getresponse().read()
"""
LISTS = """import boto3
def handler(event, context):
    try:
        boto3.client("stepfunctions").list_executions(stateMachineArn=event["arn"])
    except Exception as error:
        return error.response["Error"]["Code"]
    return "allowed"
"""


class Schedules(Probe):
    def scheduled_input(self, target_arn, text, machine_arn):
        name = unique()
        at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)
        made = client("scheduler").create_schedule(
            Name=name, ScheduleExpression=f"at({at:%Y-%m-%dT%H:%M:%S})", FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": target_arn, "RoleArn": role(), "Input": text})
        states = client("stepfunctions")
        listed = wait_for(lambda: states.list_executions(stateMachineArn=machine_arn)["executions"], "execution")
        seen = json.loads(states.describe_execution(executionArn=listed[0]["executionArn"])["input"])
        return seen, f"{made['ScheduleArn']}#{at:%Y-%m-%dT%H:%M:%SZ}"

    KEY = "<aws.scheduler.schedule-arn>#<aws.scheduler.scheduled-time>"

    def test_context_attributes_reach_an_execution(self):
        arn = machine(jsonata({"End": {"Type": "Succeed"}}))
        seen, key = self.scheduled_input(arn, json.dumps({"runKey": self.KEY}), arn)
        self.assertEqual({"runKey": key}, seen)

    def test_universal_target_starts_an_execution(self):
        arn = machine(jsonata({"End": {"Type": "Succeed"}}))
        request = {"StateMachineArn": arn, "Input": json.dumps({"runKey": self.KEY})}
        seen, key = self.scheduled_input("arn:aws:scheduler:::aws-sdk:sfn:startExecution", json.dumps(request), arn)
        self.assertEqual({"runKey": key}, seen)


class Functions(Probe):
    def test_function_finds_dynamodb_local(self):
        name = function(BOOTSTRAP, "bootstrap", "provided.al2023", "bootstrap")
        self.assertIsNotNone(invoke(name)["dynamodb"])

    def test_throttled_function_has_a_name_of_its_own(self):
        name = function(LISTS)
        client("lambda").put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
        state = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": True,
                 "Arguments": {"FunctionName": name, "Payload": {}}}
        self.assert_failed(run(jsonata({"Call": state})), "Lambda.TooManyRequestsException")


class Roles(Probe):
    corrected = False

    def test_role_of_a_function_is_enforced(self):
        name = function(LISTS)
        self.assertIn("AccessDenied", invoke(name, {"arn": machine(jsonata({"End": {"Type": "Succeed"}}))}))
