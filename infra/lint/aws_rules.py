"""cfn-lint rules for what cfn-lint accepts, but AWS refuses, or ignores without an error."""

from cfnlint.rules import CloudFormationLintRule, RuleMatch

# Text for people may name an example ARN.
DESCRIPTION_FIELDS = ("Description", "ConstraintDescription", "AlarmDescription")


def nodes(node, path):
    """Yields a value and every value below it, each with its path."""
    yield path, node
    if isinstance(node, dict):
        for key, value in node.items():
            yield from nodes(value, path + [key])
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from nodes(value, path + [index])


def resources(template, kind):
    """Yields the logical id and the properties of each resource of a type."""
    for name, resource in template.get("Resources", {}).items():
        if resource.get("Type") == kind:
            yield name, resource.get("Properties", {})


class TopicPolicy(CloudFormationLintRule):
    id = "E9102"
    shortdesc = "A topic policy for EventBridge has no Condition"
    description = "EventBridge sends no condition keys to Amazon SNS, so a Condition is never satisfied"
    source_url = "https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html#eb-sns-permissions"
    tags = ["sns", "events"]

    def match(self, cfn):
        found = []
        for name, _ in resources(cfn.template, "AWS::SNS::TopicPolicy"):
            for path, node in nodes(cfn.template["Resources"][name], ["Resources", name]):
                if not isinstance(node, dict) or "Condition" not in node or "Principal" not in node:
                    continue
                if any(value == "events.amazonaws.com" for _, value in nodes(node["Principal"], [])):
                    message = "EventBridge delivers to no topic whose policy has a Condition: leave it out"
                    found.append(RuleMatch(path + ["Condition"], message))
        return found


class StableExports(CloudFormationLintRule):
    id = "E9103"
    shortdesc = "An exported value never changes"
    description = "CloudFormation refuses an update that changes an exported value while a stack imports it"
    source_url = "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-exports.html"
    tags = ["outputs"]

    # A change of one of these replaces the policy, and its ARN with it.
    # https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-iam-managedpolicy.html
    REPLACING = ("Description", "ManagedPolicyName", "Path")

    def match(self, cfn):
        found = []
        known = cfn.template.get("Resources", {})
        for name, output in cfn.template.get("Outputs", {}).items():
            if "Export" not in output:
                continue
            resource = self.resource(output.get("Value"))
            if resource not in known:
                message = f"{name} is exported and may change: export names and ARNs of resources only"
                found.append(RuleMatch(["Outputs", name, "Value"], message))
            elif known[resource].get("Type") == "AWS::IAM::ManagedPolicy":
                for field in self.REPLACING:
                    if field in known[resource].get("Properties", {}):
                        message = f"a change of {field} replaces {resource}, whose ARN is exported: leave it out"
                        found.append(RuleMatch(["Resources", resource, "Properties", field], message))
        return found

    @staticmethod
    def resource(value):
        """Returns the logical id of the resource whose name or attribute the value is, or None."""
        if not isinstance(value, dict):
            return None
        if "Ref" in value:
            return value["Ref"]
        attribute = value.get("Fn::GetAtt")
        return attribute.split(".")[0] if isinstance(attribute, str) else (attribute or [None])[0]


class BoundedPattern(CloudFormationLintRule):
    id = "E9104"
    shortdesc = "An event pattern holds no list of any length"
    description = "EventBridge accepts patterns of up to 2,048 characters"
    source_url = "https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html"
    tags = ["events"]

    def match(self, cfn):
        found = []
        for name, properties in resources(cfn.template, "AWS::Events::Rule"):
            start = ["Resources", name, "Properties", "EventPattern"]
            for path, node in nodes(properties.get("EventPattern", {}), start):
                if isinstance(node, dict) and "Fn::Split" in node:
                    message = "a list of any length can exceed the 2,048 characters of a pattern: match something else"
                    found.append(RuleMatch(path, message))
        return found


class BoundedList(CloudFormationLintRule):
    id = "E9106"
    shortdesc = "A list that goes into a policy has a MaxLength"
    description = "IAM accepts 10,240 characters of inline policies in a role and 6,144 in a managed policy"
    source_url = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"
    tags = ["iam", "parameters"]

    def match(self, cfn):
        parameters = cfn.template.get("Parameters", {})
        split = {value["Ref"] for path, node in nodes(cfn.template.get("Resources", {}), [])
                 if "PolicyDocument" in path and isinstance(node, dict) and "Fn::Split" in node
                 for _, value in nodes(node, []) if isinstance(value, dict) and "Ref" in value}
        message = "the list goes into a policy, which has a quota: give the list a MaxLength"
        return [RuleMatch(["Parameters", name], message) for name in sorted(split & set(parameters))
                if "MaxLength" not in parameters[name]]


class Partition(CloudFormationLintRule):
    id = "E9105"
    shortdesc = "No ARN names a partition"
    description = "arn:aws: names nothing in the regions of China and in GovCloud (US)"
    source_url = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html"
    tags = ["arn"]

    def match(self, cfn):
        found = []
        for path, node in nodes(cfn.template, []):
            named = isinstance(node, str) and "arn:aws:" in node
            if named and not any(part in DESCRIPTION_FIELDS for part in path):
                found.append(RuleMatch(path, "write arn:${AWS::Partition}: instead of arn:aws:"))
        return found
