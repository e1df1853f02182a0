"""EventBridge Scheduler.

AWS: the Scheduler replaces <aws.scheduler.schedule-arn>, scheduled-time, execution-id and attempt-number in the
  Input of every target. scheduled-time is the time in the schedule, and is the same for every delivery of one
  occurrence.
  https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
AWS: the Input of a universal target is the request of its API, with names in upper camel
  case. Here startExecution of Step Functions and runTask of ECS are supported.
  https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html
ministack 1.5.33: replaces nothing, and has no universal targets.
"""
import json
import logging
import math
import time
import uuid

from ministack.services import ecs, eventbridge, scheduler
from ministack.services import stepfunctions as sfn

_START_EXECUTION = "arn:aws:scheduler:::aws-sdk:sfn:startExecution"
_RUN_TASK = "arn:aws:scheduler:::aws-sdk:ecs:runTask"
_stock_invoke = eventbridge._invoke_target
_log = logging.getLogger("lockstack.schedules")


def _invoke_target(target, event, rule, view=None):
    if event.get("Source") != "aws.scheduler":
        return _stock_invoke(target, event, rule, view)
    if isinstance(target.get("Input"), str):
        target = {**target, "Input": _replace_attributes(target["Input"], event["Time"], rule)}
    if target.get("Arn") == _START_EXECUTION:
        return _start_execution(json.loads(target["Input"]))
    if target.get("Arn") == _RUN_TASK:
        return _run_task(json.loads(target["Input"]))
    return _stock_invoke(target, event, rule, view)


def _replace_attributes(text, fired, schedule):
    attributes = {
        "schedule-arn": schedule.get("Arn", ""),
        "scheduled-time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(_scheduled_time(fired, schedule))),
        "execution-id": str(uuid.uuid4()),
        "attempt-number": "1",
    }
    for name, value in attributes.items():
        text = text.replace(f"<aws.scheduler.{name}>", value)
    return text


def _scheduled_time(fired, schedule):
    """Returns the scheduled time. The emulator knows only the time of the firing, which is the same or later."""
    expression = schedule.get("ScheduleExpression", "")
    once = scheduler._at_time_epoch(expression)
    if once is not None:
        return once
    every = eventbridge._parse_rate_seconds(expression)
    if every:
        begin = scheduler._to_epoch(schedule.get("StartDate")) or scheduler._to_epoch(schedule.get("CreationDate"))
        return begin + math.floor((fired - begin) / every) * every
    return fired - fired % 60


def _start_execution(request):
    body = {name[:1].lower() + name[1:]: value for name, value in request.items()}
    status, _, answer = sfn._start_execution(body)
    if status >= 400:
        _log.warning("universal target startExecution refused: %s", answer)


def _lower_camel(value):
    if isinstance(value, list):
        return [_lower_camel(each) for each in value]
    if isinstance(value, dict):
        return {name[:1].lower() + name[1:]: _lower_camel(each) for name, each in value.items()}
    return value


def _run_task(request):
    status, _, answer = ecs._run_task(_lower_camel(request))
    if status >= 400:
        _log.warning("universal target runTask refused: %s", answer)


def apply():
    eventbridge._invoke_target = _invoke_target
