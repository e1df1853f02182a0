"""Unpleasant habits of AWS, which tests switch on: each lasts until it is switched off.

admin.py takes the orders with those of faults.py: {"habit": NAME, ..., "mentioning": TEXT}, and the same
with "off": true. Not a correction: nothing happens until it is asked for.
AWS: a task of network mode awsvpc is DEPROVISIONING while its network interface is detached.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-lifecycle-explanation.html
AWS: DescribeExecution and the List and Describe calls of ECS are eventually consistent.
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html
AWS: Step Functions tries to stop what a .sync state waits for; that may fail, or be missing.
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-to-resource.html#connect-sync
AWS: the answer of a call may be lost, and a caller that retries it sends the same request. That Step Functions does
  so for StartExecution is assumed.
  https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
AWS: RunTask may start a task and answer with ServerException: an error of a server rules nothing out.
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html#API_RunTask_Errors
AWS: RunTask may find no room for a task, and answer with the reason.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/api_failures_messages.html
AWS: a DynamoDB request fails with InternalServerError or ThrottlingException, or is not answered.
  https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""
import asyncio
import json
import threading
import time

from ministack.services import ecs
from ministack.services import stepfunctions as sfn

from . import dynamodb, lambdas

# What each habit needs, and may have, beside the text that it is narrowed to.
_NEEDS = {"stopped-late": {"seconds"}, "describe-lags": {"seconds"}, "sync-timeout-stops-nothing": set(),
          "slow": {"seconds", "action"}, "table-away": {"seconds", "with"}, "start-answer-lost": {"seconds"},
          "run-task-answer-lost": {"error"}, "run-task-places-nothing": {"reason"}}
_MAY = {"table-away": {"function"}, "run-task-answer-lost": {"starts"}}
_ALLOWED = {"habit", "mentioning", "off"}
_TABLE_ANSWERS = {
    "hang": (500, "InternalServerError", "The request hung until the table was back."),
    "fail": (500, "InternalServerError", "Internal server error."),
    "throttle": (400, "ThrottlingException", "Throughput exceeds the current capacity of your table or index.")}
_LOOK_SECONDS = 0.05

_lock = threading.Lock()
_orders = []
_fired = []


class Refused(Exception):
    """The order cannot be carried out; the text names the field."""


def order(request):
    name = str(request["habit"])
    if name not in _NEEDS:
        raise Refused(f"habit is one of {', '.join(_NEEDS)}")
    needs, optional = _NEEDS[name], _MAY.get(name, set())
    scope = {"habit": name, "mentioning": str(request.get("mentioning", ""))}
    if request.get("off"):
        with _lock:
            _orders[:] = [one for one in _orders if not scope.items() <= one.items()]
        return
    if set(request) - _ALLOWED - optional != needs:
        raise Refused(f"{name} needs {' and '.join(sorted(needs)) or 'nothing'} beside mentioning")
    if "seconds" in needs and not float(request["seconds"]) > 0:
        raise Refused("seconds is a number above 0")
    if "with" in needs and request["with"] not in _TABLE_ANSWERS:
        raise Refused(f"with is one of {', '.join(_TABLE_ANSWERS)}")
    if name == "table-away":
        dynamodb.must_pass_here("table-away")
        scope["until"] = time.monotonic() + float(request["seconds"])
    more = {field: request[field] for field in needs | optional if field in request}
    with _lock:
        _orders.append({**scope, **more})


def status():
    """(what is switched on, what has happened of it)"""
    with _lock:
        return [dict(one) for one in _orders], [dict(one) for one in _fired]


def clear():
    with _lock:
        _orders.clear()
        _fired.clear()


def on(name):
    """Whether the habit is switched on for anything at all."""
    return any(one["habit"] == name for one in list(_orders))


def find(name, described, **fields):
    """The order of this habit, if one covers what is described, a value that JSON can show or bytes of JSON."""
    if not on(name):
        return None
    text = described.decode(errors="replace") if isinstance(described, bytes) else json.dumps(described, default=str)
    with _lock:
        return next((one for one in _orders if one["habit"] == name and one["mentioning"] in text
                     and all(one.get(field) in (None, value) for field, value in fields.items())), None)


def seconds(name, described):
    found = find(name, described)
    return float(found["seconds"]) if found else 0


def note(found, **more):
    """Record that a habit showed."""
    with _lock:
        _fired.append({"fault": found["habit"], "mentioning": found["mentioning"], **more})


async def _table_away(action, headers, body):
    """The answer to a request while the table is away; None when it is there."""
    function = lambdas.function_of(headers)
    found = find("table-away", body, function=function)
    if not found or time.monotonic() >= found["until"]:
        return None
    note(found, function=function or "", action=action)
    while found["with"] == "hang" and time.monotonic() < found["until"] and found in _orders:
        await asyncio.sleep(_LOOK_SECONDS)
    status_code, name, message = _TABLE_ANSWERS[found["with"]]
    answer = {"__type": f"com.amazonaws.dynamodb.v20120810#{name}", "message": message}
    return status_code, {"Content-Type": "application/x-amz-json-1.0"}, json.dumps(answer).encode()


def _slowly(handle_request):
    """Hold the answer back when request or answer mention the text: an execution's input, a task's group."""
    async def wrapper(method, path, headers, body, query_params):
        answer = await handle_request(method, path, headers, body, query_params)
        action = headers.get("x-amz-target", "").rpartition(".")[2]
        # Calls of states have text where requests have bytes.
        shown = b"".join(part if isinstance(part, bytes) else str(part).encode() for part in (body or b"", answer[2]))
        found = find("slow", shown, action=action)
        if found:
            note(found, action=action)
            await asyncio.sleep(float(found["seconds"]))
        return answer
    return wrapper


def apply():
    dynamodb.before_request.append(_table_away)
    ecs.handle_request = _slowly(ecs.handle_request)
    sfn.handle_request = _slowly(sfn.handle_request)
