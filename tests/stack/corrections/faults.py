"""Faults on order: what may happen on AWS at any time, and what tests must be able to make happen.

admin.py takes the orders. Not a correction: nothing happens until it is asked for.
"""
import copy
import json
import os
import re
import threading

from ministack import app
from ministack.services import eventbridge, lambda_svc

from . import agent_orders, dynamodb, lambdas, rules

_lock = threading.Lock()
_kills = []  # {"function", "after", "mentioning"}
_failures = []  # {"function", "times", "with", "mentioning"}
_muted = []  # texts: AWS's events that mention one of them are dropped
_fired = []  # what has happened, oldest first
_stock_dispatch = eventbridge._dispatch_event
_stock_invoke = lambda_svc._invoke
_AWS_EVENTS = ("aws.ecs", "aws.states")
_WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")
_REASONS = ("throttle", "service")


class Refused(Exception):
    """The order makes no sense; the text says why."""


def status():
    ordered, struck = agent_orders.status()
    with _lock:
        return copy.deepcopy({"kill": _kills, "fail": _failures, "muted": _muted, "agent": ordered,
                              "fired": _fired + struck})


def clear():
    with _lock:
        for waiting in (_kills, _failures, _muted, _fired):
            waiting.clear()
    agent_orders.clear_faults()


def order(request):
    mentioning = str(request.get("mentioning", ""))
    if "kill" in request:
        if not app.AUTH or os.environ.get("AWS_ENDPOINT_URL_DYNAMODB") != os.environ.get("AWS_ENDPOINT_URL"):
            raise Refused("kill needs a stack that was started with `up --table-iam`")
        fault = {"function": _function(request["kill"]), "after": request.get("after", "TransactWriteItems")}
        with _lock:
            _kills.append({**fault, "mentioning": mentioning})
    elif "fail" in request:
        times, reason = int(request.get("times", 1)), request.get("with", "throttle")
        if reason not in _REASONS or times < 1:
            raise Refused(f"fail needs times of at least 1, and with one of {', '.join(_REASONS)}")
        fault = {"function": _function(request["fail"]), "times": times, "with": reason}
        with _lock:
            _failures.append({**fault, "mentioning": mentioning})
    elif request.get("events") == "off":
        with _lock:
            _muted.append(mentioning)
    elif request.get("events") == "on":
        with _lock:
            _muted[:] = [text for text in _muted if mentioning not in ("", text)]
    elif "fire" in request:
        if not rules.fire(request["fire"]):
            raise Refused(f"no rule with a rate is named {request['fire']} or has it as a target")
    elif "agent" in request or "protection" in request:
        agent_orders.order(request)
    else:
        raise Refused('give one of "kill", "fail", "events": "on" or "off", "fire", "agent", "protection"')


def _function(reference):
    name = str(reference).rpartition(":function:")[2].partition(":")[0]
    if name not in {key[-1] for key in lambda_svc._functions._data}:
        raise Refused(f"no function is named {name}")
    return name


def _kill_after_commit(action, headers, body, status):
    """Kill the environment before its request is answered."""
    if not _kills or status != 200:
        return
    key = re.search(r"Credential=([^/]+)/", headers.get("authorization", ""))
    worker = lambdas.environment_of(key.group(1)) if key else None
    if not worker:
        return
    with _lock:
        hit = next((fault for fault in _kills if fault["function"] == worker.func_name
                    and (fault["after"] == action or fault["after"] == "write" and action in _WRITES)
                    and fault["mentioning"].encode() in body), None)
        if not hit:
            return
        _kills.remove(hit)
        _fired.append({"fault": "kill", **hit})
    worker._proc.kill()


def _take_failure(name, event, reasons=_REASONS):
    if not _failures:
        return None
    text = json.dumps(event)
    with _lock:
        hit = next((fault for fault in _failures if fault["function"] == name and fault["with"] in reasons
                    and fault["mentioning"] in text), None)
        if not hit:
            return None
        hit["times"] -= 1
        if not hit["times"]:
            _failures.remove(hit)
        _fired.append({"fault": "fail", **hit})
        return hit["with"]


def _fail_invocation(name, event):
    reason = _take_failure(name, event)
    if reason == "throttle":
        return lambda_svc._throttle_response("ReservedFunctionConcurrentInvocationLimitExceeded", "Rate Exceeded.")
    if reason == "service":
        return {"body": {"__type": "ServiceException", "message": "Service error."}, "error": True, "log": ""}
    return None


async def _invoke(name, event, headers, *more, **named):
    asynchronous = headers.get("x-amz-invocation-type") in ("Event", "DryRun")
    if not asynchronous and _take_failure(name, event, ("service",)):
        body = json.dumps({"Type": "Service", "message": "Service error."}).encode()
        return 500, {"Content-Type": "application/json", "x-amzn-errortype": "ServiceException"}, body
    return await _stock_invoke(name, event, headers, *more, **named)


def _dispatch_event(event, view=None):
    if event.get("Source") in _AWS_EVENTS:
        with _lock:
            muted = next((text for text in _muted if text in event["Detail"]), None)
            if muted is not None:
                _fired.append({"fault": "events", "dropped": event["DetailType"], "resources": event["Resources"],
                               "mentioning": muted})
        if muted is not None:
            return
    _stock_dispatch(event, view)


def apply():
    dynamodb.after_request.append(_kill_after_commit)
    lambdas.intercept.append(_fail_invocation)
    lambda_svc._invoke = _invoke
    eventbridge._dispatch_event = _dispatch_event
