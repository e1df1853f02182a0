"""Tasks that wait for a token (.waitForTaskToken).

AWS: the call itself may fail the state: an error of the function ends it with that error's name.
AWS: every attempt has a token of its own, of up to 2048 characters; after the attempt or its
  execution has ended its token is refused with TaskTimedOut. HeartbeatSeconds bounds the time
  between heartbeats.
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-to-resource.html#connect-wait-token
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskSuccess.html
ministack 1.5.33: swallows the function's error and waits on, keeps one token of 36 characters
  for all attempts, answers a stale token with TaskDoesNotExist, ignores HeartbeatSeconds.
"""
import base64
import json
import os
import threading
import time

from ministack.services import stepfunctions as sfn

from . import scope

_ended = set()
# An accepted SendTask* must win over a timeout of the same moment, and the other way round.
_lock = threading.Lock()


def _renewing_token(apply_fields):
    """Give each attempt a new token before its arguments are made."""
    def wrapper(state, data, context=None):
        if context and ".waitForTaskToken" in state.get("Resource", ""):
            context["Task"] = {"Token": _new_token()}
        return apply_fields(state, data, context)
    return wrapper


def _new_token():
    # As long as those of AWS, since tokens are kept in items and sent in requests.
    return "AQC" + base64.b64encode(os.urandom(540)).decode()


def _refusing_ended(send):
    def wrapper(data):
        with _lock:
            token = data.get("taskToken")
            info = sfn._task_tokens.get(token) or {}
            owner = info.get("scope")
            if token in _ended or (owner and owner.cancelled):
                return sfn.error_response_json(
                    "TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'", 400)
            answer = send(data)
            if info:
                info["event"].set()
            return answer
    return wrapper


def _invoke_with_callback(resource, data, token, state):
    info = sfn._task_tokens[token] = {"event": threading.Event(), "result": None, "error": None, "heartbeat": None,
                                     "scope": scope.current()}
    failures = []
    attempt = scope.Scope(scope.current())

    def call():
        scope.enter(attempt)
        try:
            sfn._invoke_resource(resource.replace(".waitForTaskToken", ""), data)
        except scope.TaskError as error:
            failures.append(error)
        except Exception as error:  # an unforeseen failure of the call fails the task
            failures.append(scope.TaskError("States.TaskFailed", str(error)))
        if failures:
            info["event"].set()

    scope.in_thread(call)
    failure = None
    try:
        with scope.telling(info["event"].set):
            _wait(info, failures, state)
    except scope.TaskError as error:
        failure = error
    finally:
        attempt.cancel()
        attempt.close()
    with _lock:
        sfn._task_tokens.pop(token, None)
        _ended.add(token)
        answered = _answered(info)
    scope.check()
    if failure and not answered:
        raise failure
    return _outcome(info)


def _wait(info, failures, state):
    """Return when the token was answered; raise when the attempt ends without."""
    limit, beat = state.get("TimeoutSeconds"), state.get("HeartbeatSeconds")
    began = last_beat = time.monotonic()
    seen = None
    while True:
        ends = [since + seconds for since, seconds in ((last_beat, beat), (began, limit)) if seconds]
        info["event"].wait(max(min(ends) - time.monotonic(), 0) if ends else None)
        info["event"].clear()
        scope.check()
        if _answered(info):
            return
        if failures:
            raise failures[0]
        now = time.monotonic()
        if info["heartbeat"] != seen:
            seen, last_beat = info["heartbeat"], now
        if beat and now - last_beat >= beat:
            raise scope.TaskError("States.HeartbeatTimeout", "")
        if limit and now - began >= limit:
            raise scope.TaskError("States.Timeout", "")


def _answered(info):
    return info["result"] is not None or info["error"] is not None


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
