"""Tasks that wait for a token (.waitForTaskToken).

AWS: the call itself may fail the state: an error of the function ends it with that error's name.
AWS: every attempt has a token of its own; after the attempt has ended its token is refused
  with TaskTimedOut. HeartbeatSeconds bounds the time between heartbeats.
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-to-resource.html#connect-wait-token
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskSuccess.html
ministack 1.5.33: swallows the function's error and waits on, keeps one token for all
  attempts, answers a stale token with TaskDoesNotExist, ignores HeartbeatSeconds.
"""
import json
import threading
import time

from ministack.services import stepfunctions as sfn

from . import scope

_ended = set()
# An accepted SendTask* must win over a timeout of the same moment, and the other way round.
_lock = threading.Lock()


def _renewing_token(apply_fields):
    """Give retried attempts a new token before their arguments are made."""
    def wrapper(state, data, context=None):
        if context and ".waitForTaskToken" in state.get("Resource", "") and context.get("State", {}).get("RetryCount"):
            context["Task"] = {"Token": sfn.new_uuid()}
        return apply_fields(state, data, context)
    return wrapper


def _refusing_ended(send):
    def wrapper(data):
        with _lock:
            if data.get("taskToken") in _ended:
                return sfn.error_response_json(
                    "TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'", 400)
            return send(data)
    return wrapper


def _invoke_with_callback(resource, data, token, state):
    info = sfn._task_tokens[token] = {"event": threading.Event(), "result": None, "error": None, "heartbeat": None}
    failures = []

    def call():
        try:
            sfn._invoke_resource(resource.replace(".waitForTaskToken", ""), data)
        except scope.TaskError as error:
            failures.append(error)
        except Exception as error:  # an unforeseen failure of the call fails the task
            failures.append(scope.TaskError("States.TaskFailed", str(error)))

    scope.in_thread(call)
    failure = None
    try:
        _wait(info, failures, state)
    except scope.TaskError as error:
        failure = error
    with _lock:
        sfn._task_tokens.pop(token, None)
        _ended.add(token)
        answered = info["event"].is_set()
    scope.check()
    if failure and not answered:
        raise failure
    return _outcome(info)


def _wait(info, failures, state):
    """Return when the token was answered; raise when the attempt ends without."""
    limit, beat = state.get("TimeoutSeconds"), state.get("HeartbeatSeconds")
    began = last_beat = time.monotonic()
    seen = None
    while not info["event"].wait(0.02):
        scope.check()
        if failures:
            raise failures[0]
        now = time.monotonic()
        if info["heartbeat"] != seen:
            seen, last_beat = info["heartbeat"], now
        if beat and now - last_beat >= beat:
            raise scope.TaskError("States.HeartbeatTimeout", "")
        if limit and now - began >= limit:
            raise scope.TaskError("States.Timeout", "")


def _outcome(info):
    if info["error"]:
        raise scope.TaskError(info["error"].get("Error", "TaskFailed"), info["error"].get("Cause", ""))
    try:
        return json.loads(info["result"])
    except (TypeError, ValueError):
        return info["result"]


def apply():
    sfn._invoke_with_callback = _invoke_with_callback
    for name in ("_apply_jsonata_arguments", "_apply_parameters"):
        setattr(sfn, name, _renewing_token(getattr(sfn, name)))
    for name in ("_send_task_success", "_send_task_failure", "_send_task_heartbeat"):
        setattr(sfn, name, _refusing_ended(getattr(sfn, name)))
