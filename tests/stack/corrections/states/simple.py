"""Pass, Succeed, Fail and Wait.

https://docs.aws.amazon.com/step-functions/latest/dg/workflow-states.html
AWS: the failure of a Fail state without Error has no error, and that of one without Cause has no cause (recorded:
  test_map_state_catch_empty_fail, 2023-08-08).
AWS: a Wait state fails if the seconds are negative or not a whole number, or if the time is not an ISO 8601 time with an
  offset (recorded: test_wait_timestamp_path, 2024-12-27).
"""
import datetime
import re

from ministack.services import stepfunctions as sfn

from .. import scope
from . import expressions, paths
from .trail import compact

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_NO_TIME = "ISO-8601 extended offset date-time format string"


def run_pass(visit):
    state = visit.state
    if visit.jsonata:
        output = visit.output(state, visit.input)
        visit.assign(state, None, result=output)
        return output, visit.next
    effective = visit.selected("InputPath", visit.input)
    if "Parameters" in state:
        effective = visit.payload(state["Parameters"], effective)
    return visit.finished(state.get("Result", effective)), visit.next


def run_succeed(visit):
    if visit.jsonata:
        return visit.output(visit.state, visit.input), None
    return visit.selected("OutputPath", visit.selected("InputPath", visit.input)), None


def run_fail(visit):
    raise scope.TaskError(_of_fail(visit, "Error"), _of_fail(visit, "Cause"))


def _of_fail(visit, field):
    if visit.jsonata:
        return visit.field(field, "string") if field in visit.state else None
    path = visit.state.get(f"{field}Path")
    if path is None:
        return visit.state.get(field)
    if path.startswith("States."):
        value = visit.reference(path, visit.input)
    else:
        try:
            value = paths.find(path, visit.roots(visit.input))
        except paths.Missing:
            raise visit.broken(f"The JSONPath '{path}' specified for the field '{field}Path' could not be found in the "
                               f"input '{compact(visit.input)}'") from None
    if not isinstance(value, str):
        raise visit.broken(f"The value referenced by {field}Path must be a string, but the value was: {compact(value)}")
    return value


def run_wait(visit):
    if visit.jsonata:
        _sleep(*_due(visit))
        output = visit.output(visit.state, visit.input)
        visit.assign(visit.state, None)
        return output, visit.next
    effective = visit.selected("InputPath", visit.input)
    _sleep(*_due_by_path(visit, effective))
    visit.assign(visit.state, effective)
    return visit.selected("OutputPath", effective), visit.next


def _due(visit):
    """Returns (seconds, time) of a Wait state in JSONata."""
    if "Seconds" in visit.state:
        seconds = visit.field("Seconds", "number")
        if seconds != int(seconds):
            raise visit.noted(expressions.QueryError(
                f"The Seconds field cannot be parsed as an integer: {compact(seconds)}", "Seconds"))
        if seconds < 0:
            raise visit.noted(expressions.QueryError(f"Seconds cannot be negative but was: {compact(seconds)}", "Seconds"))
        return seconds, None
    time = visit.field("Timestamp", "string")
    if _parsed(time) is None:
        raise visit.noted(expressions.QueryError(
            f"The Timestamp field cannot be parsed as an {_NO_TIME}: {time}", "Timestamp"))
    return None, time


def _due_by_path(visit, data):
    state = visit.state
    if "SecondsPath" in state:
        path = state["SecondsPath"]
        try:
            seconds = paths.find(path, visit.roots(data))
        except paths.Missing:
            raise visit.broken(f"The SecondsPath parameter does not reference an input value: {path}") from None
        if not isinstance(seconds, int) or isinstance(seconds, bool):
            raise visit.broken(f"The SecondsPath parameter cannot be parsed as a long value: {path} == {compact(seconds)}")
        if seconds < 0:
            raise visit.broken(f"The SecondsPath parameter references a negative value: {path} == {seconds}")
        return seconds, None
    if "TimestampPath" in state:
        path = state["TimestampPath"]
        time = visit.reference(path, data)
        if not isinstance(time, str) or _parsed(time) is None:
            shown = time if isinstance(time, str) else compact(time)
            raise visit.broken(f"The TimestampPath parameter does not reference a valid {_NO_TIME}: {path} == {shown}")
        return None, time
    return state.get("Seconds"), state.get("Timestamp")


def _parsed(text):
    try:
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) if _TIME.fullmatch(text) else None
    except ValueError:
        return None


def _sleep(seconds, time):
    if time is not None:
        seconds = (_parsed(time) - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
    sfn._scaled_sleep(max(seconds, 0))
