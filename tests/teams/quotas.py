"""Compares the sizes of deployed policies, parameters and definitions, read from the services, with their quotas."""
import json

from evaluate import arn
from probes.support import client
from stacks import ALL, TASKS, WORKFLOWS, body_of, full_lists, template

# The share of its quota that a size must leave free, because real names of Regions, partitions and stacks are longer.
SPARE = 0.05

# Each measured size with its quota, and the page on which AWS states the quota.
IAM = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"
EVENTBRIDGE = "https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html"
CLOUDFORMATION = "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html"
STEP_FUNCTIONS = "https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html"
SIZES = {
    "inline policies of a role, characters": (10_240, IAM),
    "managed policy, characters": (6_144, IAM),
    "trust policy of a role, characters": (2_048, IAM),
    "event pattern, characters": (2_048, EVENTBRIDGE),
    "parameter of a stack, bytes": (4_096, CLOUDFORMATION),
    "parameters of a template": (200, CLOUDFORMATION),
    "resources of a template": (500, CLOUDFORMATION),
    "template, bytes": (1_000_000, CLOUDFORMATION),
    "definition of a state machine, bytes": (1_000_000, STEP_FUNCTIONS),
    "name of a state machine, characters": (80, STEP_FUNCTIONS),
}
# Quotas of an account, or of an account in a Region: the default, the type of resource that counts, and AWS's page.
COUNTS = {
    "IAM roles": (1_000, "AWS::IAM::Role", IAM),
    "customer managed policies": (1_500, "AWS::IAM::ManagedPolicy", IAM),
    "stacks": (2_000, "AWS::CloudFormation::Stack", CLOUDFORMATION),
    "state machines": (10_000, "AWS::StepFunctions::StateMachine", STEP_FUNCTIONS),
}


def compact(document):
    """Returns the length of a policy without white space, which IAM does not count."""
    document = json.loads(document) if isinstance(document, str) else document
    return len(json.dumps(document, separators=(",", ":")))


def resources(stack):
    pages = client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
    listed = [one for page in pages for one in page["StackResourceSummaries"]]
    return [(one["ResourceType"], one["PhysicalResourceId"]) for one in listed]


def inline_policies(role):
    iam = client("iam")
    pages = iam.get_paginator("list_role_policies").paginate(RoleName=role)
    names = [name for page in pages for name in page["PolicyNames"]]
    return [iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for name in names]


def managed_policy(policy):
    version = client("iam").get_policy(PolicyArn=policy)["Policy"]["DefaultVersionId"]
    return client("iam").get_policy_version(PolicyArn=policy, VersionId=version)["PolicyVersion"]["Document"]


def of_stack(stack):
    """Yields the sizes of one stack: (name in SIZES, size)."""
    deployed, body = resources(stack), body_of(stack)
    described = client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
    values = [one["ParameterValue"] for one in described["Parameters"]]
    yield "template, bytes", len(body.encode())
    yield "resources of a template", len(deployed)
    yield "parameters of a template", len(values)
    yield "parameter of a stack, bytes", max(len(value.encode()) for value in values)
    for kind, name in deployed:
        if kind == "AWS::IAM::Role":
            yield "inline policies of a role, characters", sum(map(compact, inline_policies(name)))
            trust = client("iam").get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
            yield "trust policy of a role, characters", compact(trust)
        elif kind == "AWS::IAM::ManagedPolicy":
            yield "managed policy, characters", compact(managed_policy(name))
        elif kind == "AWS::Events::Rule":
            yield "event pattern, characters", len(client("events").describe_rule(Name=name).get("EventPattern", ""))
        elif kind == "AWS::StepFunctions::StateMachine":
            machine = client("stepfunctions").describe_state_machine(stateMachineArn=name)
            yield "definition of a state machine, bytes", len(machine["definition"].encode())
            yield "name of a state machine, characters", len(machine["name"])


def largest(stacks):
    """Returns the largest size in all stacks, by its name in SIZES."""
    found = {}
    for stack in stacks:
        for what, size in of_stack(stack):
            found[what] = max(size, found.get(what, 0))
    return found


def teams_that_fit(platform):
    """Returns for each quota how many teams like those of this test, each with its own batches, fit beside one Lockstep stack."""
    of_platform = [kind for kind, _ in resources(platform)]
    of_team = [kind for stack in (ALL[0].stack, f"{ALL[0].name}-batches") for kind, _ in resources(stack)]
    of_team += ["AWS::CloudFormation::Stack"] * 2
    return {what: (quota - of_platform.count(kind)) // of_team.count(kind) for what, (quota, kind, _) in COUNTS.items()}


def entries():
    """Yields how many ARNs as long as this test's fit into each list: (template, list, length of the list, number)."""
    samples = {name: value.split(",")[0] for name, value in ALL[0].parameters().items()}
    # The Lockstep stack has two lists of workflows.
    samples["WorkflowArns"] = samples["GuardedWorkflowArns"]
    samples["WorkflowKmsKeyArns"] = arn("kms", "key/11112222-3333-4444-5555-666677778888")
    for name in ("template", "team"):
        for parameter, value in full_lists(name).items():
            length = template(name)["Parameters"][parameter]["MaxLength"]
            assert len(value) == length, f"{parameter} of {name} is not full"
            yield name, parameter, length, (length + 1) // (len(samples[parameter]) + 1)


def page(fits):
    """The figures as docs/teams.md has them."""
    lines = ["| list | characters | entries as long as the test's |", "|---|---|---|"]
    for name, parameter, length, count in entries():
        lines.append(f"| `{parameter}` of {name}.yaml | {length:,} | {count} |")
    each = f"{TASKS} batches and {WORKFLOWS} workflows"
    lines += ["", f"| quota of the account | default | teams that fit, each with {each} |", "|---|---|---|"]
    for what, (quota, _, source) in COUNTS.items():
        lines.append(f"| {what} | [{quota:,}]({source}) | {fits[what]:,} |")
    return "\n".join(lines) + "\n"


def wrong(sizes):
    for what, (quota, _) in SIZES.items():
        if sizes[what] > quota * (1 - SPARE):
            yield f"{what}: {sizes[what]} leaves less than {SPARE:.0%} of the quota {quota}"
