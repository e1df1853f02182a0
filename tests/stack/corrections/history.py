"""What the history of an execution says of a call to ECS.

AWS: TaskScheduled has the service, the action and the parameters of the call; TaskStarted follows, then TaskSubmitted
  with the answer, or TaskSubmitFailed with the error. Each event names the one before it, also in a branch.
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_GetExecutionHistory.html
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_TaskScheduledEventDetails.html
ministack 1.5.33: TaskScheduled has the ARN of the integration and no parameters; no event names another; a call has
  no TaskStarted, TaskSubmitted and TaskSubmitFailed.
Calls of other services are as they were: nothing here reads them.
"""
import contextvars
import json

from ministack.services import stepfunctions as sfn

_stock_add = sfn._add_event
_scheduled = contextvars.ContextVar("scheduled", default=None)


def _add_event(execution, event_type, details=None):
    event = _stock_add(execution, event_type, details)
    if event_type == "TaskScheduled":
        _scheduled.set((execution, event))
    return event


class EcsCall:
    """The events of one call, which begin with the TaskScheduled of this thread; none outside of an execution."""

    def __init__(self, resource, parameters):
        self._execution, self._last = _scheduled.get() or (None, None)
        self._call = {"resourceType": "ecs", "resource": resource.split(":ecs:")[-1]}
        if self._last:
            self._last["taskScheduledEventDetails"] = {
                **self._call, "region": sfn.get_region(), "parameters": json.dumps(parameters)}
        self._add("TaskStarted", "taskStartedEventDetails", {})

    def submitted(self, answer):
        self._add("TaskSubmitted", "taskSubmittedEventDetails", {"output": json.dumps(answer)})

    def failed(self, error):
        self._add("TaskSubmitFailed", "taskSubmitFailedEventDetails", {"error": error.error, "cause": error.cause})

    def _add(self, event_type, field, details):
        if self._execution:
            details = {field: {**self._call, **details}, "previousEventId": self._last["id"]}
            self._last = _stock_add(self._execution, event_type, details)


def apply():
    sfn._add_event = _add_event
