"""A cfn-lint rule: every permission is named, and limited to resources.

cfn-lint itself accepts `Action: "*"`. The rule sees the template before the SAM transform, so it
also requires a role for each function and state machine for which SAM would generate one.
"""

from cfnlint.rules import CloudFormationLintRule, RuleMatch

# Actions for which AWS defines no resource type, so that `*` is the only resource that
# works. Source: the Service Authorization Reference of the service. Those of network interfaces are
# here because AWS asks for them on `*`.
WITHOUT_RESOURCE_TYPE = {
    "states:SendTaskSuccess": "limited by the task token that the caller must know",
    "ecs:DescribeTaskDefinition": "reads a task definition; the tasks are limited by ecs:RunTask",
    "ecr:GetAuthorizationToken": "a login to the registry; what may be pulled is limited by the other actions",
    "logs:CreateLogDelivery": "log delivery of a state machine is set up for the account",
    "logs:DeleteLogDelivery": "see logs:CreateLogDelivery",
    "logs:DescribeLogGroups": "see logs:CreateLogDelivery",
    "logs:DescribeResourcePolicies": "see logs:CreateLogDelivery; operators read with it who may write to a log group",
    "logs:GetLogDelivery": "see logs:CreateLogDelivery",
    "logs:ListLogDeliveries": "see logs:CreateLogDelivery",
    "logs:PutResourcePolicy": "see logs:CreateLogDelivery",
    "logs:UpdateLogDelivery": "see logs:CreateLogDelivery",
    # https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html
    "ec2:CreateNetworkInterface": "Lambda makes the interface of a function in a VPC; a Deny keeps the code of the function out",
    "ec2:DescribeNetworkInterfaces": "see ec2:CreateNetworkInterface",
    "ec2:DescribeSubnets": "see ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface": "see ec2:CreateNetworkInterface",
    "ec2:AssignPrivateIpAddresses": "see ec2:CreateNetworkInterface",
    "ec2:UnassignPrivateIpAddresses": "see ec2:CreateNetworkInterface",
}

# Actions that are authorised on `*` although AWS defines a resource type, so that a condition
# has to limit them: action -> (condition key, reason).
LIMITED_BY_CONDITION = {
    # https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerservice.html
    "ecs:ListTasks": ("ecs:cluster", "its resource is a container instance, and a whole cluster's tasks are listed"),
}

# Managed policies of infra/template.yaml, by the end of the name of their export. This rule checks
# their statements in that template.
OWN_POLICIES = ("-TaskLockPolicyArn", "-TaskProtectionPolicyArn", "-OperatorPolicyArn",
                "-ViewerPolicyArn")

WITH_ROLE = ("AWS::Serverless::Function", "AWS::Serverless::StateMachine")


def strings(node):
    """Yields all strings in a value, inside of intrinsic functions too."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for value in node.values():
            yield from strings(value)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)


def nodes(node, path):
    """Yields all mappings in a value, each with its path."""
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            yield from nodes(value, path + [key])
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from nodes(value, path + [index])


def is_own_policy(reference, resources):
    """Returns whether a managed policy is one of the template, or is imported from Lockstep's own stack."""
    if not isinstance(reference, dict):
        return False
    if "Fn::If" in reference:
        return all(is_own_policy(one, resources) for one in reference["Fn::If"][1:] if one != {"Ref": "AWS::NoValue"})
    if "Ref" in reference:
        return resources.get(reference["Ref"], {}).get("Type") == "AWS::IAM::ManagedPolicy"
    return list(reference) == ["Fn::ImportValue"] and any(name.endswith(OWN_POLICIES) for name in strings(reference))


def complaints(statement):
    """Yields what is wrong with a policy statement, as pairs of key and message."""
    for key in ("NotAction", "NotResource"):
        if key in statement:
            yield key, f"{key} allows actions that the policy does not name: list what is needed instead"
    actions = list(strings(statement.get("Action", [])))
    for action in actions:
        if "*" in action:
            yield "Action", f"wildcard in action {action}: name each action"
    if "*" not in strings(statement.get("Resource", [])):
        return
    conditions = {key for operator in statement.get("Condition", {}).values() for key in operator}
    for action in actions:
        if action in LIMITED_BY_CONDITION:
            key, reason = LIMITED_BY_CONDITION[action]
            if key not in conditions:
                yield "Resource", f"{action} needs a condition on {key}: {reason}"
        elif action not in WITHOUT_RESOURCE_TYPE:
            yield "Resource", f'resource "*" for {action}: limit it to an ARN, or list it with a reason'


class LeastPrivilege(CloudFormationLintRule):
    id = "E9101"
    shortdesc = "Permissions are named and limited"
    description = "No wildcard action, and resource * only where AWS allows nothing narrower"
    tags = ["iam"]

    def match(self, cfn):
        found = []
        for path, node in nodes(cfn.template.get("Resources", {}), ["Resources"]):
            # A key policy applies to its own key, so its resource is `*`. AWS documents its actions with a wildcard.
            if node.get("Effect") == "Allow" and "KeyPolicy" not in path[2:]:
                for key, message in complaints(node):
                    found.append(RuleMatch(path + [key], message))
            if node.get("Type") in WITH_ROLE and "Role" not in node.get("Properties", {}):
                message = "the role that SAM generates may write to every log group: write a role"
                found.append(RuleMatch(path + ["Type"], message))
            policies = node.get("ManagedPolicyArns", [])
            known = cfn.template.get("Resources", {})
            if not isinstance(policies, list) or not all(is_own_policy(one, known) for one in policies):
                message = "a managed policy hides its actions: write the statements out"
                found.append(RuleMatch(path + ["ManagedPolicyArns"], message))
        return found
