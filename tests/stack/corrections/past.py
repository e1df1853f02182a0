"""Executions of the past: /_lockstack/executions puts closed ones, and ones that still run, beside those that were started.

What reads executions of weeks cannot wait for them. They have no history and do nothing. See README.md.
"""
from ministack.services import stepfunctions as sfn

_STATUSES = {"SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", "RUNNING"}


class Refused(Exception):
    """The order makes no sense."""


def put(order):
    """Put the executions of an order: `stateMachineArn`, and `executions` as lists of name, start, stop and status."""
    machine = order["stateMachineArn"]
    if machine not in sfn._state_machines:
        raise Refused(f"there is no state machine {machine}")
    prefix = machine.replace(":stateMachine:", ":execution:")
    for name, start, stop, status in order["executions"]:
        if status not in _STATUSES or (stop is None) != (status == "RUNNING"):
            raise Refused(f"execution {name}: status {status}, stop {stop}")
        arn = f"{prefix}:{name}"
        sfn._executions[arn] = {
            "executionArn": arn, "stateMachineArn": machine, "name": name, "status": status,
            "startDate": start, "stopDate": stop, "input": "{}", "output": None, "events": []}
    return {"executions": len(sfn._executions)}
