"""Probes of the behaviour that the design assumes for Step Functions, Lambda, IAM and DynamoDB."""
import json
import re
import time
from pathlib import Path

from botocore.exceptions import ClientError

from .registry import Skipped, check, probe

DEFINITIONS = Path(__file__).resolve().parents[3] / "statemachines"
TOKEN = "{% $states.context.Task.Token %}"
REDRIVES = "{% $states.context.Execution.RedriveCount %}"
EARLY = """import boto3, time
def handler(event, context):
    boto3.client("stepfunctions").send_task_success(taskToken=event["token"], output='"early"')
    time.sleep(event["seconds"])
    return "late"
"""
# Fails like the lock functions: through the runtime API, with an error type of its own.
FAILING = """#!/bin/sh
api=http://$AWS_LAMBDA_RUNTIME_API/2018-06-01/runtime/invocation
while :; do
  id=$(curl -sS -D - -o /dev/null "$api/next" | tr -d '\\r' | sed -n 's/^[Ll]ambda-[Rr]untime-[Aa]ws-[Rr]equest-[Ii]d: *//p')
  curl -sS -o /dev/null "$api/$id/error" -d '{"errorType": "Lockstep.LeaseLost", "errorMessage": "on purpose"}'
done
"""


def waiting(scratch, url, body=None, **fields):
    """Returns a Task state that sends its token to a queue and waits."""
    return {"Type": "Task", "Resource": scratch.integration("sqs:sendMessage.waitForTaskToken"), "End": True,
            "Arguments": {"QueueUrl": url, "MessageBody": {"token": TOKEN, **(body or {})}}, **fields}


def calling(scratch, resource, function, payload):
    """Returns a Task state that calls a function."""
    return {"Type": "Task", "Resource": scratch.integration(resource), "End": True, "TimeoutSeconds": 30,
            "Arguments": {"FunctionName": function, "Payload": payload}}


def failed_with(description, error):
    check((description["status"], description.get("error")) == ("FAILED", error),
          f"{description['status']} with {description.get('error')}: {description.get('cause')}")


def answer(scratch, token, output='"done"'):
    scratch.client("stepfunctions").send_task_success(taskToken=token, output=output)


def filled(text, partition):
    """Replaces each placeholder of a definition by a sample value of its kind. Raises StopIteration for an unknown kind."""
    arn = f"arn:{partition}:{{}}:us-east-1:111122223333:{{}}"
    kinds = {"FunctionArn": arn.format("lambda", "function:sample"), "StateMachineArn": arn.format("states", "stateMachine:sample"),
             "TopicArn": arn.format("sns", "sample"),
             "ClusterArn": arn.format("ecs", "cluster/sample"), "TaskDefinitionArn": arn.format("ecs", "task-definition/sample:1"),
             "Partition": partition, "SubnetId": "subnet-0123456789abcdef0", "BucketName": "sample", "LockName": "sample", "LockPrefix": ""}

    def value(found):
        name = found[1]
        return next(value for end, value in kinds.items() if name.endswith(end))
    return re.sub(r"\$\{(\w+)\}", value, text)


@probe("definitions-are-accepted", free=True)
def definitions_are_accepted(scratch):
    api = scratch.client("stepfunctions")
    paths = sorted(DEFINITIONS.rglob("*.asl.json"))
    check(len(paths) > 4, f"only {len(paths)} definitions in {DEFINITIONS}")
    for path in paths:
        text = filled(path.read_text(), scratch.partition)
        response = api.validate_state_machine_definition(definition=text, type="STANDARD")
        check(response["result"] == "OK", f"{path.name}: {json.dumps(response['diagnostics'])}")
    # Checks that the endpoint refuses a broken definition: otherwise its results mean nothing.
    broken = api.validate_state_machine_definition(definition='{"StartAt": "A", "States": {"A": {"Type": "Task"}}}')
    if broken["result"] == "OK":
        raise Skipped("the endpoint also accepts a Task without a Resource")
    return f"{len(paths)} definitions"


@probe("each-attempt-has-a-new-token-and-new-arguments")
def each_attempt_has_a_new_token(scratch):
    url = scratch.queue()
    retry = {"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 1, "BackoffRate": 1, "MaxAttempts": 20}
    body = {"made": "{% $millis() %}", "count": "{% $states.context.State.RetryCount %}"}
    execution = scratch.start(scratch.machine({
        "Wait": waiting(scratch, url, body, TimeoutSeconds=scratch.seconds(5, 2), Retry=[retry])}))
    first, second = scratch.receive(url), scratch.receive(url)
    check(first["token"] != second["token"], "both attempts have one token")
    check(first["made"] != second["made"], "the arguments of both attempts were evaluated once")
    check((first["count"], second["count"]) == (0, 1), f"RetryCount was {first['count']}, then {second['count']}")
    try:
        answer(scratch, first["token"])
        check(False, "the token of the first attempt still answers")
    except ClientError as error:
        check(error.response["Error"]["Code"] in ("TaskTimedOut", "TaskDoesNotExist", "InvalidToken"), str(error))
    answer(scratch, second["token"])
    check(scratch.ended(execution)["status"] == "SUCCEEDED", "the second token did not end the state")


@probe("success-before-the-call-returns")
def success_before_the_call_returns(scratch):
    payload = {"token": TOKEN, "seconds": scratch.seconds(8, 3)}
    state = calling(scratch, "lambda:invoke.waitForTaskToken", scratch.function(EARLY), payload)
    started = time.monotonic()
    ended = scratch.ended(scratch.start(scratch.machine({"Call": state})))
    check(ended.get("output") == '"early"', f"{ended['status']}: {ended.get('output') or ended.get('cause')}")
    return f"after {time.monotonic() - started:.1f} s"


@probe("error-of-a-function-names-the-error-of-the-state")
def error_of_a_function(scratch):
    function = scratch.function(FAILING, "provided.al2023", "bootstrap")
    for resource, payload in (("lambda:invoke", {}), ("lambda:invoke.waitForTaskToken", {"token": TOKEN})):
        state = calling(scratch, resource, function, payload)
        failed_with(scratch.ended(scratch.start(scratch.machine({"Call": state}))), "Lockstep.LeaseLost")


@probe("state-without-a-language-has-that-of-the-definition")
def language_of_a_state(scratch):
    """Runs a JSONPath state inside a JSONata Parallel, as `lockstep weave` writes a definition in JSONPath."""
    work = {"StartAt": "Work", "States": {"Work": {
        "Type": "Pass", "Parameters": {"made.$": "States.Format('{}-7', $.name)"}, "End": True}}}
    around = {"Type": "Parallel", "QueryLanguage": "JSONata", "Arguments": "{% $input %}", "Branches": [work],
              "Output": "{% $states.result[0] %}", "End": True}
    entry = {"Type": "Pass", "QueryLanguage": "JSONata", "Assign": {"input": "{% $states.input %}"}, "Next": "Around"}
    # A definition without the field is in JSONPath.
    machine = scratch.machine({"Entry": entry, "Around": around}, QueryLanguage=None)
    ended = scratch.ended(scratch.start(machine, {"name": "row"}))
    output = json.loads(ended.get("output", "null"))
    check(output == {"made": "row-7"}, f"{ended['status']}: {output or ended.get('cause')}")


@probe("time-limit-may-be-a-jsonata-number")
def time_limit_may_be_jsonata(scratch):
    state = waiting(scratch, scratch.queue(), TimeoutSeconds="{% $states.input.limit %}")
    started = time.monotonic()
    failed_with(scratch.ended(scratch.start(scratch.machine({"Wait": state}), {"limit": 2})), "States.Timeout")
    check(time.monotonic() - started < 30, "the limit of 2 s was not kept")


@probe("timers-of-a-short-lease-are-kept")
def timers_are_kept(scratch):
    """Heartbeats of a lease of 10 s, by a state of 3 s and a Retry after 1 s: no two may be 10 s apart."""
    url, longest = scratch.queue(), 0.0
    retry = {"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 1, "BackoffRate": 1, "MaxAttempts": 99999998}
    scratch.start(scratch.machine({
        "Wait": waiting(scratch, url, {"at": "{% $millis() %}"}, TimeoutSeconds=3, Retry=[retry])}))
    last, beats, end = scratch.receive(url)["at"], 0, time.monotonic() + scratch.seconds(60 * scratch.options.minutes, 12)
    while time.monotonic() < end:
        at = scratch.receive(url)["at"]
        # A standard queue may deliver messages in another order, so older messages do not count.
        longest, last, beats = max(longest, (at - last) / 1000), max(at, last), beats + 1
    check(longest < 10, f"{longest:.1f} s between two heartbeats of 4 s")
    return f"{beats} heartbeats, at most {longest:.1f} s apart"


@probe("catch-leads-back-to-its-own-state")
def catch_leads_back(scratch):
    """Heartbeats that come less and less often: each timeout enters the state again, with a longer timeout and a new token."""
    url = scratch.queue()
    caught = {"ErrorEquals": ["States.Timeout"], "Assign": {"limit": "{% $limit + 2 %}"}, "Next": "Wait"}
    first = {"Type": "Pass", "Assign": {"limit": 1}, "Next": "Wait"}
    state = waiting(scratch, url, {"limit": "{% $limit %}"}, TimeoutSeconds="{% $limit %}", Catch=[caught])
    execution = scratch.start(scratch.machine({"First": first, "Wait": state}))
    started = time.monotonic()
    beats = [scratch.receive(url) for _ in range(3)]
    took = time.monotonic() - started
    check([beat["limit"] for beat in beats] == [1, 3, 5], f"limits of {[beat['limit'] for beat in beats]} s")
    check(len({beat["token"] for beat in beats}) == 3, "the state entered again has the same token")
    check(took > 3.5, f"the third came after {took:.1f} s: the limits were not kept")
    answer(scratch, beats[2]["token"])
    check(scratch.ended(execution)["status"] == "SUCCEEDED", "the last token did not end the state")
    return f"the third after {took:.1f} s"


@probe("error-in-arguments-is-caught-by-its-name")
def error_in_arguments(scratch):
    state = {**waiting(scratch, scratch.queue()), "Arguments": "{% $error('not twice') %}", "TimeoutSeconds": 30,
             "Catch": [{"ErrorEquals": ["States.QueryEvaluationError"], "Next": "Caught"}]}
    ended = scratch.ended(scratch.start(scratch.machine({"Call": state, "Caught": {"Type": "Succeed"}})))
    check(ended["status"] == "SUCCEEDED", f"{ended.get('error')}: {ended.get('cause')}")


@probe("aborted-execution-goes-on-with-its-redrive-count")
def aborted_execution_is_redriven(scratch):
    url, api = scratch.queue(), scratch.client("stepfunctions")
    body = {"count": REDRIVES, "made": "{% $made %}"}
    execution = scratch.start(scratch.machine({
        "First": {"Type": "Pass", "Assign": {"made": "{% $millis() %}"}, "Next": "Both"},
        "Both": {"Type": "Parallel", "End": True, "Branches": [{"StartAt": "Token", "States": {
            "Token": waiting(scratch, url, body)}}]}}))
    first = scratch.receive(url)
    api.stop_execution(executionArn=execution)
    stopped = scratch.ended(execution)
    check("stopDate" in stopped, "DescribeExecution has no stopDate")
    api.redrive_execution(executionArn=execution)
    second = scratch.receive(url)
    check((first["count"], second["count"]) == (0, 1), f"RedriveCount was {first['count']}, then {second['count']}")
    check(first["made"] == second["made"], "the variables were not kept")
    check(first["token"] != second["token"], "the redriven state has the old token")
    answer(scratch, second["token"])
    # DescribeExecution may lag, and still show the execution before the redrive.
    scratch.wait_for(lambda: scratch.described(execution)["status"] == "SUCCEEDED", "success")
    count = scratch.described(execution)["redriveCount"]
    check(count == 1, f"DescribeExecution has redriveCount {count}")


@probe("redriven-fail-state-fails-again")
def redriven_fail_state(scratch):
    api = scratch.client("stepfunctions")
    execution = scratch.start(scratch.machine({
        "Before": {"Type": "Pass", "Next": "Fail"}, "Fail": {"Type": "Fail", "Error": "Lockstep.LeaseLost"}}))
    failed_with(scratch.ended(execution), "Lockstep.LeaseLost")
    api.redrive_execution(executionArn=execution)
    scratch.wait_for(lambda: scratch.described(execution).get("redriveCount") == 1, "redrive")
    failed_with(scratch.ended(execution), "Lockstep.LeaseLost")


@probe("task-definition-without-a-revision-grants-nothing")
def task_definition_needs_a_revision(scratch):
    family = f"arn:{scratch.partition}:ecs:us-east-1:111122223333:task-definition/report"

    def decision(resource):
        statement = {"Effect": "Allow", "Action": "ecs:RunTask", "Resource": resource}
        response = scratch.client("iam").simulate_custom_policy(
            PolicyInputList=[json.dumps({"Version": "2012-10-17", "Statement": [statement]})],
            ActionNames=["ecs:RunTask"], ResourceArns=[f"{family}:7"])
        return response["EvaluationResults"][0]["EvalDecision"]
    if decision(f"arn:{scratch.partition}:ecs:us-east-1:111122223333:task-definition/other:*") == "allowed":
        raise Skipped("the endpoint's policy simulator allows everything")
    check(decision(f"{family}:*") == "allowed", "an ARN with :* is not allowed")
    check(decision(family) != "allowed", "an ARN without a revision is allowed")


@probe("refused-write-returns-the-item")
def refused_write_returns_the_item(scratch):
    api, name = scratch.client("dynamodb"), scratch.name("table")
    scratch.create(f"table {name}", lambda: api.create_table(
        TableName=name, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}]), lambda _: api.delete_table(TableName=name))
    api.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": scratch.seconds(3, 1)})
    item = {"pk": {"S": "lock"}, "version": {"N": "1"}}
    api.put_item(TableName=name, Item=item)
    write = {"TableName": name, "Item": item, "ConditionExpression": "attribute_not_exists(pk)",
             "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    try:
        api.put_item(**write)
        check(False, "the condition was not checked")
    except api.exceptions.ConditionalCheckFailedException as error:
        check(error.response.get("Item") == item, "the refused write returns no item")
    try:
        api.transact_write_items(TransactItems=[{"Put": write}])
        check(False, "the condition of the transaction was not checked")
    except api.exceptions.TransactionCanceledException as error:
        check(error.response["CancellationReasons"][0].get("Item") == item, "the refused transaction returns no item")
