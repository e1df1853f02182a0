"""Tasks without a container, for processes of the host: a test runs what a container would.

Not a correction. Such a task is RUNNING until StopTask, a scale-in or a deployment ends it; its
process is the test's own. Its two addresses work as those of a container.
"""
import contextvars
import json
import uuid

from ministack.services import ecs, iam

from . import agent, agent_orders, agent_protection

_FIELDS = {"cluster", "service", "taskDefinition", "role", "minuteSeconds"}
_ROLE = "lockstack-host-task"
_no_engine = contextvars.ContextVar("no_engine", default=False)
_stock_docker = ecs._get_docker


def start(request):
    """{"cluster", "service" (null: of no service), "taskDefinition", "role" (null: none), "minuteSeconds"}

    The cluster is made when there is none of that name; the service need not exist.
    """
    if set(request) - _FIELDS:
        raise agent_orders.Refused(f"a task takes {', '.join(sorted(_FIELDS))}")
    cluster, service = request.get("cluster", "default"), request.get("service")
    name = ecs._resolve_cluster_name(cluster)
    if name and name not in ecs._clusters:
        ecs._create_cluster({"clusterName": name})
    known = ecs._services.get(f"{name}/{service}") or {}
    role = request["role"] if "role" in request else _default_role()
    definition = request.get("taskDefinition") or known.get("taskDefinition") or _definition(role)
    task = _run(cluster, service, known, definition, role)
    if "minuteSeconds" in request:
        agent_orders.settle({"minuteSeconds": request["minuteSeconds"], "task": task["taskArn"]})
    return _described(task)


def _default_role():
    """May protect its own tasks and nothing else."""
    if _ROLE not in iam._roles:
        trust = {"Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Principal": {"Service": "ecs-tasks.amazonaws.com"}, "Action": "sts:AssumeRole"}]}
        allowed = {"Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Action": ["ecs:GetTaskProtection", "ecs:UpdateTaskProtection"], "Resource": "*"}]}
        iam._create_role({"RoleName": [_ROLE], "AssumeRolePolicyDocument": [json.dumps(trust)]})
        iam._put_role_policy({"RoleName": [_ROLE], "PolicyName": ["protect"], "PolicyDocument": [json.dumps(allowed)]})
    return iam._roles[_ROLE]["Arn"]


def _definition(role):
    fields = {"family": "lockstack-host", "networkMode": "awsvpc", "requiresCompatibilities": ["FARGATE"],
              "cpu": "256", "memory": "512", **({"taskRoleArn": role} if role else {}),
              "containerDefinitions": [{"name": "host", "image": "none", "essential": True}]}
    return _accepted(ecs._register_task_definition(fields))["taskDefinition"]["taskDefinitionArn"]


def _run(cluster, service, known, definition, role):
    request = {"cluster": cluster, "taskDefinition": definition, "launchType": "FARGATE"}
    if service:
        primary = ecs._primary_deployment(known) or {}
        request.update(group=f"service:{service}", _deploymentId=primary.get("id"),
                       startedBy=primary.get("id", f"ecs-svc/{service}"))
    if role:
        request["overrides"] = {"containerOverrides": [], "taskRoleArn": role}
    token = _no_engine.set(True)
    try:
        response = _accepted(ecs._run_task(request))
    finally:
        _no_engine.reset(token)
    task = ecs._tasks[response["tasks"][0]["taskArn"]]
    task["_host"] = True
    return task


def _accepted(answer):
    response = json.loads(answer[2])
    if answer[0] >= 400:
        raise agent_orders.Refused(response.get("message", response["__type"]))
    return response


def _described(task):
    """Its ids, the environment that a container of it would have, and keys of its role."""
    definition = ecs._task_defs[ecs._resolve_td_key(task["taskDefinitionArn"])]
    container, env = task["containers"][0], {}
    container["runtimeId"] = uuid.uuid4().hex[:12]
    token = ecs._register_metadata(task["taskArn"], task["clusterArn"], definition,
                                   definition["containerDefinitions"][0], "FARGATE", env, True, None)
    task.setdefault("_metadata_tokens", []).append(token)
    metadata, role = env["ECS_CONTAINER_METADATA_URI_V4"], agent_protection.role_of(task)
    return {"taskArn": task["taskArn"], "clusterArn": task["clusterArn"], "containerArn": container["containerArn"],
            "runtimeId": container["runtimeId"],
            "environment": {"ECS_AGENT_URI": agent.agent_uri(metadata), "ECS_CONTAINER_METADATA_URI_V4": metadata},
            "credentials": agent_protection.credentials(task, role) if role else {}}


def end(task):
    """What becomes of such a task when it is asked to stop."""
    ecs._mark_task_stopped(task["taskArn"], task, task["_stop_reason"], task["_stop_code"], exit_code=143)
    ecs._cleanup_task_resources(task, None)


def apply():
    ecs._get_docker = lambda: None if _no_engine.get() else _stock_docker()
