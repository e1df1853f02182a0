"""Retry and Catch.

AWS: the first retrier that names the error applies, up to its MaxAttempts. MaxDelaySeconds limits the growing
  interval, and with JitterStrategy FULL the delay is a random part of it. States.TaskFailed matches every error except
  States.Timeout. OutputPath does not apply to the output of a catcher.
  https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
AWS: States.Runtime is neither retried nor caught, not even by its own name (recorded: test_catch_states_runtime,
  2023-11-23). States.ALL catches States.DataLimitExceeded (recorded: test_task_lambda_catch_state_all_data_limit_exceeded_on_large_utf8_response,
  2024-03-21), though the page says that it does not.
"""
import random

from ministack.services import stepfunctions as sfn

from .. import scope
from . import paths
from .visit import RUNTIME

TIMEOUT = "States.Timeout"
_ONE_YEAR = 31_622_400


def run(visit, attempt, gave_up=None):
    """Returns (output, next state) after the attempts of a state. Calls `gave_up` before the last error is handled."""
    counts = {}
    while True:
        try:
            return attempt(), visit.next
        except scope.Stopped:
            raise
        except scope.TaskError as error:
            delay = None if error.error == RUNTIME else _delay(visit.state.get("Retry", []), error, counts)
            if delay is None:
                return _caught(visit, error, gave_up)
        visit.assigned = {}
        sfn._scaled_sleep(delay)
        visit.context["State"]["RetryCount"] = sum(counts.values())


def _delay(retriers, error, counts):
    """Returns the seconds to wait before the next attempt, or None if there is no further attempt."""
    for index, retrier in enumerate(retriers):
        if matches(retrier.get("ErrorEquals", []), error.error):
            made = counts.get(index, 0)
            if made >= retrier.get("MaxAttempts", 3):
                return None
            counts[index] = made + 1
            delay = retrier.get("IntervalSeconds", 1) * retrier.get("BackoffRate", 2.0) ** made
            delay = min(delay, retrier.get("MaxDelaySeconds", _ONE_YEAR))
            return random.uniform(0, delay) if retrier.get("JitterStrategy") == "FULL" else delay
    return None


def matches(names, error):
    return "States.ALL" in names or error in names or ("States.TaskFailed" in names and error != TIMEOUT)


def _caught(visit, error, gave_up):
    if error.error == RUNTIME:
        raise error
    if gave_up:
        gave_up()
    for catcher in visit.state.get("Catch", []):
        if matches(catcher.get("ErrorEquals", []), error.error):
            visit.assigned = {}
            given = {"Error": error.error, "Cause": error.cause}
            visit.assign(catcher, given, errorOutput=given)
            if visit.jsonata:
                return visit.output(catcher, given, errorOutput=given), catcher["Next"]
            return paths.assign(catcher.get("ResultPath", "$"), visit.input, given), catcher["Next"]
    raise error
