"""Lambda functions that the probes deploy and call."""
import io
import json
import zipfile

from .support import client, queue, role, unique


def function(source, handler="index.handler", runtime="python3.11", file="index.py", role_arn=None):
    """Creates a function of one file, and returns its name."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as folder:
        entry = zipfile.ZipInfo(file)
        entry.external_attr = 0o755 << 16
        folder.writestr(entry, source)
    name = unique()
    client("lambda").create_function(
        FunctionName=name, Runtime=runtime, Handler=handler, Role=role_arn or role(), Timeout=10,
        Code={"ZipFile": archive.getvalue()})
    return name


def role_that_may(*statements):
    """Creates a role for functions and state machines with exactly these statements: (actions, resource, condition)."""
    name = unique("probe-role")
    trust = {"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Action": "sts:AssumeRole",
        "Principal": {"Service": ["lambda.amazonaws.com", "states.amazonaws.com"]}}]}
    made = client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))
    allowed = [{"Effect": "Allow", "Action": actions, "Resource": resource, **({"Condition": more[0]} if more else {})}
               for actions, resource, *more in statements]
    client("iam").put_role_policy(RoleName=name, PolicyName="probe", PolicyDocument=json.dumps(
        {"Version": "2012-10-17", "Statement": allowed}))
    return made["Role"]["Arn"]


CALLER = """import boto3, os
def handler(event, context):
    said = []
    for service, operation, arguments in event:
        try:
            api = boto3.client(service, endpoint_url=os.environ["AWS_ENDPOINT_URL"])
            getattr(api, operation)(**arguments)
            said.append("allowed")
        except Exception as error:
            said.append(error.response["Error"]["Code"])
    return said
"""


def calls_as(role_arn, calls):
    """Returns the response that a function with this role gets to each call: (service, operation, arguments)."""
    return invoke(function(CALLER, role_arn=role_arn), calls)


def invoke(name, payload=None):
    answer = client("lambda").invoke(FunctionName=name, Payload=json.dumps(payload or {}))
    return json.loads(answer["Payload"].read())


def function_arn(name):
    return f"arn:aws:lambda:us-east-1:000000000000:function:{name}"


RECORDER = """import boto3, json
queue = boto3.client("sqs")
def handler(event, context):
    queue.send_message(QueueUrl="QUEUE", MessageBody=json.dumps(event))
"""
_records = {}


def recorder(more=""):
    """Creates a function that records its events and then runs the code `more`. Returns its name."""
    url = queue()
    name = function(RECORDER.replace("QUEUE", url) + more)
    _records[name] = url, []
    return name


def recorded(name):
    """Returns the events that a recorder received, in order."""
    url, events = _records[name]
    while found := client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for message in found:
            events.append(json.loads(message["Body"]))
            client("sqs").delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return events
