"""Executions: stopping, timing out, starting twice, failing.

AWS: StopExecution ends a Standard execution: no state of it continues, and its status stays
  ABORTED. https://docs.aws.amazon.com/step-functions/latest/apireference/API_StopExecution.html
AWS: the machine's TimeoutSeconds ends an execution as TIMED_OUT with States.Timeout.
  https://docs.aws.amazon.com/step-functions/latest/dg/statemachine-structure.html
AWS: StartExecution with the name and input of a running execution returns the same answer again. With
  another input, or once the execution is closed, it fails with ExecutionAlreadyExists.
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
AWS: StartExecution fails with InvalidName for a name that has more than 80 characters or forbidden characters.
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
AWS: DescribeExecution has `output` and `outputDetails` only if the execution succeeded, and neither
  `error` nor `cause` if it timed out. States.Timeout is only in the history.
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html
  https://github.com/floci-io/floci/issues/2733 (recorded on AWS)
ministack 1.5.33: loops and waits continue after a stop, and may change ABORTED into FAILED. The
  machine's TimeoutSeconds is ignored. A second start always fails, and any name is accepted. A failed execution
  has an output.
"""
import contextvars
import json
import re
import threading
import time

from ministack.services import stepfunctions as sfn

from . import redrive, scope
from .states import machine, trail

_FORBIDDEN_IN_NAMES = re.compile(r"""[\s<>{}\[\]?*"#%\\^|~`$&,;:/\x00-\x1f\x7f-\x9f]""")
_BEFORE_THE_FIRST_STATE = 0.15  # seconds, so that the caller gets the answer of StartExecution first, as nearly always on AWS
_scopes = {}
_stock_stop = sfn._stop_execution
_stock_start = sfn._start_execution
_stock_describe = sfn._describe_execution


def _run_execution(arn):
    time.sleep(_BEFORE_THE_FIRST_STATE)
    execution = sfn._executions.get(arn)
    if execution:
        run(arn, lambda: machine.run(execution))


def run(arn, work):
    """Runs an execution's states in a new scope."""
    # The scope has no parent, because an execution outlives the state or the event that started it.
    root = _scopes[arn] = scope.Scope()
    root.execution = arn
    token = scope.enter(root)
    timer = _start_timer(arn, root)
    try:
        work()
    finally:
        if timer:
            timer.cancel()
        root.cancel()
        scope.leave(token)
        redrive.remember(arn, root)
        trail.pack(sfn._executions[arn])
        _scopes.pop(arn, None)


def running(arn):
    """Returns the scope of a running execution, or None. The scope is cancelled when the execution ends."""
    return _scopes.get(arn)


def of_this_thread():
    """Returns the ARN of the execution that this thread works for, or None."""
    here = scope.current()
    while here and here.parent:
        here = here.parent
    return here and here.execution


def stopping_cause():
    """Returns the reason that Step Functions gives when it stops the work of this thread's .sync state."""
    return (f"The Task state in AWS Step Functions execution [{of_this_thread()}] "
            "which was managing this resource was aborted")


def _start_timer(arn, root):
    execution = sfn._executions.get(arn)
    machine = execution and sfn._state_machines.get(execution["stateMachineArn"])
    limit = json.loads(machine["definition"]).get("TimeoutSeconds") if machine else None
    if not limit:
        return None

    def expire():
        if execution["status"] != "RUNNING":
            return
        execution.update(status="TIMED_OUT", stopDate=sfn.now_iso(), error=None, cause=None)
        sfn._add_event(execution, "ExecutionTimedOut", {"executionTimedOutEventDetails": {"error": "States.Timeout"}})
        sfn._emit_execution_status_event(execution)
        root.cancel()

    timer = threading.Timer(float(limit), contextvars.copy_context().run, (expire,))
    timer.daemon = True
    timer.start()
    return timer


def stop_execution(data):
    answer = _stock_stop(data)
    execution = sfn._executions.get(data.get("executionArn"))
    root = running(data.get("executionArn"))
    if root and execution["status"] != "RUNNING":
        root.cancel()
    return answer


def describe_execution(request):
    status, headers, body = _stock_describe(request)
    described = json.loads(body)
    if described.get("status") == "SUCCEEDED" or status >= 400:
        return status, headers, body
    described.pop("output")
    described.pop("outputDetails")
    return sfn.json_response(described)


def start_execution(data):
    name = data.get("name", "valid")
    if not 1 <= len(name) <= 80 or _FORBIDDEN_IN_NAMES.search(name):
        return sfn.error_response_json("InvalidName", f"Invalid Name: '{name}'", 400)
    machine_arn = sfn._resolve_state_machine_arn(data.get("stateMachineArn", "").split("#")[0])
    if data.get("name") and machine_arn:
        machine = sfn._state_machines[machine_arn]["name"]
        arn = f"arn:aws:states:{sfn.get_region()}:{sfn.get_account_id()}:execution:{machine}:{data['name']}"
        earlier = sfn._executions.get(arn)
        if earlier and earlier["status"] == "RUNNING" and earlier["input"] == data.get("input", "{}"):
            return sfn.json_response({"executionArn": arn, "startDate": earlier["startDate"]})
    answer = _stock_start(data)
    if answer[0] < 400:
        _complete_first_event(sfn._executions[json.loads(answer[2])["executionArn"]]["events"][0])
    return answer


def _complete_first_event(event):
    event["previousEventId"] = 0
    event["executionStartedEventDetails"]["inputDetails"] = {"truncated": False}


def apply():
    sfn._run_execution = _run_execution
    sfn._stop_execution = stop_execution
    sfn._start_execution = start_execution
    sfn._scaled_sleep = lambda seconds: scope.pause(seconds * sfn._SFN_WAIT_SCALE)
