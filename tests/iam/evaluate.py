"""Makes every call as every role of the deployed stack. The calls of MAY must be allowed, and all others denied."""
import json
import re
import sys

from probes.functions import calls_as, role_that_may
from probes.support import client, unique
from stackctl.settings import ROOT

DENIED = {"AccessDenied", "AccessDeniedException", "AuthorizationError", "UnauthorizedOperation"}
ACCOUNT = "000000000000"
KEY = {"pk": {"S": "iam-evaluation"}, "sk": {"S": "lock"}}
TOKEN_KEY = {"pk": {"S": "#token-key"}, "sk": {"S": "key"}}
# The sort key differs from that of the real item, so that no call changes that item.
NEW_LOCKS = {"pk": {"S": "#new-locks"}, "sk": {"S": "iam-evaluation"}}


def arn(service, resource):
    return f"arn:aws:{service}:us-east-1:{ACCOUNT}:{resource}"


def calls(outputs, fixture):
    """Returns the calls by name: service, operation and arguments. No call changes anything that exists."""
    table, machine = outputs["LockTableName"], outputs["ExclusiveRunStateMachineArn"].rpartition(":")[2]
    own, other = (arn("states", f"execution:{name}:{unique()}") for name in (machine, "somebody-elses"))
    # An execution that exclusive-run started, of any state machine.
    child = arn("states", f"execution:{unique()}:lockstep-nightly-1-0")
    cluster = fixture["ClusterArn"]
    task = arn("ecs", f"task/{cluster.rpartition('/')[2]}/{unique()}")
    elsewhere = arn("ecs", "cluster/elsewhere")
    item, bus = {"TableName": table, "Key": KEY}, outputs["EventBusName"]
    query = {"TableName": table, "KeyConditionExpression": "pk = :pk",
             "ExpressionAttributeValues": {":pk": KEY["pk"]}}
    due = {"TableName": table, "IndexName": "due", "KeyConditionExpression": "shard = :shard",
           "ExpressionAttributeValues": {":shard": {"S": "0"}}}

    locks = {**due, "IndexName": "locks", "KeyConditionExpression": "lockShard = :shard"}

    def event(source):
        return {"Entries": [{"Source": source, "DetailType": "x", "Detail": "{}", "EventBusName": bus}]}

    return {
        "get": ["dynamodb", "get_item", item],
        "put": ["dynamodb", "put_item", {"TableName": table, "Item": KEY}],
        "update": ["dynamodb", "update_item", item],
        "delete": ["dynamodb", "delete_item", item],
        "get the token key": ["dynamodb", "get_item", {"TableName": table, "Key": TOKEN_KEY}],
        "get the pause of all locks": ["dynamodb", "get_item", {"TableName": table, "Key": NEW_LOCKS}],
        "put the pause of all locks": ["dynamodb", "put_item", {"TableName": table, "Item": NEW_LOCKS}],
        "delete the pause of all locks": ["dynamodb", "delete_item", {"TableName": table, "Key": NEW_LOCKS}],
        "query": ["dynamodb", "query", query],
        "query the index": ["dynamodb", "query", due],
        "query all locks": ["dynamodb", "query", locks],
        "scan": ["dynamodb", "scan", {"TableName": table}],
        "delete the table": ["dynamodb", "delete_table", {"TableName": unique()}],
        "end a state": ["stepfunctions", "send_task_success", {"taskToken": unique(), "output": "{}"}],
        "fail a state": ["stepfunctions", "send_task_failure", {"taskToken": unique()}],
        "describe a run": ["stepfunctions", "describe_execution", {"executionArn": own}],
        "describe another": ["stepfunctions", "describe_execution", {"executionArn": other}],
        "read a definition": ["stepfunctions", "describe_state_machine_for_execution", {"executionArn": own}],
        "read a history": ["stepfunctions", "get_execution_history", {"executionArn": own}],
        "stop a run": ["stepfunctions", "stop_execution", {"executionArn": own}],
        "stop another": ["stepfunctions", "stop_execution", {"executionArn": other}],
        "describe a child": ["stepfunctions", "describe_execution", {"executionArn": child}],
        "stop a child": ["stepfunctions", "stop_execution", {"executionArn": child}],
        "start a guarded workflow": ["stepfunctions", "start_execution", {"stateMachineArn": arn("states", "stateMachine:guarded-none")}],
        "describe a task definition": ["ecs", "describe_task_definition", {"taskDefinition": unique()}],
        "start a run": ["stepfunctions", "start_execution", {"stateMachineArn": arn("states", "stateMachine:none")}],
        # The name has a character that no execution may have, so the call starts none.
        "start exclusive-run": ["stepfunctions", "start_execution", {"stateMachineArn": outputs["ExclusiveRunStateMachineArn"], "name": "a b"}],
        "describe exclusive-run": ["stepfunctions", "describe_state_machine", {"stateMachineArn": outputs["ExclusiveRunStateMachineArn"]}],
        "describe another state machine": ["stepfunctions", "describe_state_machine", {"stateMachineArn": arn("states", "stateMachine:none")}],
        "start a team's run": ["stepfunctions", "start_execution", {"stateMachineArn": arn("states", "stateMachine:lockstep-team-none")}],
        "list runs": ["stepfunctions", "list_executions", {"stateMachineArn": outputs["ExclusiveRunStateMachineArn"]}],
        "list others": ["stepfunctions", "list_executions", {"stateMachineArn": arn("states", "stateMachine:none")}],
        "list state machines": ["stepfunctions", "list_state_machines", {}],
        "list rules": ["events", "list_rules", {}],
        "describe a rule": ["events", "describe_rule", {"Name": unique()}],
        "list targets": ["events", "list_targets_by_rule", {"Rule": unique()}],
        "list schedules": ["scheduler", "list_schedules", {}],
        "get a schedule": ["scheduler", "get_schedule", {"Name": unique()}],
        "describe a task": ["ecs", "describe_tasks", {"cluster": cluster, "tasks": [task]}],
        "list tasks": ["ecs", "list_tasks", {"cluster": cluster}],
        "stop a task": ["ecs", "stop_task", {"cluster": cluster, "task": task}],
        "stop a task elsewhere": ["ecs", "stop_task", {"cluster": elsewhere, "task": task.replace("task/", "task/x")}],
        "run a task": ["ecs", "run_task", {"cluster": cluster, "taskDefinition": "none:1"}],
        "protect a task": ["ecs", "update_task_protection",
                           {"cluster": cluster, "tasks": [task], "protectionEnabled": False}],
        "put an own event": ["events", "put_events", event("lockstep")],
        "put another event": ["events", "put_events", event("aws.imitation")],
        "invoke view": ["lambda", "invoke", {"FunctionName": outputs["ViewFunctionArn"], "Payload": "{}"}],
        "invoke operate": ["lambda", "invoke", {"FunctionName": outputs["OperateFunctionArn"], "Payload": "{}"}],
        "describe the stack": ["cloudformation", "describe_stacks", {"StackName": "lockstep"}],
        "find the stack of the table": ["cloudformation", "describe_stack_resources", {"PhysicalResourceId": outputs["LockTableName"]}],
        "describe another stack": ["cloudformation", "describe_stacks", {"StackName": "lockstep-fixture"}],
        "see a rule of the stack": ["events", "describe_rule", {"Name": physical_id("Sweep")}],
        "see the concurrency of a function": ["lambda", "get_function_concurrency", {"FunctionName": outputs["ReaperFunctionArn"]}],
        "describe a function": ["lambda", "get_function_configuration", {"FunctionName": outputs["ReaperFunctionArn"]}],
        "count dead letters": ["sqs", "get_queue_attributes", {"QueueUrl": outputs["RecoveryDeadLettersUrl"],
                                                              "AttributeNames": ["ApproximateNumberOfMessages"]}],
        # The message has no body, so SQS does not queue it.
        "send a dead letter": ["sqs", "send_message", {"QueueUrl": outputs["RecoveryDeadLettersUrl"], "MessageBody": ""}],
        "publish a mail": ["sns", "publish", {"TopicArn": outputs["MailTopicArn"], "Message": ""}],
        "start a mail": ["stepfunctions", "start_execution", {"stateMachineArn": mail_machine(), "name": "no name"}],
        "see who may write logs": ["logs", "describe_resource_policies", {}],
        "see the topic of mails": ["sns", "get_topic_attributes", {"TopicArn": outputs["MailTopicArn"]}],
        "see the topic of alarms": ["sns", "get_topic_attributes", {"TopicArn": outputs["AlarmTopicArn"]}],
        "read the events": ["logs", "filter_log_events", {"logGroupName": outputs["EventLogGroupName"]}],
        "read a log": ["logs", "filter_log_events", {"logGroupName": "/aws/lambda/lockstep-reaper"}],
        "see the dashboard": ["cloudwatch", "get_dashboard", {"DashboardName": outputs["DashboardName"]}],
        "see another dashboard": ["cloudwatch", "get_dashboard", {"DashboardName": unique()}],
        "invoke acquire-lock": ["lambda", "invoke", {"FunctionName": unique()}],
        "assume a role": ["sts", "assume_role", {"RoleArn": arn("iam", "role/none"), "RoleSessionName": "iam"}],
        "list functions": ["lambda", "list_functions", {}],
        "send to a queue": ["sqs", "send_message", {"QueueUrl": f"http://queue/{ACCOUNT}/{unique()}", "MessageBody": "x"}],
    }


ITEMS = {"get", "put", "update", "delete"}
PAUSE = {"get the pause of all locks", "put the pause of all locks", "delete the pause of all locks"}
FUNCTION = ITEMS | PAUSE | {"get the token key", "end a state", "describe a run", "describe another", "describe a child",
                    "put an own event"}
RECOVERY = {"read a definition", "read a history", "stop a run", "stop a child", "describe a task", "list tasks", "stop a task"}

DOCTOR = {"describe the stack", "find the stack of the table", "describe a function", "see the concurrency of a function",
          "see a rule of the stack", "count dead letters", "see the dashboard",
          "describe exclusive-run", "see who may write logs", "see the topic of mails"}

# What each role may do. All other calls have to be denied.
MAY = {
    "acquire-lock": FUNCTION | RECOVERY,
    "heartbeat": FUNCTION | {"protect a task"},
    "release-lock": FUNCTION | {"protect a task", "query"},
    "reaper": FUNCTION | RECOVERY | {"query the index", "send a dead letter"},
    "check-running-executions": {"list runs", "list others"},
    "operate": FUNCTION | RECOVERY | {"start exclusive-run", "describe exclusive-run", "start a team's run", "query", "query all locks", "read the events",
                                     "get a schedule", "describe a rule", "see a rule of the stack", "list targets"},
    "view": {"get", "get the pause of all locks", "query", "query all locks", "describe a run", "describe another", "describe a child", "read a definition",
             "read a history", "describe a task", "list tasks", "read the events"},
    "exclusive-run": {"see who may write logs", "start a guarded workflow", "describe a child", "stop a child", "describe a task definition",
                      "describe a task", "stop a task"},
    "mail": {"publish a mail", "see who may write logs"},
    "start of a mail": {"start a mail"},
    "a container": ITEMS | {"get the pause of all locks", "describe a run", "describe a child", "describe a task", "list tasks", "protect a task", "put an own event"},
    "a viewer": {"invoke view"} | DOCTOR,
    "an operator": {"invoke view", "invoke operate"} | DOCTOR,
    "an auditor": {"list state machines", "list runs", "list others", "list rules", "list targets", "list schedules", "get a schedule"},
}
FUNCTIONS = {"acquire-lock": "AcquireLockFunctionArn", "heartbeat": "HeartbeatFunctionArn",
             "release-lock": "ReleaseLockFunctionArn", "reaper": "ReaperFunctionArn",
             "check-running-executions": "CheckRunningExecutionsFunctionArn", "view": "ViewFunctionArn",
             "operate": "OperateFunctionArn"}


def stack_outputs(name):
    described = client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in described["Outputs"]}


def auditor_role():
    """Creates a role with the policy of docs/audit.md, and returns its ARN."""
    page = (ROOT / "docs" / "audit.md").read_text()
    policy = next(block for block in re.findall(r"```json\n(.*?)```", page, re.S) if '"Statement"' in block)
    return role_that_may(*[(statement["Action"], statement["Resource"].replace("REGION", "us-east-1").replace("ACCOUNT", ACCOUNT))
                           for statement in json.loads(policy)["Statement"]])


def physical_id(logical_id):
    described = client("cloudformation").describe_stack_resource(StackName="lockstep", LogicalResourceId=logical_id)
    return described["StackResourceDetail"]["PhysicalResourceId"]


def mail_machine():
    return physical_id("MailStateMachine")


def reader_role(policy_arn):
    trust = {"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}]}
    name = unique("reader")
    made = client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))
    client("iam").attach_role_policy(RoleName=name, PolicyArn=policy_arn)
    return made["Role"]["Arn"]


def roles(outputs, fixture):
    for role, output in FUNCTIONS.items():
        yield role, client("lambda").get_function_configuration(FunctionName=outputs[output])["Role"]
    machine = outputs["ExclusiveRunStateMachineArn"]
    yield "exclusive-run", client("stepfunctions").describe_state_machine(stateMachineArn=machine)["roleArn"]
    yield "mail", client("stepfunctions").describe_state_machine(stateMachineArn=mail_machine())["roleArn"]
    yield "start of a mail", client("iam").get_role(RoleName=physical_id("MailStartRole"))["Role"]["Arn"]
    yield "a container", fixture["InsideTaskRoleArn"]
    yield "an operator", reader_role(outputs["OperatorPolicyArn"])
    yield "a viewer", reader_role(outputs["ViewerPolicyArn"])
    yield "an auditor", auditor_role()


def main():
    outputs, fixture = stack_outputs("lockstep"), stack_outputs("lockstep-fixture")
    tried = calls(outputs, fixture)
    wrong = []
    for role, role_arn in roles(outputs, fixture):
        answers = calls_as(role_arn, list(tried.values()))
        if not isinstance(answers, list):
            raise SystemExit(f"iam: {role}: {answers}")
        may = {name for name, code in zip(tried, answers) if code not in DENIED}
        wrong += [f"{role} may {name}" for name in sorted(may - MAY[role])]
        wrong += [f"{role} may not {name}" for name in sorted(MAY[role] - may)]
        print(f"iam: {role}: {len(may)} calls allowed, {len(tried) - len(may)} denied", flush=True)
    for line in wrong:
        print(f"iam: WRONG: {line}")
    print(f"iam: {len(tried)} calls as {len(MAY)} roles, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
