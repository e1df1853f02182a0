"""RedriveExecution.

AWS: an execution that failed, timed out or was aborted continues at the state that did not
  succeed, with the same input, variables and ARN. In a Parallel, only the branches that did
  not succeed run again. https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html
AWS: the context object has Execution.RedriveCount, 0 in an execution that was not redriven, and
  Execution.RedriveTime in one that was.
  https://docs.aws.amazon.com/step-functions/latest/dg/input-output-contextobject.html
AWS: DescribeExecution and the status events have redriveCount, redriveDate and redriveStatus, and
  redriveStatusReason if the status is NOT_REDRIVABLE.
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html
AWS: in an inline Map, only the items that did not succeed run again. The history continues after ExecutionRedriven.
  https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html
ministack 1.5.33: has no redrive. In this implementation, the state that runs again has no second Entered event.
"""
import asyncio
import contextvars
import copy
import json
import threading
import time

from ministack.services import eventbridge
from ministack.services import stepfunctions as sfn

from . import executions, scope
from .states import machine, trail

_points = {}  # the state in which an execution ended, by execution
_REDRIVABLE = ("FAILED", "TIMED_OUT", "ABORTED")
_CHANGE = "Step Functions Execution Status Change"
_stock_handle = sfn.handle_request
_stock_put_events = eventbridge._put_events


class Point:
    """A state, and what is needed to run it again."""

    def __init__(self, name, data, variables):
        self.name, self.input, self.variables = name, copy.deepcopy(data), copy.deepcopy(variables)
        self.branches = []  # scopes of a Parallel's branches or a Map's items


def enter_state(visit):
    """Records the state of this thread's scope."""
    here = scope.current()
    if here is None:
        return
    here.point = Point(visit.name, visit.input, visit.line.variables)
    if here.resume and here.resume.name != visit.name:
        here.resume = None


def enter_branches(scopes):
    """Records the branches or items of this thread's state. Returns for each its scope before the redrive, or None."""
    here = scope.current()
    if here.point:
        here.point.branches = scopes
    earlier, here.resume = (here.resume.branches if here.resume else []), None
    return earlier if len(earlier) == len(scopes) else [None] * len(scopes)


def begin_of(earlier, branch, line):
    """Gives a branch its result from before the redrive, or returns the (state, input) at which the branch continues."""
    if earlier is None:
        return None
    branch.done, branch.result, branch.resume = earlier.done, earlier.result, earlier.point
    if earlier.done or not earlier.point:
        return None
    line.variables = copy.deepcopy(earlier.point.variables)
    return earlier.point.name, earlier.point.input


def remember(arn, root):
    """Records the state in which an execution ended, if it can be redriven."""
    _points.pop(arn, None)
    if root.point and sfn._executions[arn]["status"] in _REDRIVABLE:
        _points[arn] = root.point


async def _redrive(request):
    arn = request.get("executionArn")
    execution = sfn._executions.get(arn)
    if not execution:
        return sfn.error_response_json("ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'", 400)
    end = time.monotonic() + 10
    while executions.running(arn) and execution["status"] != "RUNNING" and time.monotonic() < end:
        await asyncio.sleep(0.02)  # the states of the execution are still being stopped
    if execution["status"] not in _REDRIVABLE or executions.running(arn) or arn not in _points:
        return sfn.error_response_json(
            "ExecutionNotRedrivable", f"Execution is {execution['status']} and cannot be redriven", 400)
    now = time.time()
    trail.unpack(execution)
    execution.update(status="RUNNING", stopDate=None, error=None, cause=None, output=None,
                     redriveCount=execution.get("redriveCount", 0) + 1, redriveDate=now)
    sfn._add_event(execution, "ExecutionRedriven", {
        "executionRedrivenEventDetails": {"redriveCount": execution["redriveCount"]}})
    sfn._emit_execution_status_event(execution)
    work = contextvars.copy_context().run
    threading.Thread(target=work, args=(executions.run, arn, lambda: _go_on(execution)), daemon=True).start()
    return sfn.json_response({"redriveDate": now})


def _go_on(execution):
    point = _points[execution["executionArn"]]
    definition, line = machine.line_of(execution, last=len(execution["events"]))
    line.context["Execution"]["RedriveTime"] = sfn.now_iso()
    line.variables = copy.deepcopy(point.variables)
    scope.current().resume = point
    machine.finish(line, lambda: machine.run_states(line, definition["States"], point.name, point.input, entered=True))


def _described(execution):
    redrivable = execution["status"] in _REDRIVABLE
    return {"redriveCount": execution.get("redriveCount", 0), "redriveDate": execution.get("redriveDate"),
            "redriveStatus": "REDRIVABLE" if redrivable else "NOT_REDRIVABLE",
            "redriveStatusReason": (
                None if redrivable else f"Execution is {execution['status']} and cannot be redriven")}


def describe_execution(request):
    status, headers, body = executions.describe_execution(request)
    if status >= 400:
        return status, headers, body
    response = {key: value for key, value in _described(sfn._executions[request["executionArn"]]).items() if value is not None}
    return sfn.json_response({**json.loads(body), **response})


def _put_events(request, allow_aws_source=False):
    for entry in request.get("Entries", []):
        if allow_aws_source and entry.get("DetailType") == _CHANGE:
            detail = json.loads(entry["Detail"])
            detail.update(_described(sfn._executions[detail["executionArn"]]))
            detail["redriveDate"] = detail["redriveDate"] and int(detail["redriveDate"] * 1000)
            entry["Detail"] = json.dumps(detail)
    return _stock_put_events(request, allow_aws_source)


async def _handle_request(method, path, headers, body, query_params):
    if headers.get("x-amz-target", "").endswith(".RedriveExecution"):
        return await _redrive(json.loads(body))
    return await _stock_handle(method, path, headers, body, query_params)


def apply():
    sfn.handle_request = _handle_request
    sfn._describe_execution = describe_execution
    eventbridge._put_events = _put_events
