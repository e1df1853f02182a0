"""A team's exclusive-run at work: its own locks only, and under the platform's functions like any other."""
import json

from evaluate import stack_outputs
from probes.support import client, ended, start, unique, wait_for
from stacks import ALL


def batch(team, lock, seconds, **fields):
    network = {"AwsvpcConfiguration": {"Subnets": ["subnet-1"]}}
    own = {"Name": "batch", "Environment": [{"Name": "BATCH_SECONDS", "Value": str(seconds)}]}
    return {"lock": lock, **fields, "work": {"container": "batch", "runTask": {
        "LaunchType": "FARGATE", "Cluster": team.cluster, "TaskDefinition": team.batches()[0],
        "NetworkConfiguration": network, "Overrides": {"ContainerOverrides": [own]}}}}


def items(table, lock):
    return client("dynamodb").query(TableName=table, KeyConditionExpression="pk = :pk",
                                    ExpressionAttributeValues={":pk": {"S": lock}})["Items"]


def tasks(team, lock, status="RUNNING"):
    """Tasks of a lock in the team's cluster."""
    found = client("ecs").list_tasks(cluster=team.cluster, desiredStatus=status)["taskArns"]
    described = client("ecs").describe_tasks(cluster=team.cluster, tasks=found)["tasks"] if found else []
    return [task for task in described if lock in task.get("group", "") and task["lastStatus"] == status]


def wrong():
    team, table = ALL[0], stack_outputs("lockstep")["LockTableName"]
    machine = stack_outputs(team.stack)["ExclusiveRunStateMachineArn"]
    other, own, replaced = (f"{prefix}{unique('run')}" for prefix in (ALL[1].prefix, team.prefix, team.prefix))

    holder = start(machine, batch(team, replaced, 60))
    refused, ran = ended(start(machine, batch(team, other, 0.2))), start(machine, batch(team, own, 0.2))
    rule = f'must begin with "{team.prefix}", the prefix of the locks of this state machine'
    fault = "FAILED", "Lockstep.InvalidRequest", f'field lock is "{other}", but {rule}'
    if (refused["status"], refused.get("error"), refused.get("cause")) != fault:
        yield f"a lock outside of the prefix is not refused: {refused}"
    if items(table, other) or tasks(team, other):
        yield "a refused request has written an item or started a task"

    wait_for(lambda: tasks(team, replaced), f"task of {replaced}", 30)
    successor = ended(start(machine, batch(team, replaced, 0.2, overlap="replace")), 60)
    if successor["status"] != "SUCCEEDED" or "StopCode" not in json.loads(successor["output"]):
        yield f"a run that replaces another has not run: {successor}"
    if ended(holder)["status"] != "ABORTED":
        yield f"the functions of the platform have not stopped a team's run: {ended(holder)}"
    if tasks(team, replaced):
        yield "the functions of the platform have not stopped a team's task"
    ran = ended(ran, 30)
    if ran["status"] != "SUCCEEDED" or not items(table, own):
        yield f"a lock within the prefix has not run: {ran}"
