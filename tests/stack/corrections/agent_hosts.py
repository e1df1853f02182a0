"""Tasks without a container. A test runs the process of such a task itself, on the host.

Not a correction. Such a task is RUNNING until StopTask, a scale-in or a deployment ends it. Its
ECS_AGENT_URI and its ECS_CONTAINER_METADATA_URI_V4 work like those of a container.
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
    """Starts a task. All fields of the request are optional:

    cluster          name of the cluster, which is created if it does not exist
    service          name of the service, which need not exist; null for a task without a service
    taskDefinition   the task definition
    role             ARN of the task's role; null for no role
    minuteSeconds    real seconds that a minute of the task's protection lasts
    """
    if set(request) - _FIELDS:
        raise agent_orders.Refused(f"the fields of a task are {', '.join(sorted(_FIELDS))}")
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
    """Returns the ARN of a role that may only read and change the protection of tasks."""
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
    """Returns the ids of the task, the environment of its container, and credentials of its role."""
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
    """Stops such a task at once."""
    ecs._mark_task_stopped(task["taskArn"], task, task["_stop_reason"], task["_stop_code"], exit_code=143)
    ecs._cleanup_task_resources(task, None)


def apply():
    ecs._get_docker = lambda: None if _no_engine.get() else _stock_docker()
