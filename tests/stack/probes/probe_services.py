"""schedules.py, lambdas.py, dynamodb.py, and the roles of functions."""
import datetime
import json
import time

from .support import (Probe, client, function, invoke, jsonata, machine, output, role, run, through_emulator, unique,
                      wait_for)

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
        listed = wait_for(lambda: states.list_executions(stateMachineArn=machine_arn)["executions"], "execution", 8)
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


class Roles(Probe):
    corrected = False

    def test_role_of_a_function_is_enforced(self):
        name = function(LISTS)
        self.assertIn("AccessDenied", invoke(name, {"arn": machine(jsonata({"End": {"Type": "Succeed"}}))}))


class Dynamodb(Probe):
    KEYS = {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}

    def table_there(self, name):
        return name in client("dynamodb").list_tables()["TableNames"]

    def test_emulator_hands_requests_on(self):
        name = unique()
        through_emulator("dynamodb").create_table(TableName=name, **self.KEYS)
        self.assertTrue(self.table_there(name))

    def test_wrong_element_is_not_removed(self):
        """The emulator's own DynamoDB takes q[1] of what is left after q[0] went."""
        name, api = unique(), through_emulator("dynamodb")
        api.create_table(TableName=name, **self.KEYS)
        api.put_item(TableName=name, Item={"pk": {"S": "a"}, "q": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]}})
        api.update_item(TableName=name, Key={"pk": {"S": "a"}}, UpdateExpression="REMOVE q[0], q[1]")
        self.assertEqual([{"N": "2"}], api.get_item(TableName=name, Key={"pk": {"S": "a"}})["Item"]["q"]["L"])

    def test_template_makes_and_deletes_the_table(self):
        name, api = unique(), client("cloudformation")
        template = {"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {
            "TableName": name, **self.KEYS, "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True}}}}}
        api.create_stack(StackName=name, TemplateBody=json.dumps(template))
        wait_for(lambda: api.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE", "stack")
        self.assertTrue(self.table_there(name))
        ttl = client("dynamodb").describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        self.assertEqual(("ENABLED", "ttl"), (ttl["TimeToLiveStatus"], ttl["AttributeName"]))
        api.delete_stack(StackName=name)
        wait_for(lambda: not self.table_there(name), "deletion of the table")

    def test_state_reads_dynamodb_local(self):
        name, api = unique(), client("dynamodb")
        api.create_table(TableName=name, **self.KEYS)
        api.put_item(TableName=name, Item={"pk": {"S": "a"}, "n": {"N": "5"}})
        state = {"Type": "Task", "Resource": "arn:aws:states:::dynamodb:getItem", "End": True,
                 "Arguments": {"TableName": name, "Key": {"pk": {"S": "a"}}}, "Output": "{% $states.result.Item.n.N %}"}
        self.assertEqual("5", output(run(jsonata({"Get": state}))))
