"""Faults that may happen on AWS at any time, and that tests order.

Not a correction: without an order, nothing happens. admin.py receives the orders.
"""
import copy
import json
import re
import threading

from ministack.services import eventbridge, lambda_svc

from . import agent_orders, dynamodb, faults_invoke, habits, lambdas, rules

_lock = threading.Lock()
_kills = []  # {"function", "after", "mentioning"}
_muted = []  # texts: AWS's events that mention one of them are dropped
_fired = []  # faults that have happened, oldest first
_stock_dispatch = eventbridge._dispatch_event
_AWS_EVENTS = ("aws.ecs", "aws.states")
_WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")


class Refused(Exception):
    """The order is invalid. The text says why."""


def status():
    (agent, agent_fired), (fail, failed) = agent_orders.status(), faults_invoke.status()
    habit, shown = habits.status()
    with _lock:
        return copy.deepcopy({"kill": _kills, "fail": fail, "muted": _muted, "agent": agent, "habits": habit,
                              "fired": _fired + agent_fired + failed + shown})


def clear():
    with _lock:
        for waiting in (_kills, _muted, _fired):
            waiting.clear()
    agent_orders.clear_faults()
    faults_invoke.clear()
    habits.clear()


def order(request):
    mentioning = str(request.get("mentioning", ""))
    if "kill" in request:
        dynamodb.must_pass_here("kill")
        fault = {"function": _function(request["kill"]), "after": request.get("after", "TransactWriteItems")}
        with _lock:
            _kills.append({**fault, "mentioning": mentioning})
    elif "fail" in request:
        faults_invoke.order(_function(request["fail"]), request)
    elif request.get("events") == "off":
        with _lock:
            _muted.append(mentioning)
    elif request.get("events") == "on":
        with _lock:
            _muted[:] = [text for text in _muted if mentioning not in ("", text)]
    elif "fire" in request:
        if not rules.fire(request["fire"]):
            raise Refused(f"no rule with a rate has the name or the target {request['fire']}")
    elif "agent" in request or "protection" in request:
        agent_orders.order(request)
    elif "habit" in request:
        habits.order(request)
    else:
        raise Refused('an order needs one of the fields "kill", "fail", "events" ("on" or "off"), "fire", "agent", "protection", "habit"')


def _function(reference):
    name = str(reference).rpartition(":function:")[2].partition(":")[0]
    if name not in {key[-1] for key in lambda_svc._functions._data}:
        raise Refused(f"no function has the name {name}")
    return name


def _kill_after_commit(action, headers, body, status):
    """Kills the environment of a function after its request took effect, and before the answer."""
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
    eventbridge._dispatch_event = _dispatch_event
