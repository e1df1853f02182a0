"""Probes of the behaviour that the design assumes for Amazon ECS. They need subnets for Fargate tasks."""
import json
import time

from .events import once, universal
from .registry import Skipped, check, probe
from .workflows import failed_with

ON_SIGTERM = "trap 'exit 143' TERM; sleep {} & wait $!"


def cluster(scratch):
    if not scratch.options.subnets:
        raise Skipped("needs subnets for a Fargate task: SUBNETS=subnet-...")
    api = scratch.client("ecs")

    def delete(name):
        tasks = [task for status in ("RUNNING", "STOPPED") for task in api.list_tasks(
            cluster=name, desiredStatus=status)["taskArns"]]
        for task in tasks:
            api.stop_task(cluster=name, task=task, reason="the probes are over")
        if tasks:
            api.get_waiter("tasks_stopped").wait(cluster=name, tasks=tasks)
        api.delete_cluster(cluster=name)

    def make():
        name = scratch.name("cluster")
        return scratch.create(f"cluster {name}", lambda: api.create_cluster(clusterName=name) and name, delete)
    return scratch.shared("cluster", make)


def task_definition(scratch, seconds):
    """Registers a new family for a probe. The name of the family tells the tasks of probes apart."""
    api, name = scratch.client("ecs"), scratch.name("task")
    container = {"name": "work", "image": scratch.options.image, "essential": True, "stopTimeout": 5,
                 "entryPoint": ["/bin/sh", "-c"], "command": [ON_SIGTERM.format(seconds)]}

    def delete(arn):
        api.deregister_task_definition(taskDefinition=arn)
        api.delete_task_definitions(taskDefinitions=[arn])
    return scratch.create(f"task definition {name}", lambda: api.register_task_definition(
        family=name, networkMode="awsvpc", requiresCompatibilities=["FARGATE"], cpu="256", memory="512",
        containerDefinitions=[container])["taskDefinition"]["taskDefinitionArn"], delete)


def network(scratch):
    """Returns the network configuration in the upper camel case of Step Functions and the Scheduler."""
    groups = [group for group in scratch.options.security_groups.split(",") if group]
    return {"AwsvpcConfiguration": {
        "Subnets": scratch.options.subnets.split(","), **({"SecurityGroups": groups} if groups else {}),
        "AssignPublicIp": "ENABLED" if scratch.options.public_ip else "DISABLED"}}


def lower(value):
    """Returns the value with its names in the lower camel case of the API."""
    if isinstance(value, dict):
        return {key[0].lower() + key[1:]: lower(field) for key, field in value.items()}
    return value


def family(definition):
    return definition.rpartition("/")[2].partition(":")[0]


def tasks_of(scratch, definition):
    return [task for status in ("RUNNING", "STOPPED") for task in scratch.client("ecs").list_tasks(
        cluster=cluster(scratch), family=family(definition), desiredStatus=status)["taskArns"]]


def described(scratch, task):
    found = scratch.client("ecs").describe_tasks(cluster=cluster(scratch), tasks=[task])["tasks"]
    return found[0] if found else {"lastStatus": "MISSING", "desiredStatus": "MISSING"}


def observed(scratch):
    """Returns what was observed of one task from RunTask to its end. Several probes share it."""
    return scratch.shared("observed", lambda: observe(scratch))


def observe(scratch):
    name, definition = cluster(scratch), task_definition(scratch, 3)
    group = f"lockstep:{scratch.prefix}/nightly:report.v1:ba7816bf8f01cfea"
    url = scratch.events({"source": ["aws.ecs"], "detail": {"group": [group], "lastStatus": ["STOPPED"]}})
    environment = [{"name": "LOCKSTEP_LOCK", "value": "nightly:report.v1"}]
    answer = scratch.client("ecs").run_task(
        cluster=name, taskDefinition=definition, launchType="FARGATE", group=group,
        networkConfiguration=lower(network(scratch)),
        overrides={"containerOverrides": [{"name": "work", "environment": environment}]})
    check(not answer["failures"], str(answer["failures"]))
    task, since = answer["tasks"][0]["taskArn"], time.monotonic()
    scratch.wait_for(lambda: task in tasks_of(scratch, definition), "task in ListTasks", 120)
    listed = time.monotonic() - since
    detail, since = scratch.receive(url, 300)["detail"], time.monotonic()
    stopped = scratch.wait_for(
        lambda: (found := described(scratch, task))["lastStatus"] == "STOPPED" and found, "STOPPED task", 120)
    return {"group": group, "environment": environment, "detail": detail, "stopped": stopped, "listed": listed,
            "behind": time.monotonic() - since}


@probe("group-may-hold-colon-slash-and-dot")
def group_may_hold(scratch):
    seen = observed(scratch)
    check(seen["stopped"]["group"] == seen["group"], f"DescribeTasks has {seen['stopped']['group']}")
    check(seen["detail"]["group"] == seen["group"], f"the event has {seen['detail']['group']}")


@probe("override-environment-is-in-task-events")
def override_environment(scratch):
    seen = observed(scratch)
    overrides = seen["detail"]["overrides"]["containerOverrides"]
    check(any(one.get("environment") == seen["environment"] for one in overrides), f"the event has {overrides}")


@probe("reads-of-tasks-follow-their-events")
def reads_follow(scratch):
    seen = observed(scratch)
    stopped = seen["stopped"]
    leaving = (stopped["stoppedAt"] - stopped["executionStoppedAt"]).total_seconds()
    return (f"ListTasks {seen['listed']:.1f} s behind RunTask, DescribeTasks {seen['behind']:.1f} s behind the event, "
            f"STOPPED {leaving:.1f} s after the container's end")


def run_task(scratch, definition, **fields):
    return {"Type": "Task", "Resource": scratch.integration("ecs:runTask.sync"), "End": True, "Arguments": {
        "LaunchType": "FARGATE", "Cluster": cluster(scratch), "TaskDefinition": definition,
        "NetworkConfiguration": network(scratch)}, **fields}


def running(scratch, definition):
    """Waits until the task of a definition is RUNNING, and returns its ARN."""
    def poll():
        found = [described(scratch, task) for task in tasks_of(scratch, definition)]
        return next((task["taskArn"] for task in found if task["lastStatus"] == "RUNNING"), None)
    return scratch.wait_for(poll, f"running task of {family(definition)}", 180)


def is_stopped(scratch, task, what):
    scratch.wait_for(lambda: described(scratch, task)["desiredStatus"] == "STOPPED", f"stop of the task {what}", 60)


@probe("time-out-of-the-state-stops-its-task")
def time_out_stops(scratch):
    name, definition = cluster(scratch), task_definition(scratch, 600)
    execution = scratch.start(scratch.machine({
        "Run": run_task(scratch, definition, TimeoutSeconds=scratch.seconds(120, 4))}))
    task = running(scratch, definition)
    failed_with(scratch.ended(execution, 180), "States.Timeout")
    is_stopped(scratch, task, f"after the time-out in {name}")


@probe("stopped-execution-stops-its-task")
def stopped_execution_stops(scratch):
    definition = task_definition(scratch, 600) if cluster(scratch) else None
    execution = scratch.start(scratch.machine({"Run": run_task(scratch, definition, TimeoutSeconds=600)}))
    task = running(scratch, definition)
    scratch.client("stepfunctions").stop_execution(executionArn=execution)
    is_stopped(scratch, task, "after StopExecution")


@probe("failing-branch-stops-the-task-of-the-other")
def failing_branch_stops(scratch):
    name, url = cluster(scratch), scratch.queue()
    definition = task_definition(scratch, 600)
    token = {"Type": "Task", "Resource": scratch.integration("sqs:sendMessage.waitForTaskToken"), "End": True,
             "TimeoutSeconds": 600,
             "Arguments": {"QueueUrl": url, "MessageBody": {"token": "{% $states.context.Task.Token %}"}}}
    execution = scratch.start(scratch.machine({"Both": {"Type": "Parallel", "End": True, "Branches": [
        {"StartAt": "Run", "States": {"Run": run_task(scratch, definition, TimeoutSeconds=600)}},
        {"StartAt": "Token", "States": {"Token": token}}]}}))
    task, message = running(scratch, definition), scratch.receive(url)
    scratch.client("stepfunctions").send_task_failure(taskToken=message["token"], error="Lockstep.LeaseLost")
    failed_with(scratch.ended(execution), "Lockstep.LeaseLost")
    is_stopped(scratch, task, f"after the other branch failed in {name}")


@probe("refused-run-task-is-in-the-history")
def refused_run_task(scratch):
    """The call is in a branch, so events of another branch are between its events."""
    run = run_task(scratch, task_definition(scratch, 1))
    run["Arguments"]["Cluster"] = scratch.name("no-cluster")
    wait = {"Type": "Wait", "Seconds": 1, "End": True}
    execution = scratch.start(scratch.machine({"Both": {"Type": "Parallel", "End": True, "Branches": [
        {"StartAt": "Run", "States": {"Run": run}}, {"StartAt": "Wait", "States": {"Wait": wait}}]}}))
    failed_with(scratch.ended(execution, 60), "ECS.ClusterNotFoundException")
    events = scratch.client("stepfunctions").get_execution_history(executionArn=execution, reverseOrder=True)["events"]
    by_id = {event["id"]: event for event in events}
    failed = next(event for event in events if event["type"] in ("TaskSubmitFailed", "TaskFailed") and
                  event.get("previousEventId") in by_id)
    before = by_id[failed["previousEventId"]]
    scheduled = by_id[before["previousEventId"]] if before["type"] == "TaskStarted" else before
    check(scheduled["type"] == "TaskScheduled", f"{failed['type']} follows {before['type']} and {scheduled['type']}")
    call = scheduled["taskScheduledEventDetails"]
    check((call["resourceType"], call["resource"]) == ("ecs", "runTask.sync"), f"it is {call}")
    asked = json.loads(call["parameters"])
    check(asked["Cluster"] == run["Arguments"]["Cluster"], f"the parameters are {asked}")


@probe("schedule-starts-a-task")
def schedule_starts_a_task(scratch):
    """A universal target of RunTask takes nested names in upper camel case."""
    name, definition = cluster(scratch), task_definition(scratch, 1)
    environment = [{"Name": "RUN_KEY", "Value": "<aws.scheduler.scheduled-time>"}]
    key = once(scratch, universal(scratch, "ecs:runTask"), {
        "Cluster": name, "TaskDefinition": definition, "LaunchType": "FARGATE", "NetworkConfiguration": network(scratch),
        "Overrides": {"ContainerOverrides": [{"Name": "work", "Environment": environment}]}})
    task = scratch.wait_for(lambda: tasks_of(scratch, definition), "task of the schedule", 240)[0]
    override = described(scratch, task)["overrides"]["containerOverrides"][0]
    check(override["environment"] == [{"name": "RUN_KEY", "value": key.partition("#")[2]}], f"it has {override}")
