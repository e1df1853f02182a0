"""A cluster, task definitions of the batch image, and the log lines of their containers."""
import json
import os

import docker

from .support import ECS, client, once, role, unique, wait_for


@once
def cluster():
    name = unique()
    client("ecs").create_cluster(clusterName=name)
    client("logs").create_log_group(logGroupName=f"/{name}")
    return name


def task_definition(image=None, **container):
    fields = {
        "name": "batch", "image": image or os.environ["LOCKSTEP_BATCH_IMAGE"], "essential": True, "stopTimeout": 2,
        "logConfiguration": log_configuration()}
    return client("ecs").register_task_definition(
        family=unique(), networkMode="awsvpc", requiresCompatibilities=["FARGATE"], cpu="256", memory="512",
        executionRoleArn=role(), containerDefinitions=[{**fields, **container}])["taskDefinition"]["taskDefinitionArn"]


def log_configuration():
    return {"logDriver": "awslogs", "options": {
        "awslogs-group": f"/{cluster()}", "awslogs-region": "us-east-1", "awslogs-stream-prefix": "p"}}


def environment(values):
    return [{"name": f"BATCH_{key}" if key.isupper() else key, "value": str(value)} for key, value in values.items()]


def run_task(definition, group=None, **values):
    overrides = {"containerOverrides": [{"name": "batch", "environment": environment(values)}]}
    more = {"group": group} if group else {}
    return client("ecs").run_task(cluster=cluster(), taskDefinition=definition, launchType="FARGATE",
                                  overrides=overrides, **more)["tasks"][0]["taskArn"]


def kill(task):
    """Kills the container of a task by SIGKILL, like a lost host or the kernel."""
    docker.from_env().containers.get(describe(task)["containers"][0]["runtimeId"]).kill()


def family(definition):
    return definition.rpartition("/")[2].partition(":")[0]


def run_state(definition, **values):
    """Returns a Task state that runs the batch and waits for its end."""
    pairs = [{"Name": pair["name"], "Value": pair["value"]} for pair in environment(values)]
    return {"Type": "Task", "Resource": f"{ECS}.sync", "TimeoutSeconds": 60, "End": True, "Arguments": {
        "LaunchType": "FARGATE", "Cluster": cluster(), "TaskDefinition": definition,
        "Overrides": {"ContainerOverrides": [{"Name": "batch", "Environment": pairs}]}}}


def describe(task):
    return client("ecs").describe_tasks(cluster=cluster(), tasks=[task])["tasks"][0]


def reaches(task, status, seconds=20):
    def check():
        found = describe(task)
        return found if found["lastStatus"] == status else None
    return wait_for(check, f"{status} of {task}", seconds)


def lines(task, container="batch"):
    """Returns the log lines of a task's container. Their log stream is PREFIX/CONTAINER/TASK-ID."""
    found = client("logs").filter_log_events(
        logGroupName=f"/{cluster()}", logStreamNames=[f"p/{container}/{task.rpartition('/')[2]}"])
    return [json.loads(event["message"]) for event in found["events"]]


def events(task):
    return [line["event"] for line in lines(task)]


def tasks_of(definition):
    """Returns all tasks of a task definition, in any state."""
    api = client("ecs")
    return [arn for status in ("RUNNING", "STOPPED") for arn in api.list_tasks(
        cluster=cluster(), family=family(definition), desiredStatus=status)["taskArns"]]
