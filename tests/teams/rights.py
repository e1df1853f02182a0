"""Makes every call as every role of a team. Calls on the team's own resources are allowed, and calls on another's are denied."""
import functools

from evaluate import ACCOUNT, DENIED, FUNCTIONS, arn, reader_role
from ministack.core.iam_evaluator import EvalContext, evaluate, parse_policy_document
from probes.functions import calls_as
from probes.support import client, unique
from quotas import inline_policies, resources
from stacks import ALL, WIDE


def item(table, lock):
    return {"TableName": table, "Key": {"pk": {"S": lock}, "sk": {"S": "lock"}}}


def task(cluster):
    return arn("ecs", f"task/{cluster}/{unique()}")


def stop(cluster):
    return ["ecs", "stop_task", {"cluster": cluster, "task": task(cluster)}]


def describe(cluster):
    return ["ecs", "describe_tasks", {"cluster": cluster, "tasks": [task(cluster)]}]


def protect(cluster):
    return ["ecs", "update_task_protection", {"cluster": cluster, "tasks": [task(cluster)], "protectionEnabled": False}]


def execution(operation, machine):
    return ["stepfunctions", operation, {"executionArn": arn("states", f"execution:{machine}:{unique()}")}]


def of_machine(team, platform, fixture):
    """Returns calls of a team's exclusive-run by name: whether the call is allowed, and the call."""
    other = ALL[1]
    family, elsewhere = team.batches()[0], other.batches()[0]
    of_platform = fixture["BatchTaskDefinitionArn"].rpartition("/")[2].partition(":")[0]

    def run(family, cluster):
        return ["ecs", "run_task", {"taskDefinition": f"{family}:9", "cluster": cluster}]

    def start(machine):
        return ["stepfunctions", "start_execution", {"stateMachineArn": machine, "input": "{}"}]

    def invoke(output):
        return ["lambda", "invoke", {"FunctionName": platform[output], "Payload": "{}"}]

    workflow, others = team.workflows()[0], other.workflows()[0]
    calls = {
        "run its task definition": (True, run(family, team.cluster)),
        "run it in another's cluster": (False, run(family, other.cluster)),
        "run another's task definition": (False, run(elsewhere, team.cluster)),
        "run the platform's": (False, run(of_platform, team.cluster)),
        "stop a task in its cluster": (True, stop(team.cluster)),
        "stop a task in another's": (False, stop(other.cluster)),
        "describe a task in its cluster": (True, describe(team.cluster)),
        "describe a task in another's": (False, describe(other.cluster)),
        "start its workflow": (True, start(arn("states", f"stateMachine:{workflow}"))),
        "start another's workflow": (False, start(arn("states", f"stateMachine:{others}"))),
        "start another's exclusive-run": (False, start(arn("states", f"stateMachine:{other.stack}"))),
        "start the platform's exclusive-run": (False, start(platform["ExclusiveRunStateMachineArn"])),
        "stop an execution of its workflow": (True, execution("stop_execution", workflow)),
        "stop an execution of another's": (False, execution("stop_execution", others)),
        "stop another's run": (False, execution("stop_execution", other.stack)),
        "read the table": (False, ["dynamodb", "get_item", item(platform["LockTableName"], team.prefix)]),
        "put an event": (False, ["events", "put_events", {"Entries": [{
            "Source": "lockstep", "DetailType": "x", "Detail": "{}", "EventBusName": platform["EventBusName"]}]}]),
    }
    machine = {"AcquireLockFunctionArn", "HeartbeatFunctionArn", "ReleaseLockFunctionArn"}
    return {**calls, **{f"invoke {name}": (output in machine, invoke(output)) for name, output in FUNCTIONS.items()}}


def of_container(team, platform, _):
    """Returns calls of a container with the team's TaskLockPolicy."""
    table, other = platform["LockTableName"], ALL[1]

    def transaction(*locks):
        deletes = [{"Delete": item(table, lock)} for lock in locks]
        return ["dynamodb", "transact_write_items", {"TransactItems": deletes}]
    calls = {}
    for what, own, lock in (
            ("its lock", True, f"{team.prefix}nightly"), ("another's lock", False, f"{other.prefix}nightly"),
            ("a lock without a prefix", False, "nightly"), ("the token key", False, "#token-key"),
            ("a lock beside its prefix", False, f"{team.name}x/nightly")):
        for verb in ("get", "update", "delete"):
            calls[f"{verb} {what}"] = own, ["dynamodb", f"{verb}_item", item(table, lock)]
        calls[f"put {what}"] = own, ["dynamodb", "put_item", {"TableName": table, "Item": item(table, lock)["Key"]}]
    pause = {"TableName": table, "Key": {"pk": {"S": "#new-locks"}, "sk": {"S": "iam-evaluation"}}}
    calls["get the pause of all locks"] = True, ["dynamodb", "get_item", pause]
    calls["delete the pause of all locks"] = False, ["dynamodb", "delete_item", pause]
    calls["put the pause of all locks"] = False, ["dynamodb", "put_item", {"TableName": table, "Item": pause["Key"]}]
    own, theirs = f"{team.prefix}a", f"{other.prefix}a"

    def event(source):
        entry = {"Source": source, "DetailType": "x", "Detail": "{}", "EventBusName": platform["EventBusName"]}
        return ["events", "put_events", {"Entries": [entry]}]
    return {
        **calls,
        "write two of its locks": (True, transaction(own, f"{team.prefix}b")),
        "write its lock and another's": (False, transaction(own, theirs)),
        "scan": (False, ["dynamodb", "scan", {"TableName": table}]),
        "query": (False, ["dynamodb", "query", {
            "TableName": table, "KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": own}}}]),
        "describe its run": (True, execution("describe_execution", team.stack)),
        "describe its workflow": (True, execution("describe_execution", team.workflows()[0])),
        "describe another's run": (False, execution("describe_execution", other.stack)),
        "stop its run": (False, execution("stop_execution", team.stack)),
        "describe a task in its cluster": (True, describe(team.cluster)),
        "describe a task in another's": (False, describe(other.cluster)),
        "put an own event": (True, event("lockstep")),
        "put another event": (False, event("aws.imitation")),
        "list tasks of its cluster": (True, ["ecs", "list_tasks", {"cluster": team.cluster}]),
        "list tasks of another's": (False, ["ecs", "list_tasks", {"cluster": other.cluster}]),
    }


def of_recovery(team, platform, _):
    """Returns calls of acquire-lock and the reaper, which may stop the work of teams and no other work."""
    return {
        "stop a team's run": (True, execution("stop_execution", team.stack)),
        "stop a team's workflow": (True, execution("stop_execution", team.workflows()[0])),
        "stop a workflow of another name": (False, execution("stop_execution", "somebody-elses")),
        "stop a workflow whose name only has it": (False, execution("stop_execution", f"x-{team.stack}")),
        "stop a task in a team's cluster": (True, stop(team.cluster)),
        "stop a task in a strange cluster": (False, stop("elsewhere")),
    }


def outcomes(role, role_arn, expected):
    """Makes the calls, and yields each one that is allowed or denied against the expectation."""
    answers = calls_as(role_arn, [call for _, call in expected.values()])
    if not isinstance(answers, list):
        raise SystemExit(f"teams: {role}: {answers}")
    allowed = {name for name, code in zip(expected, answers) if code not in DENIED}
    print(f"teams: {role}: {len(allowed)} calls allowed, {len(expected) - len(allowed)} denied", flush=True)
    for name, (may, _) in expected.items():
        if may != (name in allowed):
            yield f"{role} {'may not' if may else 'may'} {name}"


def may(role, action, resource, **context):
    """Returns whether the deployed inline policies of a role allow an action."""
    asked = EvalContext("", "AssumedRole", ACCOUNT, action, resource, "us-east-1", service_context=context)
    return evaluate(asked, role_policies(role)).decision == "Allow"


@functools.cache
def role_policies(role):
    return [parse_policy_document(document) for document in inline_policies(role)]


def passes(role, target, service):
    """Returns whether a role may pass another role. ECS checks iam:PassRole in RunTask; the emulator does not."""
    return may(role, "iam:PassRole", f"arn:aws:iam::{ACCOUNT}:role/{target}", **{"iam:passedtoservice": service})


def wrong_roles(team, role):
    tasks = "ecs-tasks.amazonaws.com"
    for target, service, expected in ((team.batches()[0], tasks, True), (ALL[1].batches()[0], tasks, False),
                                      ("lockstep-fixture-task", tasks, False), (role, tasks, False),
                                      (team.batches()[0], "lambda.amazonaws.com", False)):
        if passes(role, target, service) != expected:
            yield f"{role} {'may not' if expected else 'may'} pass {target} to {service}"


def wrong_wildcards():
    """Yields faults of a platform whose lists are wildcards: it may start the batches of all teams, and nothing else."""
    roles = {kind: name for kind, name in resources(WIDE) if kind == "AWS::IAM::Role" and "-ExclusiveRunRole-" in name}
    role = roles["AWS::IAM::Role"]
    theirs = [(team.cluster, name) for team in ALL for name in team.batches()]
    for cluster, name, expected in [(cluster, name, True) for cluster, name in theirs] + [
            (ALL[0].cluster, "lockstep-fixture-batch", False), ("elsewhere", theirs[0][1], False)]:
        definition, place = arn("ecs", f"task-definition/{name}:3"), arn("ecs", f"cluster/{cluster}")
        if may(role, "ecs:RunTask", definition, **{"ecs:cluster": place}) != expected:
            yield f"{role} {'may not' if expected else 'may'} run {name} in {cluster}"
    for name, expected in [(name, True) for _, name in theirs] + [("lockstep-fixture-task", False)]:
        if passes(role, name, "ecs-tasks.amazonaws.com") != expected:
            yield f"{role} {'may not' if expected else 'may'} pass {name}"


def wrong(platform, fixture, outputs):
    """Yields each right that is missing, and each that is too much. `outputs` returns the outputs of a team's stack."""
    for team in (ALL[0], ALL[-1]):
        role = outputs(team)["ExclusiveRunRoleArn"]
        yield from outcomes(f"exclusive-run of {team.name}", role, of_machine(team, platform, fixture))
        yield from wrong_roles(team, role.rpartition("/")[2])
        container = reader_role(outputs(team)["TaskLockPolicyArn"])
        yield from outcomes(f"a container of {team.name}", container, of_container(team, platform, fixture))
        service = reader_role(outputs(team)["TaskProtectionPolicyArn"])
        yield from outcomes(f"a service of {team.name}", service, {
            "protect a task in its cluster": (True, protect(team.cluster)),
            "protect a task in another's": (False, protect(ALL[1].cluster)),
            "stop a task in its cluster": (False, stop(team.cluster))})
    yield from wrong_wildcards()
    for name in ("acquire-lock", "reaper"):
        role = client("lambda").get_function_configuration(FunctionName=platform[FUNCTIONS[name]])["Role"]
        yield from outcomes(name, role, of_recovery(ALL[0], platform, fixture))
