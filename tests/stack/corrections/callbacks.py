"""Tasks that wait for a token (.waitForTaskToken), and activities.

AWS: the call itself may fail the state: an error of the function fails the state with the name of that error.
AWS: every attempt has its own token of up to 2048 characters. When the attempt or its execution has ended, a call with the
  token fails with TaskTimedOut. A call with an unknown token fails with InvalidToken (recorded:
  test_sfn_send_task_outcome_with_no_such_token, 2025-11-06). HeartbeatSeconds is the longest time between heartbeats: a task
  that exceeds it fails with States.Timeout (recorded: test_heartbeat_timeout, 2024-04-18). A failure that is
  reported without an error has no error (recorded: test_sqs_failure_in_wait_for_task_tok_no_error_field, 2024-04-29).
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-to-resource.html#connect-wait-token
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskSuccess.html
ministack 1.5.33: ignores the function's error and continues to wait, has one token of 36 characters
  for all attempts, answers an old token with TaskDoesNotExist, and ignores HeartbeatSeconds.
"""
import asyncio
import json
import threading
import time

from ministack.core.responses import new_uuid
from ministack.services import stepfunctions as sfn

from . import scope
from .states import calls
from .states.attempts import TIMEOUT
from .states.trail import compact

_ended = set()  # hashes of tokens, because there are many long tokens
# If SendTask* and a timeout come at the same moment, exactly one of them takes effect.
_lock = threading.Lock()
_POLL_SECONDS = 60  # the longest poll of GetActivityTask


def _refusing_ended(send):
    def wrapper(data):
        with _lock:
            token = data.get("taskToken")
            info = sfn._task_tokens.get(token) or {}
            owner = info.get("scope")
            if hash(token) in _ended or (owner and owner.cancelled):
                return sfn.error_response_json(
                    "TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'", 400)
            if not info:
                return sfn.error_response_json("InvalidToken", "Invalid Token: 'Invalid token'", 400)
            if "output" in data and not _is_json(data["output"]):
                return sfn.error_response_json("InvalidOutput", "Invalid Output: 'Provided output is not valid JSON'", 400)
            answer = send(data)
            if info["error"] is not None:
                info["error"] = {"Error": data.get("error"), "Cause": data.get("cause")}
            info["event"].set()
            return answer
    return wrapper


def _is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def invoke(resource, data, token, limits):
    """Makes the call, waits for the report with its token, and returns the reported output."""
    info, failures = _expect(token), []
    attempt = scope.Scope(scope.current())

    def call():
        scope.enter(attempt)
        try:
            calls.submitted(sfn._invoke_resource(resource.replace(".waitForTaskToken", ""), data))
        except scope.TaskError as error:
            failures.append(error)
        except Exception as error:  # any other failure of the call fails the task, too
            failures.append(scope.TaskError("States.TaskFailed", str(error)))
        if failures:
            info["event"].set()

    scope.in_thread(call)
    try:
        return _outcome(token, info, failures, limits)
    finally:
        attempt.cancel()
        attempt.close()


def wait_for_worker(call, data, limits):
    """Offers the task of an activity, waits for the report of a worker, and returns the reported output."""
    if call.resource not in sfn._activities:
        raise scope.TaskError("States.Runtime", f"The activity {call.resource} does not exist.")
    token = new_uuid()
    info = _expect(token)
    offered = {"taskToken": token, "input": compact(data), "call": call}
    sfn._activity_tasks[call.resource].append(offered)
    try:
        return _outcome(token, info, [], limits)
    finally:
        if offered in sfn._activity_tasks[call.resource]:
            sfn._activity_tasks[call.resource].remove(offered)


async def _get_activity_task(data):
    arn = data.get("activityArn")
    if arn not in sfn._activities:
        return sfn.error_response_json("ActivityDoesNotExist", f"Activity Does Not Exist: '{arn}'", 400)
    end = time.monotonic() + _POLL_SECONDS
    while time.monotonic() < end:
        if sfn._activity_tasks.get(arn):
            task = sfn._activity_tasks[arn].pop(0)
            task["call"].started(data.get("workerName"))
            return sfn.json_response({"taskToken": task["taskToken"], "input": task["input"]})
        await asyncio.sleep(0.05)
    return sfn.json_response({})


def _expect(token):
    info = sfn._task_tokens[token] = {"event": threading.Event(), "result": None, "error": None, "heartbeat": None,
                                     "scope": scope.current()}
    return info


def _outcome(token, info, failures, limits):
    """Returns the reported output. Raises TaskError for a reported failure, or if the attempt ends without a report."""
    failure = None
    try:
        with scope.telling(info["event"].set):
            _wait(info, failures, limits)
    except scope.TaskError as error:
        failure = error
    with _lock:
        sfn._task_tokens.pop(token, None)
        _ended.add(hash(token))
        answered = _answered(info)
    scope.check()
    if failure and not answered:
        raise failure
    if info["error"]:
        raise scope.TaskError(info["error"]["Error"], info["error"]["Cause"])
    try:
        return json.loads(info["result"])
    except (TypeError, ValueError):
        return info["result"]


def _wait(info, failures, limits):
    """Waits for a report with the token. Raises TaskError if the attempt ends without one."""
    limit, beat = limits.get("TimeoutSeconds"), limits.get("HeartbeatSeconds")
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
        if (beat and now - last_beat >= beat) or (limit and now - began >= limit):
            raise scope.TaskError(TIMEOUT, "")


def _answered(info):
    return info["result"] is not None or info["error"] is not None


def apply():
    sfn._get_activity_task = _get_activity_task
    for name in ("_send_task_success", "_send_task_failure", "_send_task_heartbeat"):
        setattr(sfn, name, _refusing_ended(getattr(sfn, name)))
