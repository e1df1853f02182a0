"""Task states.

AWS: each attempt of a Task evaluates its arguments and time limits again, and has its own token if it waits for one.
  TimeoutSeconds and HeartbeatSeconds may be expressions, or come from a path. A task that exceeds either fails with
  States.Timeout (recorded: test_heartbeat_timeout, 2024-04-18), and its work is cancelled.
  https://docs.aws.amazon.com/step-functions/latest/dg/state-task.html
AWS: a result of more than 256 KiB fails the task with States.DataLimitExceeded (recorded:
  test_task_lambda_data_limit_exceeded_on_large_utf8_response, 2024-03-21).
"""
import base64
import os

from ministack.services import stepfunctions as sfn

from .. import callbacks, scope, timeouts
from . import attempts, calls
from .visit import is_too_large, too_large

_LIMITS = {"TimeoutSeconds": "timeoutInSeconds", "HeartbeatSeconds": "heartbeatInSeconds"}


def run(visit):
    visit.context["State"]["RetryCount"] = 0
    return attempts.run(visit, lambda: visit.finished(_attempt(visit)))


def _attempt(visit):
    resource = visit.state.get("Resource", "")
    if ".waitForTaskToken" in resource:
        visit.context["Task"] = {"Token": _new_token()}
    arguments = _arguments(visit)
    limits = {name: value for name, value in ((name, _limit(visit, name)) for name in _LIMITS) if value is not None}
    call = calls.of(visit, resource, arguments)
    call.scheduled({_LIMITS[name]: value for name, value in limits.items()}, _credentials(visit))
    try:
        result = _invoke(visit, call, resource, arguments, limits)
        if is_too_large(result):
            raise too_large(call.name)
    except scope.Stopped:
        raise
    except scope.TaskError as error:
        call.failed(error)
        raise
    call.succeeded(result)
    return result


def _arguments(visit):
    if visit.jsonata:
        return visit.template(visit.state["Arguments"], "Arguments") if "Arguments" in visit.state else visit.input
    effective = visit.selected("InputPath", visit.input)
    return visit.payload(visit.state["Parameters"], effective) if "Parameters" in visit.state else effective


def _credentials(visit):
    given = visit.state.get("Credentials")
    if not given:
        return None
    return visit.template(given, "Credentials") if visit.jsonata else visit.payload(given, visit.input)


def _limit(visit, name):
    """Returns a time limit of an attempt, or None if it has none."""
    if f"{name}Path" in visit.state:
        return visit.reference(visit.state[f"{name}Path"], visit.input)
    if isinstance(visit.state.get(name), str):
        return visit.field(name, "number")
    return visit.state.get(name)


def _invoke(visit, call, resource, arguments, limits):
    if ":activity:" in resource:
        return callbacks.wait_for_worker(call, arguments, limits)
    if ".waitForTaskToken" in resource:
        return callbacks.invoke(resource, arguments, visit.context["Task"]["Token"], limits)
    if "TimeoutSeconds" in limits:
        return timeouts.invoke(resource, arguments, limits["TimeoutSeconds"])
    return sfn._invoke_resource(resource, arguments)


def _new_token():
    # As long as a token of AWS, because Lockstep stores tokens in items and sends them in requests.
    return "AQC" + base64.b64encode(os.urandom(540)).decode()
