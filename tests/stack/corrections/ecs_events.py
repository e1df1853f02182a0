"""ECS Task State Change events.

AWS: each change of a task's state is an event of source aws.ecs on the default bus.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html
ministack 1.5.33: sends none. Here RUNNING and STOPPED are sent.
"""
import json
import logging

from ministack.services import ecs, eventbridge

_log = logging.getLogger("lockstack.ecs_events")


def _announcing(mark):
    def wrapper(task_arn, task, *more, **named):
        changed = mark(task_arn, task, *more, **named)
        if changed:
            _send(task)
        return changed
    return wrapper


def _send(task):
    try:
        eventbridge._put_events({"Entries": [{
            "Source": "aws.ecs", "DetailType": "ECS Task State Change", "Resources": [task["taskArn"]],
            "Detail": json.dumps(ecs._sanitize(task), default=str)}]}, allow_aws_source=True)
    except Exception:  # the task's own bookkeeping must not depend on who listens
        _log.exception("task state change not sent")


def apply():
    ecs._mark_task_running = _announcing(ecs._mark_task_running)
    ecs._mark_task_stopped = _announcing(ecs._mark_task_stopped)
