"""Runs the states of an execution, a branch or an item, and adds their events to the history.

AWS: each state has an event for its entry and one for its exit, which has the output and the assigned variables. The last event
  is ExecutionSucceeded, or ExecutionFailed with the error and the cause if the failure has them.
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_GetExecutionHistory.html
"""
import json
import logging

from ministack.services import stepfunctions as sfn

from .. import redrive, scope
from . import choices, expressions, maps, parallel, simple, tasks
from .trail import Trail, compact, failed, whole
from .visit import RUNTIME, Line, Visit, is_too_large, too_large

_log = logging.getLogger("lockstack.states")
_KINDS = {"Pass": simple.run_pass, "Succeed": simple.run_succeed, "Fail": simple.run_fail, "Wait": simple.run_wait,
          "Choice": choices.run, "Task": tasks.run, "Map": maps.run, "Parallel": parallel.run}


def line_of(execution, last=0):
    """Returns the definition of an execution, and the line of its own states."""
    machine = sfn._state_machines[execution["stateMachineArn"]]
    definition = json.loads(machine["definition"])
    context = {
        "Execution": {"Id": execution["executionArn"], "Input": json.loads(execution["input"]),
                      "StartTime": execution["startDate"], "Name": execution["name"], "RoleArn": machine["roleArn"],
                      "RedriveCount": execution.get("redriveCount", 0)},
        "StateMachine": {"Id": execution["stateMachineArn"], "Name": machine["name"]}}
    return definition, Line(Trail(execution, last), context, {}, definition.get("QueryLanguage", "JSONPath"))


def run(execution):
    """Runs an execution from its first state to its end."""
    definition, line = line_of(execution)
    finish(line, lambda: run_states(line, definition["States"], definition["StartAt"], json.loads(execution["input"])))


def finish(line, work):
    """Runs the states of an execution, and records its end."""
    execution = line.trail.execution
    try:
        output = compact(work())
    except scope.TaskError as error:
        fail(line, error)
        return
    except Exception as problem:  # a fault of this interpreter must end the execution, too
        _log.exception("execution %s", execution["executionArn"])
        fail(line, scope.TaskError(RUNTIME, str(problem)))
        return
    if execution["status"] == "RUNNING":
        line.trail.add("ExecutionSucceeded", whole("output", output))
        execution.update(output=output, stopDate=sfn.now_iso(), status="SUCCEEDED")
        sfn._emit_execution_status_event(execution)


def fail(line, error):
    execution = line.trail.execution
    if execution["status"] != "RUNNING" or isinstance(error, scope.Stopped):
        return
    line.trail.add("ExecutionFailed", failed(error))
    # Set before the status, so that a reader who sees the status sees these fields, too.
    execution.update(error=error.error, cause=error.cause, output=None, stopDate=sfn.now_iso())
    execution["status"] = "FAILED"
    sfn._emit_execution_status_event(execution)


def run_states(line, states, name, data, entered=False):
    """Runs states, and returns the output of the last one. `entered` means that a redrive continues in the first state."""
    while name:
        scope.check()
        if name not in states:
            raise scope.TaskError(RUNTIME, f"State '{name}' not found")
        visit = Visit(line, name, states[name], data)
        redrive.enter_state(visit)
        if not entered:
            visit.entered = _note(visit, "Entered", {"name": name, **whole("input", compact(data))})
        entered = False
        data, name = _KINDS[visit.kind](visit)
        if is_too_large(data):
            raise too_large(visit.name)
        line.variables.update(visit.assigned)
        _note(visit, "Exited", {"name": visit.name, **whole("output", compact(data)), **_variables(visit.assigned)})
        line.context.pop("Task", None)
    return data


def _note(visit, what, details):
    return visit.trail.add(f"{visit.kind}State{what}", details, f"state{what}EventDetails")["id"]


def _variables(assigned):
    if not assigned:
        return {}
    return {"assignedVariables": {name: compact(value) for name, value in assigned.items()},
            "assignedVariablesDetails": {"truncated": False}}


def apply():
    expressions.apply()
    maps.run_states = parallel.run_states = run_states
