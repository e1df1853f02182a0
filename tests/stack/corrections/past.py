"""Adds past executions, closed or still running, to a state machine: /_lockstack/executions.

Tests of programs that read the executions of weeks cannot wait for weeks. Past executions have no history and do nothing.
tests/stack/README.md describes the request.
"""
from ministack.services import stepfunctions as sfn

_STATUSES = {"SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", "RUNNING"}


class Refused(Exception):
    """The order is invalid. The text says why."""


def put(order):
    """Adds the executions of an order: `stateMachineArn`, and `executions` as lists of name, start, stop and status."""
    machine = order["stateMachineArn"]
    if machine not in sfn._state_machines:
        raise Refused(f"there is no state machine {machine}")
    prefix = machine.replace(":stateMachine:", ":execution:")
    for name, start, stop, status in order["executions"]:
        if status not in _STATUSES or (stop is None) != (status == "RUNNING"):
            raise Refused(f"execution {name}: status is {status} and stop is {stop}, but only a RUNNING execution has no stop")
        arn = f"{prefix}:{name}"
        sfn._executions[arn] = {
            "executionArn": arn, "stateMachineArn": machine, "name": name, "status": status,
            "startDate": start, "stopDate": stop, "input": "{}", "output": None, "events": []}
    return {"executions": len(sfn._executions)}
