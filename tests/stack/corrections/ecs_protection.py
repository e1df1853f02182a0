"""Task scale-in protection.

AWS: GetTaskProtection and UpdateTaskProtection work for tasks of a service. For any other task they return
  the failure TASK_NOT_VALID, and for a stopped or unknown task MISSING. Protection lasts 120 minutes by
  default, and at most 2880. Each call sets a new end.
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_UpdateTaskProtection.html
AWS: a task cannot be protected (DEPLOYMENT_BLOCKED) when the service would have more protected tasks
  than its desired count, which would keep a deployment from its steady state.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection.html
ministack 1.5.33: answers with empty lists. ecs_services.py implements the effect of protection.

A test cannot wait for minutes, so agent_orders.py can make a minute of protection shorter.
"""
import time

from ministack.services import ecs

from . import agent_orders

_MINUTES = range(1, 2881)
_protected_until = {}


class Refused(Exception):
    """InvalidParameterException, with its message."""


def protected(task):
    """Returns whether a task is protected now."""
    return _protected_until.get(task["taskArn"], 0) > time.time()


def in_service(task):
    return task.get("group", "").startswith("service:")


def service_of(task):
    """Returns the record of a task's service, or None if the task has no service or an unknown one."""
    cluster = task["clusterArn"].rpartition("/")[2]
    return ecs._services.get(f"{cluster}/{task['group'].partition(':')[2]}") if in_service(task) else None


def tasks_of(service):
    """Returns the tasks of the service that are not asked to stop."""
    group = f"service:{service['serviceName']}"
    return [task for task in list(ecs._tasks.values())
            if task.get("group") == group and task["clusterArn"] == service["clusterArn"]
            and task["lastStatus"] in ecs._PRE_STOP_STATUSES and task["desiredStatus"] == "RUNNING"]


def _blocks_deployment(task):
    service = service_of(task)
    if not service or service["status"] != "ACTIVE":
        return False
    rollouts = [deployment["rolloutState"] for deployment in service["deployments"]]
    if rollouts.count("COMPLETED") == len(rollouts) == 1:
        return False
    others = [one for one in tasks_of(service) if one is not task and protected(one)]
    return len(others) + 1 > service["desiredCount"]


def _failure(task, update, enable):
    if not in_service(task):
        return "TASK_NOT_VALID"
    ordered = agent_orders.take("protection", task["taskArn"], "PUT" if update else "GET", "")
    if ordered:
        return ordered
    return "DEPLOYMENT_BLOCKED" if update and enable and _blocks_deployment(task) else None


def _state(task):
    until = _protected_until.get(task["taskArn"], 0)
    enabled = until > time.time()
    return {"taskArn": task["taskArn"], "protectionEnabled": enabled, **({"expirationDate": until} if enabled else {})}


def _checked(data, update):
    """Returns whether to protect, and for how many minutes."""
    enable, minutes = data.get("protectionEnabled"), data.get("expiresInMinutes")
    if len(data.get("tasks", [])) > (10 if update else 100):
        raise Refused("Too many tasks.")
    if update and not isinstance(enable, bool):
        raise Refused("protectionEnabled must be given.")
    if update and minutes is not None and minutes not in _MINUTES:
        raise Refused("expiresInMinutes must be between 1 and 2880.")
    return enable, 120 if minutes is None else minutes


def _protection(data, update):
    cluster = ecs._resolve_cluster_name(data.get("cluster", "default"))
    if cluster not in ecs._clusters:
        return ecs.error_response_json("ClusterNotFoundException", "Cluster not found.", 400)
    try:
        enable, minutes = _checked(data, update)
    except Refused as problem:
        return ecs.error_response_json("InvalidParameterException", str(problem), 400)
    answered, failures = [], []
    for reference in data.get("tasks", []):
        task = ecs._resolve_task(reference, cluster)
        if not task or task["lastStatus"] == "STOPPED":
            failures.append({"arn": reference, "reason": "MISSING"})
            continue
        reason = _failure(task, update, enable)
        if reason:
            failures.append({"arn": task["taskArn"], "reason": reason})
            continue
        if update and enable:
            seconds = minutes * agent_orders.minute_seconds(task["taskArn"])
            _protected_until[task["taskArn"]] = round(time.time() + seconds, 3)
        elif update:
            _protected_until.pop(task["taskArn"], None)
        answered.append(_state(task))
    return ecs.json_response({"protectedTasks": answered, "failures": failures})


def apply():
    ecs._update_task_protection = lambda data: _protection(data, update=True)
    ecs._get_task_protection = lambda data: _protection(data, update=False)
    ecs._ACTION_MAP.update(UpdateTaskProtection=ecs._update_task_protection,
                           GetTaskProtection=ecs._get_task_protection)
