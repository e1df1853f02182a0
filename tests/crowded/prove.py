"""A stack needs none of the ten log policies of an account, leaves nothing that keeps it from being deployed again, and takes back the
table that it left.

Other software has taken nine or all ten policies here. The events of the stack still have to reach its log group:
- after a first deploy,
- during and after an upgrade from a version whose stack took a policy of the account, and
- after an upgrade that was rolled back to that version.
What a stack leaves behind is read from the services, not from CloudFormation.
"""
import argparse
import copy
import json
import sys
import threading
import time
from pathlib import Path

import stacks
from probes.support import client, unique, wait_for
from stackctl import deploy

STACK = "crowded"
LOG_GROUP = f"/aws/events/{STACK}"
QUOTA = 10
TABLE = Path(__file__).resolve().parents[2] / "infra" / "examples" / "table.yaml"


def foreign(count):
    """Sets the number of the account's log policies that belong to other software."""
    document = json.dumps({"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Principal": {"Service": "es.amazonaws.com"}, "Action": "logs:PutLogEvents", "Resource": "*"}]})
    wanted = {f"foreign-{number}" for number in range(count)}
    for name in {name for name in policies() if name.startswith("foreign-")} - wanted:
        client("logs").delete_resource_policy(policyName=name)
    for name in wanted:
        client("logs").put_resource_policy(policyName=name, policyDocument=document)


def policies():
    return [one["policyName"] for one in client("logs").describe_resource_policies()["resourcePolicies"]]


def with_account_policy(body):
    """Returns the template of the earlier versions, in which a policy of the account opened the log group."""
    old = copy.deepcopy(body)
    old["Resources"]["EventLogGroup"]["Properties"].pop("ResourcePolicyDocument", None)
    services = '{"Service":["events.amazonaws.com","delivery.logs.amazonaws.com"]}'
    allow = f'"Effect":"Allow","Principal":{services},"Resource":"${{EventLogGroup.Arn}}"'
    rule = '"Condition":{"ArnEquals":{"aws:SourceArn":"${EventLog.Arn}"}}'
    old["Resources"]["EventLogPolicy"] = {"Type": "AWS::Logs::ResourcePolicy", "Properties": {
        "PolicyName": {"Fn::Sub": "${AWS::StackName}-events"},
        "PolicyDocument": {"Fn::Sub": (f'{{"Version":"2012-10-17","Statement":[{{{allow},"Action":"logs:CreateLogStream"}},'
                                       f'{{{allow},"Action":"logs:PutLogEvents",{rule}}}]}}')}}}
    return old


def failing(body):
    """Returns the template with one more resource, which CloudFormation creates last and CloudWatch Logs refuses: an eleventh policy."""
    broken = copy.deepcopy(body)
    others = [name for name, one in broken["Resources"].items() if "Condition" not in one]
    broken["Resources"]["Refused"] = {"Type": "AWS::Logs::ResourcePolicy", "DependsOn": others, "Properties": {
        "PolicyName": {"Fn::Sub": "${AWS::StackName}-refused"}, "PolicyDocument": '{"Version":"2012-10-17","Statement":[]}'}}
    return broken


def status(stack=STACK):
    try:
        return client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
    except client("cloudformation").exceptions.ClientError:
        return "DELETE_COMPLETE"


def becomes(expected, act, body=None, stack=STACK):
    """Creates, updates or deletes a stack, and waits for its status. Returns the seconds."""
    given = {}
    if body:
        parameters = deploy.lockstep_parameters()
        given = {**stacks.template_of(stack, json.dumps(body)), "Capabilities": stacks.CAPABILITIES, "Parameters": [
            {"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items() if key in body["Parameters"]]}
    begin = time.monotonic()
    getattr(client("cloudformation"), f"{act}_stack")(StackName=stack, **given)
    return time.monotonic() - begin if ended(stack, act) == expected else failed(stack, act, expected)


def ended(stack, act):
    """Waits for the end of an operation on a stack, and returns the status."""
    return wait_for(lambda: (now := status(stack)) and (None if now.endswith("_IN_PROGRESS") else now), f"end of {act}", 60)


def failed(stack, act, expected):
    events = client("cloudformation").describe_stack_events(StackName=stack)["StackEvents"]
    why = [one for one in events if one["ResourceStatus"].endswith("_FAILED")]
    sys.exit(f"crowded: {act} ends with {status(stack)}, not {expected}: {why[-1].get('ResourceStatusReason') if why else ''}")


def put_event():
    mark = unique("mark")
    client("events").put_events(Entries=[{"Source": "lockstep", "DetailType": "Probe", "Detail": json.dumps({"mark": mark})}])
    return mark


def arrived(marks):
    """Returns whether all these events are in the log group."""
    pages = client("logs").get_paginator("filter_log_events").paginate(logGroupName=LOG_GROUP)
    found = {json.loads(one["message"])["detail"].get("mark") for page in pages for one in page["events"]}
    return set(marks) <= found


def events_arrive(marks=None):
    marks = marks or [put_event()]
    wait_for(lambda: arrived(marks), f"{len(marks)} events in {LOG_GROUP}", 10)
    return len(marks)


class Events:
    """Puts one event after the other during a `with` block."""

    def __enter__(self):
        self.marks, self._stop = [], threading.Event()
        self._thread = threading.Thread(target=self._put)
        self._thread.start()
        return self

    def _put(self):
        while not self._stop.wait(0.01):
            self.marks.append(put_event())

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


def left_over():
    """Returns by kind what the account still has of the stack. The names of all these kinds contain the stack's name."""
    logs, iam = client("logs"), client("iam")
    kinds = {
        "log groups": [one["logGroupName"] for one in logs.describe_log_groups()["logGroups"]],
        "log policies": policies(),
        "policies of log groups": [one["resourceArn"] for one in logs.describe_resource_policies(policyScope="RESOURCE")["resourcePolicies"]],
        "functions": [one["FunctionName"] for one in client("lambda").list_functions()["Functions"]],
        "roles": [one["RoleName"] for one in iam.list_roles()["Roles"]],
        "managed policies": [one["PolicyName"] for one in iam.list_policies(Scope="Local")["Policies"]],
        "rules": [one["Name"] for one in client("events").list_rules()["Rules"]],
        "queues": client("sqs").list_queues().get("QueueUrls", []),
        "topics": [one["TopicArn"] for one in client("sns").list_topics()["Topics"]],
        "state machines": [one["name"] for one in client("stepfunctions").list_state_machines()["stateMachines"]],
        "dashboards": [one["DashboardName"] for one in client("cloudwatch").list_dashboards()["DashboardEntries"]],
        "alarms": [one["AlarmName"] for one in client("cloudwatch").describe_alarms()["MetricAlarms"]],
        "exports": [one["Name"] for one in client("cloudformation").list_exports()["Exports"]],
        "tables": client("dynamodb").list_tables()["TableNames"],
    }
    own = {kind: [name for name in names if STACK in name] for kind, names in kinds.items()}
    return {kind: names for kind, names in own.items() if names}


def only_tables_are_left(count):
    found = left_over()
    assert set(found) == {"tables"} and len(found["tables"]) == count, f"{count} tables expected, left over: {found}"
    return found["tables"]


def table(stack=STACK):
    return resource("LockTable", stack)


def resource(name, stack):
    found = client("cloudformation").describe_stack_resource(StackName=stack, LogicalResourceId=name)
    return found["StackResourceDetail"]["PhysicalResourceId"]


def upgrade(new, old):
    """Upgrades a stack that has the tenth policy, after an upgrade that is rolled back. The table stays, and no event is lost."""
    foreign(QUOTA - 1)
    seconds = becomes("CREATE_COMPLETE", "create", old)
    assert len(policies()) == QUOTA and f"{STACK}-events" in policies(), policies()
    events_arrive()
    print(f"ok    nine foreign policies, first deploy of a stack that takes the tenth: {seconds:.1f} s")
    before = table()
    with Events() as put:
        seconds = becomes("UPDATE_ROLLBACK_COMPLETE", "update", failing(new))
    count = events_arrive(put.marks)
    events_arrive()
    assert f"{STACK}-events" in policies() and len(policies()) == QUOTA, policies()
    print(f"ok    an upgrade that is rolled back leaves the old policy: {seconds:.1f} s, {count} of {count} events arrive")
    with Events() as put:
        seconds = becomes("UPDATE_COMPLETE", "update", new)
    count = events_arrive(put.marks)
    events_arrive()
    assert len(policies()) == QUOTA - 1 and table() == before, (policies(), before)
    print(f"ok    the upgrade gives the tenth policy back: {seconds:.1f} s, {count} of {count} events arrive, same table")
    seconds = becomes("DELETE_COMPLETE", "delete")
    only_tables_are_left(1)
    print(f"ok    the deletion leaves the table: {seconds:.1f} s")


def first_deploys(new):
    """With ten foreign policies, makes a first deploy that fails, then deploys that succeed."""
    foreign(QUOTA)
    seconds = becomes("ROLLBACK_COMPLETE", "create", failing(new))
    only_tables_are_left(2)
    print(f"ok    ten foreign policies, a first deploy that fails leaves its table: {seconds:.1f} s")
    try:
        becomes("UPDATE_COMPLETE", "update", new)
    except client("cloudformation").exceptions.ClientError as error:
        assert "ROLLBACK_COMPLETE" in str(error), error
    assert status() == "ROLLBACK_COMPLETE", "CloudFormation updated a stack in ROLLBACK_COMPLETE"
    becomes("DELETE_COMPLETE", "delete")
    for attempt, count in (("the second", 3), ("one more, after a deletion,", 4)):
        seconds = becomes("CREATE_COMPLETE", "create", new)
        events_arrive()
        assert sorted(policies()) == sorted(f"foreign-{number}" for number in range(QUOTA)), policies()
        again = becomes("DELETE_COMPLETE", "delete")
        only_tables_are_left(count)
        print(f"ok    {attempt} succeeds beside ten foreign policies, and events arrive: {seconds:.1f} s, deleted in {again:.1f} s")


def invoke(function, stack, **request):
    """Calls operate or view of a stack."""
    answer = client("lambda").invoke(FunctionName=resource(function, stack), Payload=json.dumps(request))
    body = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, body
    return body


def imported(stack, name):
    """Makes a stack of a table that exists. A change set that imports can create nothing else."""
    cloudformation = client("cloudformation")
    cloudformation.create_change_set(
        StackName=stack, ChangeSetName="come-back", ChangeSetType="IMPORT", TemplateBody=TABLE.read_text(),
        ResourcesToImport=[{"ResourceType": "AWS::DynamoDB::Table", "LogicalResourceId": "LockTable", "ResourceIdentifier": {"TableName": name}}])
    cloudformation.get_waiter("change_set_create_complete").wait(
        StackName=stack, ChangeSetName="come-back", WaiterConfig={"Delay": 1, "MaxAttempts": 30})
    cloudformation.execute_change_set(StackName=stack, ChangeSetName="come-back")
    found = ended(stack, "the import")
    assert found == "IMPORT_COMPLETE", found


def come_back(new):
    """The table of a deleted stack is imported into a stack of the same name, then of another name, with its locks and its history."""
    becomes("CREATE_COMPLETE", "create", new)
    kept = table()
    invoke("OperateFunction", STACK, act="pause", lock="nightly", note="removal", actor="jo")
    becomes("DELETE_COMPLETE", "delete")
    for stack in (STACK, f"{STACK}-renamed"):
        imported(stack, kept)
        seconds = becomes("UPDATE_COMPLETE", "update", new, stack)
        assert table(stack) == kept, f"the table of {stack} is {table(stack)}, not {kept}"
        shown = invoke("ViewFunction", stack, act="show", lock="nightly")
        assert shown["state"] == "paused" and "removal" in shown["closed"]["note"], shown
        history = invoke("ViewFunction", stack, act="history", lock="nightly")
        assert "removal" in json.dumps(history), history
        becomes("DELETE_COMPLETE", "delete", stack=stack)
        assert kept in client("dynamodb").list_tables()["TableNames"], f"{kept} went with {stack}"
        print(f"ok    the table that {STACK} left comes back in {stack} with its pause and history: {seconds:.1f} s")


def body_of(path):
    """Returns the template of the deployed stack, or of a file, as sam transforms it."""
    if not path:
        return json.loads(stacks.body_of("lockstep"))
    deploy.deploy_stack(STACK, path.resolve(), deploy.lockstep_parameters())
    body = json.loads(stacks.body_of(STACK))
    becomes("DELETE_COMPLETE", "delete")
    return body


def clear():
    """Removes the foreign policies, and the tables after their deletion protection."""
    foreign(0)
    for name in left_over().get("tables", []):
        client("dynamodb").update_table(TableName=name, DeletionProtectionEnabled=False)
        client("dynamodb").delete_table(TableName=name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", type=Path, dest="new")
    parser.add_argument("--from", type=Path, dest="old")
    options = parser.parse_args()
    new = body_of(options.new)
    old = body_of(options.old) if options.old else with_account_policy(new)
    clear()
    begin = time.monotonic()
    try:
        upgrade(new, old)
        first_deploys(new)
        come_back(new)
    finally:
        for stack in (STACK, f"{STACK}-renamed"):
            if status(stack) != "DELETE_COMPLETE":
                client("cloudformation").delete_stack(StackName=stack)
                wait_for(lambda: status(stack) == "DELETE_COMPLETE", "end of the stack", 60)
        clear()
    print(f"crowded: a stack needs no log policy of the account, in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
