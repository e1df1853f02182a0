"""The history events of a Task's call.

AWS: a call has these events in order:
  TaskScheduled, with service, action, parameters and time limits of the call
  TaskStarted
  TaskSubmitted, with the answer, if the state waits for more than the answer
  TaskSucceeded, TaskFailed or TaskTimedOut
  A refused RunTask has TaskSubmitFailed if the state would have waited for the task. Functions that are named by ARN,
  and activities, have their own types of events.
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_GetExecutionHistory.html
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_TaskScheduledEventDetails.html
  (recorded: test_run_task_sync, 2024-02-23; test_fixed_timeout_service_lambda, 2024-03-10)
"""
import contextvars

from ministack.core.responses import get_region

from .attempts import TIMEOUT
from .trail import compact, failed, whole

_current = contextvars.ContextVar("call", default=None)


def of(visit, resource, arguments):
    if ":activity:" in resource:
        return Activity(visit, resource, arguments)
    if ":lambda:" in resource and ":states:" not in resource:
        return Function(visit, resource, arguments)
    return Call(visit, resource, arguments)


def submitted(answer):
    """Adds TaskSubmitted with the answer to this thread's call, if the state waits for more than the answer."""
    call = _current.get()
    if call:
        call.submitted(answer)


def waits():
    """Returns whether the state of this thread's call waits for more than the answer."""
    call = _current.get()
    return bool(call) and call.waits


class Call:
    """A call of a service."""
    prefix = "Task"

    def __init__(self, visit, resource, arguments):
        self.trail, self.resource, self.arguments = visit.trail, resource, arguments
        service, _, action = resource.split(":::", 1)[-1].partition(":")
        if service == "aws-sdk":
            service, _, action = action.partition(":")
            service = f"aws-sdk:{service}"
        self.place = {"resourceType": service, "resource": action}
        self.waits = ".sync" in action or action.endswith(".waitForTaskToken")
        self.answered = False
        _current.set(self)

    @property
    def name(self):
        """The name of the call in the error of a result that is too large."""
        return self.place["resourceType"]

    def scheduled(self, limits, credentials=None):
        parameters = self.arguments
        if self.place == {"resourceType": "ecs", "resource": "runTask.sync"}:
            parameters = {**parameters, "StartedBy": "AWS Step Functions"}
        details = {**self.place, "region": get_region(), "parameters": compact(parameters), **limits}
        if credentials:
            details["taskCredentials"] = {"roleArn": credentials["RoleArn"]}
        self._add("Scheduled", details)
        self._add("Started", self.place)

    def submitted(self, answer):
        self.answered = True
        self._add("Submitted", {**self.place, **whole("output", compact(answer))})

    def succeeded(self, result):
        self._add("Succeeded", {**self.place, **whole("output", compact(result))})

    def failed(self, error):
        if error.error == TIMEOUT:
            what = "TimedOut"
        else:
            what = "SubmitFailed" if self.waits and not self.answered and self.name == "ecs" else "Failed"
        self._add(what, {**self.place, **failed(error)})

    def _add(self, what, details):
        self.trail.add(f"{self.prefix}{what}", details)


class Function(Call):
    """A function that is named by its ARN alone."""
    prefix = "LambdaFunction"

    @property
    def name(self):
        return self.resource

    def scheduled(self, limits, credentials=None):
        self._add("Scheduled", {"resource": self.resource, **whole("input", compact(self.arguments)), **limits})
        self.trail.add("LambdaFunctionStarted")

    def succeeded(self, result):
        self._add("Succeeded", whole("output", compact(result)))

    def failed(self, error):
        self._add("TimedOut" if error.error == TIMEOUT else "Failed", failed(error))


class Activity(Function):
    prefix = "Activity"

    def scheduled(self, limits, credentials=None):
        self._add("Scheduled", {"resource": self.resource, **whole("input", compact(self.arguments)), **limits})

    def started(self, worker):
        self._add("Started", {"workerName": worker} if worker else {})
