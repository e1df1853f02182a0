"""Unpleasant habits of AWS that tests switch on. A habit lasts until a test switches it off.

Not a correction: without an order, nothing happens. An order is {"habit": NAME, ..., "mentioning": TEXT}, and the same
with "off": true ends the habit. admin.py and faults.py receive the orders.
AWS: a task of network mode awsvpc is DEPROVISIONING while its network interface is detached.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-lifecycle-explanation.html
AWS: DescribeExecution and the List and Describe calls of ECS are eventually consistent.
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html
AWS: Step Functions tries to stop the work of a .sync state. This may fail, or the permission for it may be missing.
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-to-resource.html#connect-sync
AWS: the answer of a call may be lost, and then the caller sends the same request again. It is an assumption that Step
  Functions does so for StartExecution.
  https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
AWS: RunTask may start a task and then answer with ServerException.
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html#API_RunTask_Errors
AWS: RunTask may find no capacity for a task, and answer with the reason.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/api_failures_messages.html
AWS: a DynamoDB request may fail with InternalServerError or ThrottlingException, or get no answer.
  https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""
import asyncio
import json
import threading
import time

from ministack.services import ecs
from ministack.services import stepfunctions as sfn

from . import dynamodb, lambdas

# The fields that each habit needs (_NEEDS) and may have (_MAY), besides the optional `mentioning`.
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
        raise Refused(f"habit must be one of {', '.join(_NEEDS)}")
    needs, optional = _NEEDS[name], _MAY.get(name, set())
    scope = {"habit": name, "mentioning": str(request.get("mentioning", ""))}
    if request.get("off"):
        with _lock:
            _orders[:] = [one for one in _orders if not scope.items() <= one.items()]
        return
    if set(request) - _ALLOWED - optional != needs:
        raise Refused(f"{name} needs {' and '.join(sorted(needs)) or 'nothing'} beside mentioning")
    if "seconds" in needs and not float(request["seconds"]) > 0:
        raise Refused("seconds must be a number above 0")
    if "with" in needs and request["with"] not in _TABLE_ANSWERS:
        raise Refused(f"with must be one of {', '.join(_TABLE_ANSWERS)}")
    if name == "table-away":
        dynamodb.must_pass_here("table-away")
        scope["until"] = time.monotonic() + float(request["seconds"])
    more = {field: request[field] for field in needs | optional if field in request}
    with _lock:
        _orders.append({**scope, **more})


def status():
    """Returns (habits that are switched on, what they have caused)."""
    with _lock:
        return [dict(one) for one in _orders], [dict(one) for one in _fired]


def clear():
    with _lock:
        _orders.clear()
        _fired.clear()


def on(name):
    """Returns whether the habit is switched on, for any text."""
    return any(one["habit"] == name for one in list(_orders))


def find(name, described, **fields):
    """Returns the order of this habit that applies to `described`, or None. `described` is bytes of JSON, or a value that JSON can show."""
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
    """Records that a habit had an effect."""
    with _lock:
        _fired.append({"fault": found["habit"], "mentioning": found["mentioning"], **more})


async def _table_away(action, headers, body):
    """Returns the answer to a request while the table is away, or None if the table is there."""
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
    """Delays the answer if the request or the answer contains the text of the habit, such as a task's group."""
    async def wrapper(method, path, headers, body, query_params):
        answer = await handle_request(method, path, headers, body, query_params)
        action = headers.get("x-amz-target", "").rpartition(".")[2]
        # The bodies of calls by states are text, and those of requests are bytes.
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
