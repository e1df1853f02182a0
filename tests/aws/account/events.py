"""Probes of the behaviour that the design assumes for EventBridge, its Scheduler and Amazon SNS, and of how far reads lag."""
import datetime
import json
import time

from .registry import check, probe

KEY = "<aws.scheduler.schedule-arn>#<aws.scheduler.scheduled-time>"


def once(scratch, target, request):
    """Creates a schedule that fires once, within two minutes. Returns the run key that the Scheduler fills in."""
    api, name, role = scratch.client("scheduler"), scratch.name("schedule"), scratch.role()
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=scratch.seconds(90, 2))
    if not scratch.local:
        at = at.replace(second=0)  # the Scheduler keeps whole minutes
    arn = scratch.create(f"schedule {name}", lambda: api.create_schedule(
        Name=name, ScheduleExpression=f"at({at:%Y-%m-%dT%H:%M:%S})", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": target, "RoleArn": role, "Input": json.dumps(request),
                "RetryPolicy": {"MaximumRetryAttempts": 0}})["ScheduleArn"], lambda _: api.delete_schedule(Name=name))
    return f"{arn}#{at:%Y-%m-%dT%H:%M:%SZ}"


def universal(scratch, action):
    return f"arn:{scratch.partition}:scheduler:::aws-sdk:{action}"


@probe("schedule-fills-in-the-run-key")
def schedule_fills_in_the_run_key(scratch):
    """A universal target takes its request in upper camel case, with the context attributes filled in."""
    machine, states = scratch.machine({"End": {"Type": "Succeed"}}), scratch.client("stepfunctions")
    request = {"StateMachineArn": machine, "Input": json.dumps({"runKey": KEY})}
    key = once(scratch, universal(scratch, "sfn:startExecution"), request)
    listed = scratch.wait_for(lambda: states.list_executions(stateMachineArn=machine)["executions"],
                              "execution of the schedule", 240, scratch.seconds(2, 0.2))
    seen = json.loads(scratch.described(listed[0]["executionArn"])["input"])["runKey"]
    check(seen == key, f"the run key is {seen}, not {key}")


@probe("topic-gets-events-without-a-condition")
def topic_gets_events(scratch):
    api, name, url, source = scratch.client("sns"), scratch.name("topic"), scratch.queue("alerts"), scratch.name("source")
    topic = scratch.create(f"topic {name}", lambda: api.create_topic(Name=name)["TopicArn"],
                           lambda arn: api.delete_topic(TopicArn=arn))
    policy = {"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sns:Publish", "Resource": topic}]}
    api.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=json.dumps(policy))
    scratch.let_in(url, "sns.amazonaws.com")
    api.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=scratch.queue_arn(url))
    scratch.rule({"source": [source]}, topic)
    entry = {"Source": source, "DetailType": "Verify", "Detail": json.dumps({"lock": "nightly"})}
    answer = scratch.client("events").put_events(Entries=[entry])
    check(answer["FailedEntryCount"] == 0, str(answer["Entries"]))
    message = json.loads(scratch.receive(url, 60)["Message"])
    check(message["detail"] == {"lock": "nightly"}, f"the message is {message}")


@probe("log-group-opens-itself-to-a-rule")
def log_group_opens_itself(scratch):
    """Creates the rule first, as the stack does, because the policy of the log group names the rule."""
    api, name, source = scratch.client("logs"), f"/aws/events/{scratch.name('log')}", scratch.name("source")
    rule = scratch.rule({"source": [source]}, scratch.log_group_arn(name))
    group = scratch.log_group(name)
    allow = {"Effect": "Allow", "Principal": {"Service": ["events.amazonaws.com", "delivery.logs.amazonaws.com"]},
             "Resource": f"{group}:*"}
    policy = {"Version": "2012-10-17", "Statement": [
        {**allow, "Action": "logs:CreateLogStream"},
        {**allow, "Action": "logs:PutLogEvents", "Condition": {"ArnEquals": {"aws:SourceArn": rule}}}]}
    api.put_resource_policy(resourceArn=group, policyDocument=json.dumps(policy))
    scratch.settle()
    entry = {"Source": source, "DetailType": "Verify", "Detail": json.dumps({"lock": "nightly"})}
    answer = scratch.client("events").put_events(Entries=[entry])
    check(answer["FailedEntryCount"] == 0, str(answer["Entries"]))
    [line] = scratch.wait_for(lambda: api.filter_log_events(logGroupName=name)["events"], "event in the log group", 60)
    check(json.loads(line["message"])["detail"] == {"lock": "nightly"}, f"the line is {line['message']}")


@probe("log-delivery-takes-no-policy-of-the-account")
def log_delivery_takes_no_policy(scratch):
    """A new state machine with a log adds no log policy to the account."""
    api = scratch.client("logs")
    group = scratch.log_group(f"/aws/vendedlogs/states/{scratch.name('log')}")

    def of_account():
        return {one["policyName"] for one in api.describe_resource_policies()["resourcePolicies"]}
    before = of_account()
    scratch.machine({"End": {"Type": "Succeed"}}, logs=group)
    new = of_account() - before
    check(not new, f"the account has {len(new)} new log policies: {sorted(new)}")
    own = api.describe_resource_policies(resourceArn=group)["resourcePolicies"]
    return f"{len(before)} log policies of the account, {len(own)} of the log group"


@probe("execution-events-carry-their-end")
def execution_events(scratch):
    """The event of an execution's end has the fields that the reaper reads. DescribeExecution shows the end later."""
    states, worst = scratch.client("stepfunctions"), 0.0
    machine = scratch.machine({"Wait": {"Type": "Wait", "Seconds": 300, "End": True}})
    url = scratch.events({"source": ["aws.states"], "detail": {"stateMachineArn": [machine], "status": ["ABORTED"]}})
    for _ in range(scratch.seconds(10, 3)):
        execution = scratch.start(machine, {"lock": "nightly"})
        scratch.wait_for(lambda arn=execution: states.get_execution_history(executionArn=arn)["events"][1:], "first state")
        states.stop_execution(executionArn=execution)
        detail, since = scratch.receive(url)["detail"], time.monotonic()
        check(detail["executionArn"] == execution, f"the event is of {detail['executionArn']}")
        check(isinstance(detail.get("stopDate"), int), f"stopDate is {detail.get('stopDate')}")
        check(detail.get("redriveCount") == 0, f"redriveCount is {detail.get('redriveCount')}")
        check(json.loads(detail["input"]) == {"lock": "nightly"}, f"the input is {detail['input']}")
        ended = scratch.ended(execution, 60, 0.2)
        worst = max(worst, time.monotonic() - since)
        check(abs(ended["stopDate"].timestamp() * 1000 - detail["stopDate"]) < 1000, "the event and DescribeExecution have different stopDates")
    return f"DescribeExecution at most {worst:.1f} s behind the event"
