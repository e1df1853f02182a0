"""Services: how many tasks they run, which tasks they stop, and which they protect.

AWS: a service keeps its desired count of tasks running. It replaces each task that stops, also one that
  StopTask stopped. If tasks fail to start, it waits longer and longer before the next attempt.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-throttle-logic.html
AWS: a deployment starts new tasks up to maximumPercent of the desired count, and stops old tasks down to
  minimumHealthyPercent, until no old task is left.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-type-ecs.html
AWS: neither a scale-in nor a deployment stops a protected task until its protection is removed or
  ends. The deployment is IN_PROGRESS until then.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection.html
AWS: the stopCode of a task that a service stops is ServiceSchedulerInitiated.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-error-codes.html
ministack 1.5.33: has no protection, stops old tasks only when the deployment has ended, does not
  replace a task that StopTask stopped, restarts a failing task at once, sets UserInitiated as the
  stopCode, and pulls images that exist only on this machine.

AWS does not document which of several tasks a scale-in stops. Here it is the newest.
"""
import logging
import threading
import time

from ministack.core.responses import request_scope
from ministack.services import ecs

from . import ecs_protection

_LOOK_SECONDS = 0.25  # seconds between checks of the services, because protection may end without a request
_LONGEST_PAUSE = 60  # seconds between attempts to start
_scheduling = threading.RLock()
_log = logging.getLogger("lockstack.ecs_services")
_stock_reconcile = ecs._reconcile_service_tasks
_stock_failure = ecs._record_service_task_failure


def _reconcile(cluster, key):
    service = ecs._services.get(key)
    if not service or service["status"] != "ACTIVE":
        return
    if not ecs._get_docker() or (service.get("deploymentController") or {}).get("type", "ECS") != "ECS":
        _stock_reconcile(cluster, key)
        return
    with _scheduling:
        changed = _step(cluster, service)
    if changed:
        ecs._refresh_service_state(cluster, f"service:{service['serviceName']}")
        ecs._recount_cluster(cluster)


def _step(cluster, service):
    """Starts and stops the tasks of a service as needed. Returns whether anything changed."""
    primary, desired = ecs._primary_deployment(service), service["desiredCount"]
    tasks = ecs_protection.tasks_of(service)
    current = [task for task in tasks if ecs._deployment_for_task(service, task) is primary]
    old = [task for task in tasks if task not in current]
    surplus = _surplus(current, desired) + _outdated(service, primary, current, old, desired)
    missing = _missing(service, primary, len(current), len(old), desired)
    for task in surplus:
        ecs._stop_task({"cluster": cluster, "task": task["taskArn"], "_stopCode": "ServiceSchedulerInitiated",
                        "reason": f"Scaling activity initiated by (deployment {primary['id']})"})
    if missing:
        _start(cluster, service, primary, missing)
    steady = not old and sum(map(_healthy, current)) == len(current) == desired
    ended = steady and primary["rolloutState"] == "IN_PROGRESS"
    if ended:
        primary.update(rolloutState="COMPLETED", rolloutStateReason="ECS deployment completed.", updatedAt=ecs._iso())
    return surplus or missing or ended


def _healthy(task):
    return task["lastStatus"] == "RUNNING" and task.get("_startup_stable", False)


def _newest_first(tasks):
    return sorted(tasks, key=lambda task: task["createdAt"], reverse=True)


def _percent(service, name, default):
    return int((service.get("deploymentConfiguration") or {}).get(name, default))


def _surplus(current, desired):
    spare = [task for task in _newest_first(current) if not ecs_protection.protected(task)]
    return spare[:max(len(current) - desired, 0)]


def _outdated(service, primary, current, old, desired):
    """Returns the old tasks that the deployment may stop now."""
    if primary["rolloutState"] == "FAILED":
        return []
    spare = [task for task in old if not ecs_protection.protected(task)]
    starting = [task for task in spare if task["lastStatus"] != "RUNNING"]
    running = [task for task in spare if task["lastStatus"] == "RUNNING"]
    working = sum(map(_healthy, current)) + sum(task["lastStatus"] == "RUNNING" for task in old)
    needed = -(-desired * _percent(service, "minimumHealthyPercent", 100) // 100)
    return starting + running[:max(working - needed, 0)]


def _missing(service, primary, current, old, desired):
    """Returns how many tasks to start now."""
    if primary["rolloutState"] == "FAILED" or time.monotonic() < service.get("_start_after", 0):
        return 0
    room = max(1, desired * _percent(service, "maximumPercent", 200) // 100) - current - old
    return max(min(desired - current, room if old else desired), 0)


def _start(cluster, service, primary, count):
    ecs._run_task({
        "cluster": cluster, "taskDefinition": service["taskDefinition"], "count": count,
        "group": f"service:{service['serviceName']}", "startedBy": primary["id"], "_deploymentId": primary["id"],
        "launchType": service.get("launchType"), "capacityProviderStrategy": service.get("capacityProviderStrategy"),
        "platformVersion": service.get("platformVersion", ""),
        "networkConfiguration": service.get("networkConfiguration", {}),
        "enableExecuteCommand": service.get("enableExecuteCommand", False)})


def _pausing(task, *more, **named):
    """Delays the next task of a service after a task that failed to start. After a task that ran, the next one may start at once."""
    service = ecs_protection.service_of(task)
    if service:
        failed = task.get("stopCode") == "TaskFailedToStart"
        service["_failed_starts"] = service.get("_failed_starts", 0) + 1 if failed else 0
        pause = min(2 ** service["_failed_starts"], _LONGEST_PAUSE) if failed else 0
        service["_start_after"] = time.monotonic() + pause
    _stock_failure(task, *more, **named)


def _watch():
    while True:
        time.sleep(_LOOK_SECONDS)
        for (account, region, key), service in ecs._services.all_items():
            if service["status"] != "ACTIVE":
                continue
            try:
                with request_scope(account, region):
                    _reconcile(key.partition("/")[0], key)
            except Exception:  # the next check may succeed
                _log.exception("service %s", key)


def apply():
    ecs._reconcile_service_tasks = _reconcile
    ecs._complete_service_deployment = lambda *_, **__: None  # _step completes deployments
    ecs._record_service_task_failure = _pausing
    ecs._prepare_service_images = lambda *_: None
    threading.Thread(target=_watch, daemon=True, name="lockstack-services").start()
