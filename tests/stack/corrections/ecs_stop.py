"""StopTask.

AWS: each container gets SIGTERM and, after its stopTimeout (default 30 s), SIGKILL. Until the containers have ended, the
  task is RUNNING with desiredStatus STOPPED, stopCode UserInitiated and the given reason. Then it has
  the containers' real exit codes. A task that is still starting stops, too.
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_StopTask.html
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-lifecycle-explanation.html
ministack 1.5.33: reports STOPPED with exit code 0 first, and stops the containers afterwards,
  with 5 s for all of them together.
"""
import logging
import time

from ministack.services import ecs

from . import agent_hosts, ecs_events, scope

_stock_stop = ecs._stop_task
_stock_active = ecs._task_is_active
_log = logging.getLogger("lockstack.ecs_stop")
_START_SECONDS = 60


def stop_task(data):
    cluster = ecs._resolve_cluster_name(data.get("cluster", "default"))
    task = cluster and ecs._resolve_task(data.get("task", ""), cluster)
    docker = ecs._get_docker()
    if not task or not docker or task["lastStatus"] == "STOPPED":
        return _stock_stop(data)
    with ecs.resource_lock("ecs-task", task["taskArn"]):
        first = "_stop_reason" not in task
        if first:
            task["_stop_reason"] = data.get("reason", "Task stopped by user")
            task["_stop_code"] = data.get("_stopCode", "UserInitiated")
            task["desiredStatus"] = "STOPPED"
            task["stopCode"], task["stoppedReason"] = task["_stop_code"], task["_stop_reason"]
            task["stoppingAt"] = ecs._iso()
            ecs._bump_task_version(task)
    if first:
        ecs_events.send(task)
        scope.in_thread(stop_containers, task, docker)
    return ecs.json_response({"task": ecs._sanitize(task)})


def stop_containers(task, docker):
    """Stops the containers of a task. The emulator's watcher then notices their end and marks the task as stopped."""
    end = time.monotonic() + _START_SECONDS
    while task["lastStatus"] not in ("RUNNING", "STOPPED") and time.monotonic() < end:
        time.sleep(0.05)
    definition = ecs._task_defs.get(ecs._resolve_td_key(task["taskDefinitionArn"])) or {}
    timeouts = {item["name"]: int(item.get("stopTimeout") or 30) for item in definition.get("containerDefinitions", [])}
    for container, container_id in zip(task["containers"], list(task.get("_docker_ids") or [])):
        try:
            docker.containers.get(container_id).stop(timeout=timeouts.get(container["name"], 30))
        except Exception as error:  # the container may have ended and been removed
            _log.warning("stop of %s: %s", container_id[:12], error)
    if task.get("_host"):
        agent_hosts.end(task)


def _task_is_active(task_arn, task):
    # For the emulator, a task that is asked to stop is not active. Here it stays active until its containers have ended.
    if "_stop_reason" in task and task["lastStatus"] != "STOPPED":
        return ecs._tasks.get(task_arn) is task and not task.get("_ecs_resetting")
    return _stock_active(task_arn, task)


def _naming_the_request(mark_stopped):
    def wrapper(task_arn, task, reason, stop_code, **named):
        if "_stop_reason" in task and stop_code == "EssentialContainerExited":
            reason, stop_code = task["_stop_reason"], task["_stop_code"]
        return mark_stopped(task_arn, task, reason, stop_code, **named)
    return wrapper


def apply():
    ecs._stop_task = stop_task
    ecs._ACTION_MAP["StopTask"] = stop_task
    ecs._task_is_active = _task_is_active
    ecs._mark_task_stopped = _naming_the_request(ecs._mark_task_stopped)
