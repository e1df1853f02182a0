"""Task scale-in protection.

AWS: GetTaskProtection and UpdateTaskProtection work for tasks of a service; any other task is
  the failure TASK_NOT_VALID, a stopped or unknown one MISSING. Protection lasts 120 minutes
  unless said otherwise.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection.html
ministack 1.5.33: answers with empty lists. What protection protects from (scale-in, deployments)
  is not modelled here either.
"""
import time

from ministack.services import ecs

_protected_until = {}


def _protection(data, update):
    cluster = ecs._resolve_cluster_name(data.get("cluster", "default"))
    protected, failures = [], []
    for reference in data.get("tasks", []):
        task = cluster and ecs._resolve_task(reference, cluster)
        if not task or task["lastStatus"] == "STOPPED":
            failures.append({"arn": reference, "reason": "MISSING"})
            continue
        arn = task["taskArn"]
        if not task.get("group", "").startswith("service:"):
            failures.append({"arn": arn, "reason": "TASK_NOT_VALID"})
            continue
        if update:
            minutes = int(data.get("expiresInMinutes", 120)) if data.get("protectionEnabled") else 0
            _protected_until[arn] = time.time() + 60 * minutes
        until = _protected_until.get(arn, 0)
        enabled = until > time.time()
        protected.append({"taskArn": arn, "protectionEnabled": enabled,
                          **({"expirationDate": until} if enabled else {})})
    return ecs.json_response({"protectedTasks": protected, "failures": failures})


def apply():
    ecs._update_task_protection = lambda data: _protection(data, update=True)
    ecs._get_task_protection = lambda data: _protection(data, update=False)
    ecs._ACTION_MAP.update(UpdateTaskProtection=ecs._update_task_protection,
                           GetTaskProtection=ecs._get_task_protection)
