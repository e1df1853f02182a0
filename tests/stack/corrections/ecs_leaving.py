"""Tasks that are DEPROVISIONING for some time: the habit stopped-late of habits.py.

AWS: when its containers have ended, a task is DEPROVISIONING, with desiredStatus STOPPED and its containers'
  exit codes, until its network interface is detached. Then it is STOPPED. Both changes are events.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-lifecycle-explanation.html
ministack 1.5.33: reports STOPPED at the end of the containers. Without the habit, this module does the same.
"""
import time

from ministack.services import ecs

from . import ecs_containers, ecs_events, ecs_fields, habits, scope


def _leaving_first(mark_stopped):
    def wrapper(task_arn, task, reason, stop_code, **named):
        found = None if stop_code == "TaskFailedToStart" else habits.find("stopped-late", ecs._sanitize(task))
        if not found and "_leaving" not in task or task.get("_left"):
            return mark_stopped(task_arn, task, reason, stop_code, **named)
        with ecs.resource_lock("ecs-task", task_arn):
            if "_leaving" in task or not ecs._task_is_active(task_arn, task):
                return False
            task["_leaving"] = True
        habits.note(found, resources=[task_arn])
        _begin(task, reason, stop_code, **named)
        scope.in_thread(_finish, mark_stopped, float(found["seconds"]), task, reason, stop_code, named)
        return False
    return wrapper


def _begin(task, reason, stop_code, exit_code=None):
    ecs_containers.note_ends(task)
    with ecs.resource_lock("ecs-task", task["taskArn"]):
        # Marks the task as asked to stop: it stays active, and a further StopTask changes nothing.
        task.setdefault("_stop_reason", reason)
        task.setdefault("_stop_code", stop_code)
        ecs._bump_task_version(task)
        task.update(lastStatus="DEPROVISIONING", desiredStatus="STOPPED", stopCode=task["_stop_code"],
                    stoppedReason=ecs_fields.worded(task["_stop_reason"]))
        task["stoppingAt"] = task.get("stoppingAt") or ecs._iso()
        task["executionStoppedAt"] = task.get("executionStoppedAt") or ecs._iso()
        for container in task.get("containers", []):
            container["lastStatus"] = "STOPPED"
            if exit_code is not None and container.get("exitCode") is None:
                container["exitCode"] = exit_code
    ecs_events.send(task)


def _finish(mark_stopped, seconds, task, reason, stop_code, named):
    time.sleep(seconds)
    task["_left"] = True
    if mark_stopped(task["taskArn"], task, reason, stop_code, **named):
        ecs._cleanup_task_resources(task, None)


def apply():
    ecs._mark_task_stopped = _leaving_first(ecs._mark_task_stopped)
