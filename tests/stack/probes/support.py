"""Clients and small builders that the probes share."""
import functools
import json
import os
import threading
import time
import unittest
import uuid

import boto3
from botocore.config import Config

ROLE_POLICY = {"Version": "2012-10-17", "Statement": [{
    "Effect": "Allow", "Resource": "*",
    "Action": ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents", "states:SendTaskSuccess",
               "states:StartExecution", "states:DescribeExecution", "states:StopExecution", "events:PutTargets",
               "events:PutRule", "events:DescribeRule", "sqs:SendMessage"]}]}
ECS = "arn:aws:states:::ecs:runTask"


def once(make):
    """Caches the results of a function under one lock, so that two threads with probes do not both call it."""
    cached = functools.cache(make)

    @functools.wraps(make)
    def locked(*arguments):
        with _making:
            return cached(*arguments)
    return locked


_making = threading.RLock()


@once
def client(service):
    return client_in(service, None)


def client_in(service, region):
    """Returns a client of a Region. None means the Region of the environment."""
    return boto3.client(service, region_name=region, config=Config(retries={"max_attempts": 1}, max_pool_connections=20))


@once
def through_emulator(service):
    """Returns a client that calls the emulator, also for DynamoDB, which has its own endpoint."""
    return boto3.client(service, endpoint_url=os.environ["AWS_ENDPOINT_URL"])


def unique(prefix="probe"):
    return f"{prefix}-{uuid.uuid4().hex[:10]}"


@once
def role():
    name = unique("probe-role")
    trust = {"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Action": "sts:AssumeRole",
        "Principal": {"Service": ["states.amazonaws.com", "lambda.amazonaws.com", "scheduler.amazonaws.com",
                                  "ecs-tasks.amazonaws.com"]}}]}
    made = client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))
    client("iam").put_role_policy(RoleName=name, PolicyName="probe", PolicyDocument=json.dumps(ROLE_POLICY))
    return made["Role"]["Arn"]


def jsonata(states, **fields):
    """Returns a JSONata definition that starts at its first state."""
    return {"QueryLanguage": "JSONata", "StartAt": next(iter(states)), "States": states, **fields}


def machine(definition, role_arn=None):
    return client("stepfunctions").create_state_machine(
        name=unique(), definition=json.dumps(definition), roleArn=role_arn or role())["stateMachineArn"]


def start(machine_arn, data=None, **fields):
    return client("stepfunctions").start_execution(
        stateMachineArn=machine_arn, input=json.dumps(data or {}), **fields)["executionArn"]


def ended(execution, seconds=20):
    """Waits for the end of an execution, and returns its description."""
    return wait_for(lambda: _closed(execution), f"end of {execution}", seconds)


def _closed(execution):
    description = client("stepfunctions").describe_execution(executionArn=execution)
    return description if description["status"] != "RUNNING" else None


def run(definition, data=None, seconds=20):
    return ended(start(machine(definition), data), seconds)


def output(description):
    assert description["status"] == "SUCCEEDED", description
    return json.loads(description["output"])


def wait_for(check, what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"no {what} in {seconds} s")


def queue():
    return client("sqs").create_queue(QueueName=unique())["QueueUrl"]


def queue_arn(url):
    return client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def let_topics_in(url):
    """Allows topics to send messages to a queue."""
    allow = {"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage",
        "Resource": queue_arn(url)}]}
    client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(allow)})


def rule_to(target_arn, pattern):
    """Creates a rule that sends matching events of the default bus to a queue or a function. Returns the name of the rule."""
    name = unique()
    client("events").put_rule(Name=name, EventPattern=json.dumps(pattern))
    client("events").put_targets(Rule=name, Targets=[{"Id": "t", "Arn": target_arn}])
    return name


def receive(url, seconds=15):
    def check():
        return client("sqs").receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages")
    message = wait_for(check, f"message in {url}", seconds)[0]
    client("sqs").delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return json.loads(message["Body"])


class Probe(unittest.TestCase):
    """The base class of the probes."""
    maxDiff = None
    slow = False  # True: runs only if its module is named
    corrected = True  # False: the emulator behaves like AWS without a correction, and other tests depend on it

    def assert_failed(self, description, error):
        self.assertEqual(("FAILED", error), (description["status"], description.get("error")), description)
