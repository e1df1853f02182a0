"""Checks the resources, the rights and a run of stacks with every parameter of docs/landing-zones.md.

The local stack does not keep the boundaries of roles, the networks and keys of functions, and the keys of the table and the
topic. These are read from the template that CloudFormation got. tests/infra/test_landing.py and the CDK's tests compare the
templates with the parameters.
"""
import json
import subprocess
import sys
import time

import stacks
from evaluate import ACCOUNT, arn, stack_outputs
from ministack.core.iam_evaluator import EvalContext, evaluate, parse_policy_document
from probes.support import client, ended, start, unique
from quotas import inline_policies, managed_policy, resources
from stackctl import deploy
from stackctl.settings import FIXTURE_CLUSTER, FIXTURE_FAMILY, REGION, ROOT

BY_SAM, TRANSFORMED, TEAM = "lockstep-ruled", "lockstep-stackset", "lockstep-ruled-team"
CODE, PREFIX = "lockstep-code", "releases/lockstep/"
OUT = ROOT / "target" / "stackset"
KEY, WORKFLOW_KEY, FOREIGN_KEY = (arn("kms", f"key/11112222-3333-4444-5555-66667777888{end}") for end in range(3))


def boundary():
    """Deploys the example of a permissions boundary, and returns its ARN."""
    deploy.deploy_stack("boundary", ROOT / "infra" / "examples" / "permissions-boundary.yaml", {})
    return stack_outputs("boundary")["BoundaryArn"]


def rules(boundary_arn, team=False):
    shared = {"PermissionsBoundaryArn": boundary_arn, "RolePath": "/batches/", "KmsKeyArn": KEY, "WorkflowKmsKeyArns": WORKFLOW_KEY}
    network = {"SubnetIds": "subnet-0a1b2c3d,subnet-1a2b3c4d", "SecurityGroupIds": "sg-0a1b2c3d"}
    # The address makes the stack create the roles of the mails.
    return shared if team else {**shared, **network, "AlarmEmail": "oncall@example.com"}


def transformed(parameters):
    """Deploys the template of make stackset, without the capability to run a transform."""
    bucket = f"{CODE}-{REGION}"
    client("s3").create_bucket(Bucket=bucket)
    for path in (OUT / "code").rglob("*.zip"):
        client("s3").put_object(Bucket=bucket, Key=f"{PREFIX}{path.name}", Body=path.read_bytes())
    before, stacks.CAPABILITIES = stacks.CAPABILITIES, ["CAPABILITY_IAM"]
    stacks.create(TRANSFORMED, (OUT / "template.json").read_text(), CodeBucket=CODE, CodePrefix=PREFIX, **parameters)
    stacks.CAPABILITIES = before


def names(stack):
    listed = client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
    return {one["LogicalResourceId"]: one["PhysicalResourceId"] for page in listed for one in page["StackResourceSummaries"]}


def resolved(value, values):
    """Returns a value of a template with parameters and conditions filled in, as far as these tests need it."""
    if isinstance(value, list):
        return [one for one in (resolved(item, values) for item in value) if one is not None]
    if not isinstance(value, dict):
        return value
    if "Ref" in value:
        return None if value["Ref"] == "AWS::NoValue" else values.get(value["Ref"], value)
    if "Fn::If" in value:
        condition, given, otherwise = value["Fn::If"]
        # The stack has no AlarmKmsKeyArn, so EncryptsAlarms is false.
        return resolved(otherwise if condition == "EncryptsAlarms" else given, values)
    if "Fn::Split" in value:
        text = resolved(value["Fn::Split"][1], values)
        return text.split(value["Fn::Split"][0]) if isinstance(text, str) else value
    return {key: resolved(item, values) for key, item in value.items()}


def wrong_templates(stack, expected):
    """Yields what is wrong with roles, functions, table and topic in the template that CloudFormation got."""
    body = json.loads(stacks.body_of(stack))
    for name, one in body["Resources"].items():
        made = resolved(one.get("Properties", {}), expected)
        if one["Type"] == "AWS::IAM::Role":
            found = made.get("PermissionsBoundary"), made.get("Path")
            if found != (expected["PermissionsBoundaryArn"], expected["RolePath"]):
                yield f"{stack}: {name} has the boundary and path {found}"
        elif one["Type"] == "AWS::Lambda::Function":
            network = made.get("VpcConfig", {})
            found = made.get("KmsKeyArn"), network.get("SubnetIds"), network.get("SecurityGroupIds")
            if found != (KEY, expected["SubnetIds"].split(","), [expected["SecurityGroupIds"]]):
                yield f"{stack}: {name} has key and network {found}"
        elif one["Type"] in ("AWS::DynamoDB::Table", "AWS::SNS::Topic"):
            found = made.get("KmsMasterKeyId") or made.get("SSESpecification", {}).get("KMSMasterKeyId")
            if found != KEY:
                yield f"{stack}: {name} is encrypted with {found}"


def wrong_resources(stack):
    """Yields queues and log groups with another key, and roles with another path, as the services describe them."""
    for kind, name in resources(stack):
        found = KEY
        if kind == "AWS::SQS::Queue":
            found = client("sqs").get_queue_attributes(QueueUrl=name, AttributeNames=["All"])["Attributes"].get("KmsMasterKeyId")
        elif kind == "AWS::Logs::LogGroup":
            groups = client("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
            found = next(one.get("kmsKeyId") for one in groups if one["logGroupName"] == name)
        elif kind == "AWS::IAM::Role" and client("iam").get_role(RoleName=name)["Role"]["Path"] != "/batches/":
            yield f"{stack}: {name} is outside of the path /batches/"
        if found != KEY:
            yield f"{stack}: {kind} {name} is encrypted with {found}"


def policies(role):
    attached = client("iam").list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    documents = inline_policies(role) + [managed_policy(one["PolicyArn"]) for one in attached]
    return [parse_policy_document(json.dumps(one) if isinstance(one, dict) else one) for one in documents]


def may(documents, action, resource, **context):
    known = {key.lower(): value for key, value in context.items()}
    asked = EvalContext("", "AssumedRole", ACCOUNT, action, resource, REGION, service_context=known)
    return evaluate(asked, documents).decision == "Allow"


def via(service):
    return {"kms:ViaService": f"{service}.{REGION}.amazonaws.com"}


STATE_MACHINE = {"kms:EncryptionContext:aws:states:stateMachineArn": arn("states", "stateMachine:etl")}
IN_CODE = {"lambda:SourceFunctionArn": arn("lambda", "function:lockstep-reaper")}

# Action, resource, context, and who has this right: (the other functions, check-running-executions, exclusive-run).
RIGHTS = [
    ("ec2:CreateNetworkInterface", "*", {}, (True, True, False)),
    ("ec2:DescribeSubnets", "*", {}, (True, True, False)),
    ("ec2:CreateNetworkInterface", "*", IN_CODE, (False, False, False)),
    ("ec2:DeleteNetworkInterface", "*", IN_CODE, (False, False, False)),
    ("ec2:CreateSecurityGroup", "*", {}, (False, False, False)),
    *((action, KEY, via(service), (True, True, False)) for service in ("dynamodb", "lambda", "sqs")
      for action in ("kms:Decrypt", "kms:GenerateDataKey")),
    ("kms:Decrypt", KEY, {}, (False, False, False)),
    ("kms:Decrypt", KEY, via("s3"), (False, False, False)),
    ("kms:CreateGrant", KEY, via("dynamodb"), (False, False, False)),
    ("kms:ScheduleKeyDeletion", KEY, via("dynamodb"), (False, False, False)),
    ("kms:Decrypt", FOREIGN_KEY, via("dynamodb"), (False, False, False)),
    ("kms:Decrypt", WORKFLOW_KEY, STATE_MACHINE, (True, False, True)),
    ("kms:Decrypt", WORKFLOW_KEY, {}, (False, False, False)),
    ("kms:GenerateDataKey", WORKFLOW_KEY, STATE_MACHINE, (False, False, False)),
    ("kms:Decrypt", FOREIGN_KEY, STATE_MACHINE, (False, False, False)),
]


def wrong_rights(stack):
    own = names(stack)
    functions = ["AcquireLockRole", "HeartbeatRole", "ReleaseLockRole", "ReaperRole", "OperateRole", "ViewRole"]
    groups = [functions, ["CheckRunningExecutionsRole"], ["ExclusiveRunRole"]]
    for group, position in zip(groups, range(3)):
        for role in group:
            documents = policies(own[role])
            for action, resource, context, given in RIGHTS:
                if may(documents, action, resource, **context) != given[position]:
                    yield f"{stack}: {role} {'may not' if given[position] else 'may'} {action} {resource} {context}"
    task = [parse_policy_document(json.dumps(managed_policy(own["TaskLockPolicy"])))]
    for context, given in ((via("dynamodb"), True), (via("lambda"), False), ({}, False), (STATE_MACHINE, False)):
        if may(task, "kms:Decrypt", KEY, **context) != given:
            yield f"{stack}: a container {'may not' if given else 'may'} kms:Decrypt {context}"


def samples(resource):
    """Returns an ARN that matches a resource of a policy."""
    return resource.replace("*", "x")


def wrong_boundary(stack, boundary_arn):
    """Yields each right of a role that the boundary denies, and each right that the boundary must not allow."""
    limit = [parse_policy_document(json.dumps(managed_policy(boundary_arn)))]
    context = {"iam:PassedToService": "ecs-tasks.amazonaws.com"}
    for kind, name in resources(stack):
        if kind == "AWS::IAM::Role":
            for document in policies(name):
                for statement in document:
                    if statement.effect != "Allow":
                        continue
                    for action in statement.actions:
                        for resource in statement.resources:
                            if not may(limit, action, samples(resource), **context):
                                yield f"{stack}: the boundary denies {name} {action} {resource}"
    for action, resource in (("iam:CreateRole", "*"), ("dynamodb:Scan", arn("dynamodb", "table/lockstep")), ("s3:GetObject", "*")):
        if may(limit, action, resource, **context):
            yield f"the boundary allows {action}"


def wrong_run(stack):
    """Runs a batch under a lock, and yields a fault if it failed or left no history."""
    outputs, lock = stack_outputs(stack), unique("ruled")
    work = {"container": "batch", "runTask": {
        "LaunchType": "FARGATE", "Cluster": FIXTURE_CLUSTER,
        # Revision 1, since another test on this stack may have registered a revision whose log group is gone.
        "TaskDefinition": f"{FIXTURE_FAMILY}:1",
        "NetworkConfiguration": {"AwsvpcConfiguration": {"Subnets": ["subnet-1"]}},
        "Overrides": {"ContainerOverrides": [{"Name": "batch", "Environment": [{"Name": "BATCH_SECONDS", "Value": "0.2"}]}]}}}
    ran = ended(start(outputs["ExclusiveRunStateMachineArn"], {"lock": lock, "work": work}), 60)
    items = client("dynamodb").query(TableName=outputs["LockTableName"], KeyConditionExpression="pk = :pk",
                                     ExpressionAttributeValues={":pk": {"S": lock}})["Items"]
    if ran["status"] != "SUCCEEDED" or "StopCode" not in json.loads(ran.get("output", "{}")) or len(items) < 2:
        yield f"{stack}: the batch did not run: {ran}"


def wrong_lint():
    """Lints the transformed template without its definitions, because cfn-lint does not know their substitutions."""
    body = json.loads((OUT / "template.json").read_text())
    for one in body["Resources"].values():
        if one["Properties"].pop("DefinitionString", None):
            one["Properties"]["DefinitionS3Location"] = {"Bucket": "x", "Key": "x"}
    path = OUT / "without-definition.json"
    path.write_text(json.dumps(body))
    linted = subprocess.run(["cfn-lint", "--template", path, "--regions", "us-east-1", "cn-north-1", "us-gov-west-1"],
                            capture_output=True, text=True)
    if linted.returncode:
        yield f"the transformed template: {linted.stdout}{linted.stderr}"


def main():
    begin = time.monotonic()
    limit = boundary()
    expected = rules(limit)
    given = {**deploy.lockstep_parameters(), **expected}
    shared = deploy.deploy_stack(BY_SAM, ROOT / "infra" / "template.yaml", given)
    print(f"landing: deployed by sam after {time.monotonic() - begin:.0f} s", flush=True)
    transformed(given)
    print(f"landing: deployed the transformed template after {time.monotonic() - begin:.0f} s", flush=True)
    team = {"LockPrefix": "ruled/", "LockstepStackName": BY_SAM, "ClusterArns": arn("ecs", f"cluster/{FIXTURE_CLUSTER}"),
            "LockTableName": shared["LockTableName"], **{name: shared[name] for name in stacks.FUNCTIONS}, **rules(limit, team=True)}
    deploy.deploy_stack(TEAM, ROOT / "infra" / "team.yaml", team)
    wrong = [
        *wrong_lint(), *wrong_templates(BY_SAM, expected), *wrong_templates(TRANSFORMED, expected), *wrong_templates(TEAM, team),
        *wrong_resources(BY_SAM), *wrong_resources(TRANSFORMED), *wrong_resources(TEAM),
        *wrong_rights(BY_SAM), *wrong_rights(TRANSFORMED),
        *wrong_boundary(BY_SAM, limit), *wrong_boundary(TEAM, limit),
        *wrong_run(BY_SAM), *wrong_run(TRANSFORMED),
    ]
    for line in wrong:
        print(f"landing: WRONG: {line}")
    print(f"landing: {len(RIGHTS)} rights, {len(wrong)} wrong, in {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
