"""Runs a team's exclusive-run. It accepts only the team's own locks, and the platform's functions may stop its runs."""
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
    """Returns the tasks of a lock in the team's cluster."""
    found = client("ecs").list_tasks(cluster=team.cluster, desiredStatus=status)["taskArns"]
    described = client("ecs").describe_tasks(cluster=team.cluster, tasks=found)["tasks"] if found else []
    return [task for task in described if lock in task.get("group", "") and task["lastStatus"] == status]


def wrong():
    team, table = ALL[0], stack_outputs("lockstep")["LockTableName"]
    machine = stack_outputs(team.stack)["ExclusiveRunStateMachineArn"]
    other, own, replaced = (f"{prefix}{unique('run')}" for prefix in (ALL[1].prefix, team.prefix, team.prefix))

    holder = start(machine, batch(team, replaced, 60))
    refused, ran = ended(start(machine, batch(team, other, 0.2))), start(machine, batch(team, own, 0.2))
    rule = f'must begin with "{team.prefix}", the lock prefix of this state machine'
    fault = "FAILED", "Lockstep.InvalidRequest", f'field lock is "{other}", but {rule}'
    if (refused["status"], refused.get("error"), refused.get("cause")) != fault:
        yield f"a lock outside of the prefix was not refused: {refused}"
    if items(table, other) or tasks(team, other):
        yield "the refused request wrote an item or started a task"

    wait_for(lambda: tasks(team, replaced), f"task of {replaced}", 30)
    successor = ended(start(machine, batch(team, replaced, 0.2, overlap="replace")), 60)
    if successor["status"] != "SUCCEEDED" or "StopCode" not in json.loads(successor["output"]):
        yield f"the run that replaces another did not run: {successor}"
    if ended(holder)["status"] != "ABORTED":
        yield f"the platform's functions did not stop the team's run: {ended(holder)}"
    if tasks(team, replaced):
        yield "the platform's functions did not stop the team's task"
    ran = ended(ran, 30)
    if ran["status"] != "SUCCEEDED" or not items(table, own):
        yield f"a run with a lock of the prefix failed: {ran}"
