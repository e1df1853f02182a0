"""faults.py: the faults that tests order."""
import http.client
import json
import os
import sys
import urllib.parse

import boto3
from botocore.config import Config

from .functions import function, function_arn, invoke, recorded, recorder, role_that_may
from .support import Probe, client, jsonata, output, rule_to, run, unique, wait_for

WRITES = f"""#!{sys.executable}
import boto3, http.client, json, os, urllib.parse
table = boto3.client("dynamodb")
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
while True:
    api.request("GET", "/2018-06-01/runtime/invocation/next")
    event = api.getresponse()
    name = json.loads(event.read())["table"]
    table.put_item(TableName=name, Item={{"pk": {{"S": "before"}}}})
    table.transact_write_items(TransactItems=[{{"Put": {{"TableName": name, "Item": {{"pk": {{"S": "during"}}}}}}}}])
    table.put_item(TableName=name, Item={{"pk": {{"S": "after"}}}})
    api.request("POST", f"/2018-06-01/runtime/invocation/{{event.headers['Lambda-Runtime-Aws-Request-Id']}}/response", "1")
    api.getresponse().read()
"""


def faults(method="GET", **order):
    address = urllib.parse.urlsplit(os.environ["AWS_ENDPOINT_URL"])
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
    connection.request(method, "/_lockstack/faults", json.dumps(order) if order else None)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def fired(name):
    return [fault for fault in faults()[1]["fired"] if fault.get("function") == name]


class Faults(Probe):
    corrected = False

    def call_state(self, name, **fields):
        return run(jsonata({"Call": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": True,
                                     "Arguments": {"FunctionName": name, "Payload": {}}, **fields}}))

    def call_once(self, name):
        once = boto3.client("lambda", config=Config(retries={"total_max_attempts": 1}))
        once.invoke(FunctionName=name)

    def test_function_dies_after_its_commit(self):
        table = unique()
        client("dynamodb").create_table(
            TableName=table, BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}])
        role_arn = role_that_may((["dynamodb:PutItem"], "*"))
        name = function(WRITES, "bootstrap", "provided.al2023", "bootstrap", role_arn)
        status, answer = faults("POST", kill=function_arn(name), mentioning=table)
        if status == 400:
            self.skipTest(answer["message"])
        faults("POST", kill=name, mentioning="something else")
        self.assertEqual("Runtime.ExitError", invoke(name, {"table": table})["errorType"])
        items = client("dynamodb").scan(TableName=table)["Items"]
        self.assertEqual({"before", "during"}, {item["pk"]["S"] for item in items})
        self.assertEqual([("kill", "TransactWriteItems")], [(one["fault"], one["after"]) for one in fired(name)])
        self.assertEqual(1, invoke(name, {"table": table}))
        faults("POST", kill=name, after="write", mentioning=table)
        self.assertEqual("Runtime.ExitError", invoke(name, {"table": table})["errorType"])

    def test_invocations_fail_as_often_as_ordered(self):
        name = recorder()
        faults("POST", fail=name, mentioning="something else")
        faults("POST", fail=name, times=1)
        self.assert_failed(self.call_state(name), "Lambda.TooManyRequestsException")
        faults("POST", fail=name, times=2, **{"with": "service"})
        self.assert_failed(self.call_state(name), "Lambda.ServiceException")
        with self.assertRaises(client("lambda").exceptions.ServiceException):
            self.call_once(name)
        faults("POST", fail=name, times=1)
        with self.assertRaises(client("lambda").exceptions.TooManyRequestsException):
            self.call_once(name)
        self.assertIsNone(output(self.call_state(name))["Payload"])
        self.assertEqual(4, len(fired(name)))

    def test_state_sees_the_error_that_was_ordered(self):
        name = recorder()
        for ordered, error in (("Lambda.ResourceConflictException",) * 2, ("Lambda.EC2ThrottledException",) * 2,
                               ("Sandbox.Timedout",) * 2,
                               ("panic", "alloc::boxed::Box<dyn core::any::Any + core::marker::Send>")):
            faults("POST", fail=name, times=1, **{"with": ordered})
            description = self.call_state(name)
            self.assert_failed(description, error)
            cause = json.loads(description["cause"])
            self.assertEqual("panicked" in str(cause), ordered == "panic", cause)
        self.assertIsNone(output(self.call_state(name))["Payload"])
        faults("POST", fail=name, times=1, **{"with": "Lambda.ResourceConflictException"})
        with self.assertRaises(client("lambda").exceptions.ResourceConflictException):
            self.call_once(name)
        faults("POST", fail=name, times=1, **{"with": "panic"})
        self.assertIn("errorType", invoke(name))

    def test_invocations_fail_for_as_long_as_ordered(self):
        name = recorder()
        faults("POST", fail=name, seconds=2)
        for _ in range(2):
            self.assert_failed(self.call_state(name), "Lambda.TooManyRequestsException")
        wait_for(lambda: self.call_state(name)["status"] == "SUCCEEDED", "end of the throttling")

    def test_throttled_event_is_delivered_later(self):
        name, mark = recorder(), unique()
        rule_to(function_arn(name), {"source": ["probe"], "detail": {"mark": [mark]}})
        faults("POST", fail=name, times=1)
        client("events").put_events(Entries=[{"Source": "probe", "DetailType": "Probe",
                                              "Detail": json.dumps({"mark": mark})}])
        wait_for(lambda: recorded(name), "event")
        self.assertEqual(1, len(fired(name)))

    def test_rule_fires_on_order(self):
        name = recorder()
        rule = unique()
        client("events").put_rule(Name=rule, ScheduleExpression="rate(1 hour)")
        client("events").put_targets(Rule=rule, Targets=[{"Id": "t", "Arn": function_arn(name)}])
        faults("POST", fire=function_arn(name))
        wait_for(lambda: len(recorded(name)) == 1, "first call")
        faults("POST", fire=rule)
        wait_for(lambda: len(recorded(name)) == 2, "second call")

    def test_unknown_order_is_refused(self):
        for order in ({"kill": "no-such-function"}, {"fire": "no-such-rule"}, {"melt": 1}, {"events": "maybe"}, {"fail": recorder(), "with": "smoke"},
                      {"fail": recorder(), "times": 0}):
            self.assertEqual(400, faults("POST", **order)[0], order)
