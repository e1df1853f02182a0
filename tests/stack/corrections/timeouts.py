"""The time limit of a call.

AWS: a task that exceeds its TimeoutSeconds fails with States.Timeout and its work is cancelled.
  https://docs.aws.amazon.com/step-functions/latest/dg/state-task.html
ministack 1.5.33: does not stop the work.
"""
import queue
import threading

from ministack.services import stepfunctions as sfn

from . import habits, scope
from .states.attempts import TIMEOUT


def invoke(resource, data, limit):
    attempt = scope.Scope(scope.current())
    outcome = queue.Queue()

    def work():
        scope.enter(attempt)
        try:
            outcome.put((sfn._invoke_resource(resource, data), None))
        except scope.TaskError as error:
            outcome.put((None, error))
        except Exception as error:  # any other error fails the state, too
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
        raise scope.TaskError(TIMEOUT, "") from None
    finally:
        attempt.close()
    if error:
        raise error
    return result
