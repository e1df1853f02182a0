"""ECS Task State Change events.

AWS: each change of a task's lastStatus or desiredStatus is an event of source aws.ecs on the
  default bus. Its detail is the task as DescribeTasks shows it, with a `version` that grows with each event.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html
ministack 1.5.33: sends no such events. These modules send PROVISIONING, PENDING, RUNNING, RUNNING with
  desiredStatus STOPPED, DEPROVISIONING and STOPPED.
"""
import copy
import json
import logging

from ministack.services import ecs, eventbridge

from . import ecs_tasks

_log = logging.getLogger("lockstack.ecs_events")
on_change = []  # called with each task that has changed, as it is sent


def _announcing(mark):
    def wrapper(task_arn, task, *more, **named):
        changed = mark(task_arn, task, *more, **named)
        if changed:
            send(task)
        return changed
    return wrapper


def _announcing_stop(mark):
    def wrapper(task_arn, task, *more, **named):
        changed = mark(task_arn, task, *more, **named)
        if changed and "_left" not in task:
            leaving = copy.deepcopy(ecs._sanitize(task))
            leaving.update(lastStatus="DEPROVISIONING", version=task["version"] - 1)
            leaving.pop("stoppedAt", None)
            send(leaving)
        if changed:
            send(task)
        return changed
    return wrapper


def _announcing_start(run_task):
    def wrapper(data):
        answer = run_task(data)
        if answer[0] < 400:
            for task in json.loads(answer[2])["tasks"]:
                send(task)
        return answer
    return wrapper


def send(task):
    shown = ecs._sanitize(task)
    for listener in on_change:
        listener(shown)
    detail = {**shown, "updatedAt": ecs._iso()}
    try:
        eventbridge._put_events({"Entries": [{
            "Source": "aws.ecs", "DetailType": "ECS Task State Change", "Resources": [task["taskArn"]],
            "Detail": json.dumps(detail, default=str)}]}, allow_aws_source=True)
    except Exception:  # an error of a listener must not affect the task
        _log.exception("task state change not sent")


def apply():
    ecs_tasks.start_tasks = _announcing_start(ecs_tasks.start_tasks)
    ecs._mark_task_pending = _announcing(ecs._mark_task_pending)
    ecs._mark_task_running = _announcing(ecs._mark_task_running)
    ecs._mark_task_stopped = _announcing_stop(ecs._mark_task_stopped)
