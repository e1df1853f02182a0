"""Serves the requests of tests to the emulator itself: /_lockstack/faults, /_lockstack/agent and /_lockstack/executions.

tests/stack/README.md describes the requests.
"""
import json
import urllib.parse

from ministack import app

from . import agent, agent_hosts, agent_orders, dynamodb, faults, faults_invoke, habits, past

_REFUSALS = (faults.Refused, faults_invoke.Refused, habits.Refused, agent_orders.Refused, past.Refused, dynamodb.Elsewhere,
             ValueError, TypeError, AttributeError, KeyError)


def _faults(method, request, _):
    if method == "POST":
        faults.order(request)
    elif method == "DELETE":
        faults.clear()
    return faults.status()


def _agent(method, request, query):
    task = query.get("task", [None])[0]
    if method == "POST":
        agent_orders.settle(request)
    elif method == "DELETE":
        agent_orders.clear(task)
    return agent_orders.journal(task)


def _agent_task(method, request, _):
    if method != "POST":
        raise agent_orders.Refused("only POST is allowed; StopTask ends a task")
    return agent_hosts.start(request)


def _executions(method, request, _):
    if method != "POST":
        raise past.Refused("only POST is allowed; executions cannot be removed")
    return past.put(request)


_ANSWERS = {"/_lockstack/faults": _faults, "/_lockstack/agent": _agent, "/_lockstack/agent/task": _agent_task,
            "/_lockstack/executions": _executions}


def _serving_orders(serve):
    async def wrapper(scope, receive, send):
        if scope["type"] != "http" or scope["path"] not in _ANSWERS:
            return await serve(scope, receive, send)
        text = await agent.read(receive)
        await agent.respond(send, *_answer(scope, text))
    return wrapper


def _answer(scope, text):
    if scope["method"] not in ("GET", "POST", "DELETE"):
        return 405, {"message": "GET, POST or DELETE"}
    query = urllib.parse.parse_qs(scope.get("query_string", b"").decode())
    try:
        return 200, _ANSWERS[scope["path"]](scope["method"], json.loads(text or b"{}"), query)
    except _REFUSALS as problem:
        return 400, {"message": str(problem)}


def apply():
    app.app = _serving_orders(app.app)
