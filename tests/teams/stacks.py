"""Deploys the stacks of twenty teams, and a platform and a team whose lists have their greatest length.

Deploys infra/team.yaml once by sam, as a team does. CloudFormation returns the template as sam transformed it, and the other
stacks are made from this template, because sam takes seconds for each deploy.
"""
import concurrent.futures
import json
import os
from dataclasses import dataclass

import yaml
from evaluate import ACCOUNT, arn, stack_outputs
from probes.support import client, wait_for
from stackctl import deploy
from stackctl.settings import FIXTURE_CLUSTER, ROOT

TEAMS, TASKS, WORKFLOWS = 20, 5, 3
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
FUNCTIONS = ("AcquireLockFunctionArn", "HeartbeatFunctionArn", "ReleaseLockFunctionArn")


@dataclass(frozen=True)
class Team:
    """The names of a team's resources. They are as long as those of real teams."""
    number: int

    @property
    def name(self):
        return f"settlement-{self.number:02}"

    @property
    def stack(self):
        return f"lockstep-team-{self.name}"

    @property
    def prefix(self):
        return f"{self.name}/"

    # Matches the platform's ClusterArns, which end with a wildcard.
    @property
    def cluster(self):
        return f"{FIXTURE_CLUSTER}-{self.name}"

    def batches(self):
        """Returns the families of the team's task definitions. Their roles have the same names."""
        return [f"{self.name}_nightly-reconciliation-{number}" for number in range(TASKS)]

    def workflows(self):
        return [f"lockstep-team-{self.name}_month-end-closing-{number}" for number in range(WORKFLOWS)]

    def parameters(self):
        """Returns the parameters of the team's stack. The last team has wildcards in place of lists."""
        families, workflows = self.batches(), self.workflows()
        if self.number == TEAMS - 1:
            families, workflows = [f"{self.name}_*"], [f"lockstep-team-{self.name}_*"]
        return {
            "LockPrefix": self.prefix,
            "ClusterArns": arn("ecs", f"cluster/{self.cluster}"),
            "TaskDefinitionArns": ",".join(arn("ecs", f"task-definition/{family}:*") for family in families),
            "TaskRoleArns": ",".join(f"arn:aws:iam::{ACCOUNT}:role/{family}" for family in families),
            "GuardedWorkflowArns": ",".join(arn("states", f"stateMachine:{name}") for name in workflows),
        }

    def own_stack(self):
        """Returns the template of what a team has before it uses Lockstep: a cluster, task definitions, roles and workflows."""
        trust = [{"Effect": "Allow", "Action": "sts:AssumeRole",
                  "Principal": {"Service": ["ecs-tasks.amazonaws.com", "states.amazonaws.com"]}}]
        resources = {"Cluster": {"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": self.cluster}}}
        for number, name in enumerate(self.batches()):
            role = {"RoleName": name, "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": trust}}
            task = {
                "Family": name, "RequiresCompatibilities": ["FARGATE"], "NetworkMode": "awsvpc", "Cpu": "256",
                "Memory": "512", "TaskRoleArn": {"Fn::GetAtt": [f"Role{number}", "Arn"]},
                "ExecutionRoleArn": {"Fn::GetAtt": [f"Role{number}", "Arn"]},
                "ContainerDefinitions": [
                    {"Name": "batch", "Image": os.environ["LOCKSTEP_BATCH_IMAGE"], "Essential": True}]}
            resources[f"Role{number}"] = {"Type": "AWS::IAM::Role", "Properties": role}
            resources[f"Task{number}"] = {"Type": "AWS::ECS::TaskDefinition", "Properties": task}
        for number, name in enumerate(self.workflows()):
            definition = {"StartAt": "Close", "States": {"Close": {"Type": "Pass", "End": True}}}
            resources[f"Workflow{number}"] = {"Type": "AWS::StepFunctions::StateMachine", "Properties": {
                "StateMachineName": name, "DefinitionString": json.dumps(definition),
                "RoleArn": {"Fn::GetAtt": ["Role0", "Arn"]}}}
        return {"Resources": resources}


ALL = [Team(number) for number in range(TEAMS)]
# A platform whose own exclusive-run may start the batches of all teams.
WIDE = "lockstep-wide"


def wildcards():
    return {
        "TaskDefinitionArns": arn("ecs", "task-definition/settlement-*"),
        "TaskRoleArns": f"arn:aws:iam::{ACCOUNT}:role/settlement-*",
        "ClusterArns": arn("ecs", f"cluster/{FIXTURE_CLUSTER}*"),
        "GuardedWorkflowArns": arn("states", "stateMachine:*_month-end-*"),
        "WorkflowArns": arn("states", "stateMachine:*_month-end-*"),
    }


class Loader(yaml.SafeLoader):
    """Reads a template, with None in place of intrinsic functions."""


Loader.add_multi_constructor("!", lambda loader, suffix, node: None)


def template(name):
    return yaml.load((ROOT / "infra" / f"{name}.yaml").read_text(), Loader)


def full_lists(name):
    """Returns the lists of a template at their greatest length, of short ARNs, because each entry adds two quotes to a policy."""
    kinds = {
        "TaskDefinitionArns": arn("ecs", "task-definition/{}:*"),
        "TaskRoleArns": f"arn:aws:iam::{ACCOUNT}:role/{{}}",
        "ClusterArns": arn("ecs", "cluster/{}"),
        "GuardedWorkflowArns": arn("states", "stateMachine:{}"),
        "WorkflowArns": arn("states", "stateMachine:{}"),
        "WorkflowKmsKeyArns": arn("kms", "key/{}"),
    }
    parameters = template(name)["Parameters"]
    lists = {key for key in parameters if key.endswith("Arns")}
    if not lists <= set(kinds):
        raise SystemExit(f"teams: infra/{name}.yaml has the lists {sorted(lists)}, but this test knows only {sorted(kinds)}")
    return {key: _full(kind, parameters[key]["MaxLength"]) for key, kind in kinds.items() if key in lists}


def ruled(name):
    """Returns the parameters of docs/landing-zones.md that a template has. They add statements to policies."""
    network = {"SubnetIds": "subnet-0a1b2c3d", "SecurityGroupIds": "sg-0a1b2c3d"}
    known = {"KmsKeyArn": arn("kms", "key/11112222-3333-4444-5555-666677778888"), **network}
    return {key: value for key, value in known.items() if key in template(name)["Parameters"]}


def _full(kind, length):
    entry = kind.format("xx")
    count = (length + 1) // (len(entry) + 1)
    entries = [kind.format(f"{number:02x}") for number in range(count)]
    entries[-1] = kind.format("x" * (length - len(",".join(entries)) + 2))
    return ",".join(entries)


def create(name, body, **parameters):
    api = client("cloudformation")
    given = [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]
    api.create_stack(StackName=name, **template_of(name, body), Parameters=given, Capabilities=CAPABILITIES)

    def settled():
        stack = api.describe_stacks(StackName=name)["Stacks"][0]
        return None if stack["StackStatus"].endswith("_IN_PROGRESS") else stack
    stack = wait_for(settled, f"end of the creation of {name}", 60)
    if stack["StackStatus"] != "CREATE_COMPLETE":
        raise SystemExit(f"teams: {name} is {stack['StackStatus']}: {stack.get('StackStatusReason')}")
    return name


def template_of(name, body):
    """Returns the arguments that give CloudFormation a template. A template that is too long for a request is put into a bucket.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
    """
    if len(body.encode()) <= 51_200:
        return {"TemplateBody": body}
    bucket = "lockstep-templates"
    client("s3").create_bucket(Bucket=bucket)
    client("s3").put_object(Bucket=bucket, Key=name, Body=body.encode())
    return {"TemplateURL": f"https://s3.amazonaws.com/{bucket}/{name}"}


def body_of(stack):
    body = client("cloudformation").get_template(StackName=stack)["TemplateBody"]
    return body if isinstance(body, str) else json.dumps(body)


def deploy_all():
    """Deploys every stack of the test. Returns the names of those that Lockstep's templates made."""
    platform = stack_outputs("lockstep")
    if any(one["StackName"] == WIDE for one in client("cloudformation").describe_stacks()["Stacks"]):
        raise SystemExit("teams: this stack already has teams: run tests/checks/with-stack --deploy tests/teams/prove")
    shared = {name: platform[name] for name in ("LockTableName", "EventBusName", *FUNCTIONS)}
    first, *others = ALL
    deploy.deploy_stack(first.stack, ROOT / "infra" / "team.yaml", {**first.parameters(), **shared})
    team, full = body_of(first.stack), Team(99)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = [pool.submit(create, f"{one.name}-batches", json.dumps(one.own_stack())) for one in ALL]
        made += [pool.submit(create, one.stack, team, **shared, **one.parameters()) for one in others]
        made += [pool.submit(create, full.stack, team, **{**shared, **full_lists("team"), **ruled("team"), "LockPrefix": full.prefix}),
                 pool.submit(create, "lockstep-full", body_of("lockstep"), **full_lists("template"), **ruled("template"),
                             Architecture=deploy.architecture()),
                 pool.submit(create, WIDE, body_of("lockstep"), **wildcards(), Architecture=deploy.architecture())]
        for one in made:
            one.result()
    return ["lockstep", *(one.stack for one in ALL), full.stack, "lockstep-full", WIDE]
