"""Nested executions (startExecution, .sync and .sync:2).

AWS: the result of a state that waits is the child's description in PascalCase, with times in milliseconds.
  For .sync:2, Input and Output are JSON values. If the child does not succeed, the state fails with
  States.TaskFailed, and Cause is the description as JSON. In this description Input is text for .sync:2, too, Error and
  Cause are the child's own, and a child that timed out has neither.
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-stepfunctions.html
  https://github.com/floci-io/floci (AslExecutorNestedStartExecutionTest and AslExecutorNestedSyncFailureTest: recorded
  on AWS)
AWS: a refused StartExecution fails the state with `StepFunctions.` and the name of the exception. An exception that
  the API does not declare has the general name of the service: StepFunctions.AWSStepFunctionsException.
AWS: a state that stops waiting, because it timed out, was aborted or its branch was cancelled, stops the child. The
  stop has a cause that names the parent, and no error (AslExecutorNestedSyncTimeoutTest: recorded on AWS).
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-to-resource.html#connect-sync
AWS: input and output of a child must not exceed 256 KiB together, since they are the result of the state.
ministack 1.5.33: fails with the child's own error name, leaves the child running, and has other names for
  refusals.
"""
import json
import threading
import uuid

from ministack.services import stepfunctions as sfn

from . import executions, habits, machine_roles, redrive, results, scope
from .states import calls
from .states.trail import compact

_TIMES = ("StartDate", "StopDate")
_PARSED = ("Input", "Output")


def _start(data):
    """Starts the child of a state, and returns the answer of StartExecution."""
    request = sfn._nested_start_execution_request(data)
    if not isinstance(data.get("Input", ""), str):
        # A null is an empty input (recorded: test_start_execution_sync, 2023-07-05).
        request["input"] = "{}" if data["Input"] is None else compact(data["Input"])
    denied = machine_roles.refusal("states:StartExecution", request["stateMachineArn"])
    if denied:
        raise _refused("AccessDeniedException", denied)
    answer = _answer(sfn._start_execution(request))
    lost = habits.find("start-answer-lost", data)
    if lost:
        habits.note(lost, resources=[answer["executionArn"]])
        scope.pause(float(lost["seconds"]))
        answer = _answer(sfn._start_execution(request))
    return sfn._executions[answer["executionArn"]]


def _answer(response):
    status, _, body = response
    answer = json.loads(body)
    if status >= 400:
        raise _refused(answer.get("__type", "").split("#")[-1], answer.get("message", ""))
    return answer


def _refused(code, message):
    name = code if code.endswith("Exception") else f"{code}Exception"
    if code == "AccessDeniedException":  # the API of Step Functions declares no such exception
        name = "AWSStepFunctionsException"
    return scope.TaskError(f"StepFunctions.{name}", (
        f"{message} (Service: AWSStepFunctions; Status Code: 400; Error Code: {code}; "
        f"Request ID: {uuid.uuid4()}; Proxy: null)"))


def _nested(_, data):
    return _started(_start(data))


def _started(child):
    return {"ExecutionArn": child["executionArn"], "StartDate": sfn._iso_to_epoch_ms(child["startDate"])}


def _nested_sync(resource, data):
    child = _start(data)
    calls.submitted(results.with_metadata(_started(child), "states"))
    arn = child["executionArn"]
    try:
        machine_roles.see_end_of(arn)
        _wait(child)
    except scope.Stopped:
        if not scope.abandoned() and not machine_roles.refusal("states:StopExecution", arn):
            sfn._stop_execution({"executionArn": arn, "cause": executions.stopping_cause()})
        raise
    description = _describe(arn)
    if description["Status"] != "SUCCEEDED":
        raise scope.TaskError("States.TaskFailed", compact(description))
    if resource.endswith(":2"):
        description.update({name: json.loads(description[name]) for name in _PARSED})
    return description


def _wait(child):
    while child["status"] == "RUNNING":
        running = executions.running(child["executionArn"])
        if not running:  # the child is about to begin or to end
            scope.pause(0.03)
            continue
        ended = threading.Event()
        with running.telling(ended.set), scope.telling(ended.set):
            ended.wait()
        scope.check()
        scope.pause(0.001)


def _describe(arn):
    """Returns the current description of an execution, with the names of a state's result."""
    described = json.loads(redrive.describe_execution({"executionArn": arn})[2])
    reply = {name[:1].upper() + name[1:]: value for name, value in described.items() if value is not None}
    reply.update({name: sfn._iso_to_epoch_ms(reply[name]) for name in _TIMES})
    if "RedriveDate" in reply:
        reply["RedriveDate"] = int(reply["RedriveDate"] * 1000)
    for details in ("InputDetails", "OutputDetails"):
        if details in reply:
            reply[details] = {"Included": True}
    return dict(sorted(reply.items()))


def apply():
    sfn._invoke_nested_start_execution = _nested
    sfn._invoke_nested_start_execution_sync = _nested_sync
