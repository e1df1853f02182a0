"""Time limits of Task states.

AWS: TimeoutSeconds and HeartbeatSeconds may be JSONata expressions or come from a path; a
  task that exceeds its limit fails with States.Timeout and its work is cancelled.
  https://docs.aws.amazon.com/step-functions/latest/dg/state-task.html
AWS: States.Timeout in Retry or Catch also matches States.HeartbeatTimeout.
  https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
ministack 1.5.33: takes only a literal TimeoutSeconds, lets the timed-out work run on, and
  does not match States.HeartbeatTimeout.
"""
import queue
import threading

from ministack.services import stepfunctions as sfn

from . import habits, scope

_stock_matches = sfn._error_matches


def _with_limits(execute):
    def wrapper(state, raw_input, execution, context):
        state = dict(state)
        try:
            _evaluate_limits(state, raw_input, context)
        except scope.TaskError as error:
            catcher = sfn._find_matching_catcher(state.get("Catch", []), error.error)
            if not catcher:
                raise
            response = {"Error": error.error, "Cause": error.cause}
            language = sfn._state_query_language(state, context)
            return sfn._apply_catcher(catcher, raw_input, context, language, response), catcher["Next"]
        return execute(state, raw_input, execution, context)
    return wrapper


def _evaluate_limits(state, raw_input, context):
    for field in ("TimeoutSeconds", "HeartbeatSeconds"):
        if isinstance(state.get(field), str):
            state[field] = sfn._jsonata_state_field(state, field, "number", raw_input, context)
        elif f"{field}Path" in state:
            state[field] = sfn._resolve_path_or_ctx(state[f"{field}Path"], raw_input, context)


def _error_matches(names, error):
    if error == scope.Stopped.NAME:
        return False
    if error == "States.HeartbeatTimeout" and "States.Timeout" in names:
        return True
    return _stock_matches(names, error)


def _invoke_with_timeout(resource, data, limit):
    attempt = scope.Scope(scope.current())
    outcome = queue.Queue()

    def work():
        scope.enter(attempt)
        try:
            outcome.put((sfn._invoke_resource(resource, data), None))
        except scope.TaskError as error:
            outcome.put((None, error))
        except Exception as error:  # whatever else goes wrong is the state's failure, too
            outcome.put((None, scope.TaskError("States.Runtime", str(error))))

    scope.in_thread(work)
    try:
        with scope.telling(lambda: outcome.put((None, scope.Stopped()))):
            result, error = outcome.get(timeout=min(limit, threading.TIMEOUT_MAX))
    except queue.Empty:
        abandons = ".sync" in resource and habits.find("sync-timeout-stops-nothing", data)
        if abandons:
            habits.note(abandons)
            attempt.abandoned = True
        attempt.cancel()
        raise scope.TaskError("States.Timeout", "") from None
    finally:
        attempt.close()
    if error:
        raise error
    return result


def apply():
    sfn._execute_task = _with_limits(sfn._execute_task)
    sfn._error_matches = _error_matches
    sfn._invoke_resource_with_timeout = _invoke_with_timeout
