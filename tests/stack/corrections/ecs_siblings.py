"""The other containers of a task whose essential container ended.

AWS: the other containers get SIGTERM and, after their stopTimeout, SIGKILL, and keep their own exit codes. Until they have ended,
  the task has desiredStatus STOPPED and stopCode EssentialContainerExited.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-lifecycle-explanation.html
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html
ministack 1.5.33: removes the other containers, and gives them the exit code of the essential container.
"""
from ministack.services import ecs

from . import ecs_events, ecs_fields, ecs_stop, scope


def _stopping_the_others(mark_stopped):
    def wrapper(task_arn, task, reason, stop_code, **named):
        docker = ecs._get_docker()
        if stop_code == "EssentialContainerExited" and docker and "_stop_reason" not in task and _others(task, docker):
            _begin(task, reason, docker)
            return False
        if "_others" in task and _others(task, docker):
            return False
        return mark_stopped(task_arn, task, reason, stop_code, **named)
    return wrapper


def _others(task, docker):
    """Returns whether a container of the task still runs."""
    for container in list(task.get("_docker_ids") or []):
        try:
            if docker.containers.get(container).status != "exited":
                return True
        except Exception:  # gone already
            continue
    return False


def _begin(task, reason, docker):
    with ecs.resource_lock("ecs-task", task["taskArn"]):
        if "_others" in task:
            return
        task["_others"] = True
        # Marks the task as asked to stop: it stays active, and a further StopTask changes nothing.
        task["_stop_reason"], task["_stop_code"] = reason, "EssentialContainerExited"
        task.update(desiredStatus="STOPPED", stopCode=task["_stop_code"], stoppedReason=ecs_fields.worded(reason))
        task["stoppingAt"] = task.get("stoppingAt") or ecs._iso()
        ecs._bump_task_version(task)
    ecs_events.send(task)
    scope.in_thread(_stop, task, docker)


def _stop(task, docker):
    ecs_stop.stop_containers(task, docker)
    ecs._maybe_mark_stopped(task, docker)


def apply():
    ecs._mark_task_stopped = _stopping_the_others(ecs._mark_task_stopped)
