"""Forwards DynamoDB requests to AWS's own DynamoDB Local.

AWS: conditional writes, transactions and expressions behave as in DynamoDB Local, which
  AWS builds from the service's code.
  https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.html
ministack 1.5.33: has its own implementation, which differs in details that a lock depends on.

So the emulator forwards every DynamoDB request to DynamoDB Local. Tables of CloudFormation templates are
created there, with their indexes. The emulator keeps its own record of such a table for change sets and tags.
Not supported: streams, deletion protection, point-in-time recovery.
"""
import asyncio
import concurrent.futures
import contextvars
import http.client
import json
import os
import socket
import threading
import time
import urllib.parse

from ministack import app
from ministack.services import dynamodb
from ministack.services import stepfunctions as sfn
from ministack.services.cloudformation import provisioners
from ministack.core.responses import get_account_id, get_region

from . import scope

_AUTHORIZATION = ("AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, "
                  "SignedHeaders=host, Signature=0")
_TABLE_FIELDS = ("KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes", "LocalSecondaryIndexes",
                 "BillingMode", "ProvisionedThroughput")
_KEPT_SECONDS = 2  # DynamoDB Local may have closed a connection that was idle for longer
_pool = concurrent.futures.ThreadPoolExecutor(32, thread_name_prefix="dynamodb")
_own = threading.local()
before_request = []  # called with action, headers and body; the first result that is not None becomes the answer
after_request = []  # called with the action, the request's headers and body, and the answer's status


class Elsewhere(Exception):
    """The functions' requests to the table do not go through the emulator."""


def must_pass_here(what):
    """Raises Elsewhere on a stack whose functions call DynamoDB Local directly, where the emulator can cause no fault."""
    if not app.AUTH or os.environ.get("AWS_ENDPOINT_URL_DYNAMODB") != os.environ.get("AWS_ENDPOINT_URL"):
        raise Elsewhere(f"{what} needs a stack that was started with `up --table-iam`")


def send(action, body):
    """Sends a request to DynamoDB Local, and returns (status, headers, body)."""
    connection = _connection()
    try:
        connection.request("POST", "/", body, {
            "X-Amz-Target": f"DynamoDB_20120810.{action}", "Content-Type": "application/x-amz-json-1.0",
            "Authorization": _AUTHORIZATION, "X-Amz-Date": "20260101T000000Z"})
        response = connection.getresponse()
        answer = response.read()
    except BaseException:
        _own.connection = None
        connection.close()
        raise
    _own.used = time.monotonic()
    # ARNs of DynamoDB Local have another Region and account.
    own = f"arn:aws:dynamodb:{get_region()}:{get_account_id()}:".encode()
    answer = answer.replace(b"arn:aws:dynamodb:ddblocal:000000000000:", own)
    return response.status, {"Content-Type": "application/x-amz-json-1.0"}, answer


def _connection():
    """Returns this thread's connection. Opens a new one after an idle time, because a retried write could take effect twice."""
    kept = getattr(_own, "connection", None)
    if kept and time.monotonic() - _own.used < _KEPT_SECONDS:
        return kept
    if kept:
        kept.close()
    address = urllib.parse.urlsplit(os.environ["LOCKSTACK_DYNAMODB"])
    _own.connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    _own.connection.connect()
    _own.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return _own.connection


async def _handle_request(method, path, headers, body, query_params):
    action = headers.get("x-amz-target", "").rpartition(".")[2]
    for look in before_request:
        answer = await look(action, headers, body)
        if answer is not None:
            return answer
    context = contextvars.copy_context()
    answer = await asyncio.get_running_loop().run_in_executor(_pool, context.run, send, action, body)
    for listener in after_request:
        listener(action, headers, body, answer[0])
    return answer


def _invoke_from_state(operation, data):
    status, _, body = send(operation[0].upper() + operation[1:], json.dumps(data))
    answer = json.loads(body)
    if status >= 400:
        name = answer.get("__type", "AmazonDynamoDBException").rpartition("#")[2]
        raise scope.TaskError(f"DynamoDB.{name}", answer.get("message") or answer.get("Message", ""))
    return answer


def _request(action, **fields):
    status, _, body = send(action, json.dumps(fields))
    if status >= 400:
        raise ValueError(f"AWS::DynamoDB::Table: {action} failed: {body.decode()}")


def _create_table(create):
    def wrapper(logical_id, properties, stack_name):
        name, attributes = create(logical_id, properties, stack_name)
        fields = {field: properties[field] for field in _TABLE_FIELDS if field in properties}
        try:
            _request("CreateTable", TableName=name, **_as_api(fields))
        except ValueError:
            dynamodb._tables.pop(name, None)
            raise
        _set_time_to_live(name, properties)
        return name, attributes
    return wrapper


def _as_api(value):
    """Turns numbers, which CloudFormation passes as strings, into numbers for the API."""
    if isinstance(value, dict):
        return {key: int(item) if key.endswith("CapacityUnits") else _as_api(item) for key, item in value.items()}
    return [_as_api(item) for item in value] if isinstance(value, list) else value


def _set_time_to_live(name, properties):
    wanted = properties.get("TimeToLiveSpecification")
    if wanted and str(wanted.get("Enabled")).lower() == "true":
        _request("UpdateTimeToLive", TableName=name, TimeToLiveSpecification={
            "AttributeName": wanted["AttributeName"], "Enabled": True})


def _update_table(update):
    """Creates and deletes the indexes of a table one at a time, as AWS does."""
    def wrapper(physical_id, old, new, stack_name, *more, **named):
        result = update(physical_id, old, new, stack_name, *more, **named)
        before, after = _indexes(old), _indexes(new)
        changes = [{"Delete": {"IndexName": name}} for name in before if name not in after]
        changes += [{"Create": _as_api(index)} for name, index in after.items() if name not in before]
        for change in changes:
            _request("UpdateTable", TableName=physical_id, GlobalSecondaryIndexUpdates=[change],
                     AttributeDefinitions=new["AttributeDefinitions"])
        return result
    return wrapper


def _indexes(properties):
    return {index["IndexName"]: index for index in properties.get("GlobalSecondaryIndexes", [])}


def _delete_table(delete):
    def wrapper(physical_id, properties):
        delete(physical_id, properties)
        if send("DescribeTable", json.dumps({"TableName": physical_id}))[0] == 200:
            _request("DeleteTable", TableName=physical_id)
    return wrapper


def apply():
    dynamodb.handle_request = _handle_request
    sfn._invoke_dynamodb = _invoke_from_state
    handlers = provisioners._RESOURCE_HANDLERS["AWS::DynamoDB::Table"]
    handlers["create"] = _create_table(handlers["create"])
    handlers["update"] = _update_table(handlers["update"])
    handlers["delete"] = _delete_table(handlers["delete"])
