"""Nested executions that are waited for (startExecution.sync and .sync:2).

AWS: a child that does not succeed fails the state with States.TaskFailed whose Cause is the
  child's description as JSON, with its Error and Cause; a parent that stops waiting stops the child.
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-stepfunctions.html
ministack 1.5.33: fails with the child's own error name and leaves the child running.
"""
import json
import threading

from ministack.services import stepfunctions as sfn

from . import executions, scope


def _nested_sync(resource, data):
    status, _, body = sfn._start_execution(sfn._nested_start_execution_request(data))
    answer = json.loads(body)
    if status >= 400:
        name = answer.get("__type", "").split("#")[-1]
        raise scope.TaskError(f"StepFunctions.{name}Exception", answer.get("message", ""))
    child = sfn._executions[answer["executionArn"]]
    try:
        _wait(child)
    except scope.Stopped:
        if not scope.abandoned():
            sfn._stop_execution({"executionArn": child["executionArn"]})
        raise
    parse = json.loads if resource.endswith(".sync:2") else str
    description = {
        "ExecutionArn": child["executionArn"], "StateMachineArn": child["stateMachineArn"], "Name": child["name"],
        "Status": child["status"], "StartDate": child["startDate"], "StopDate": child["stopDate"],
        "Input": parse(child["input"]), "InputDetails": {"Included": True},
    }
    if child["status"] == "SUCCEEDED":
        return {**description, "Output": parse(child["output"]), "OutputDetails": {"Included": True}}
    ended = {name: child[name.lower()] for name in ("Error", "Cause") if child.get(name.lower()) is not None}
    raise scope.TaskError("States.TaskFailed", json.dumps({**description, **ended}))


def _wait(child):
    while child["status"] == "RUNNING":
        running = executions.running(child["executionArn"])
        if not running:  # it is about to begin, or to end
            scope.pause(0.03)
            continue
        ended = threading.Event()
        with running.telling(ended.set), scope.telling(ended.set):
            ended.wait()
        scope.check()
        scope.pause(0.001)


def apply():
    sfn._invoke_nested_start_execution_sync = _nested_sync
