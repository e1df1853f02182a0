"""Every resource of Lockstep's templates follows the rules that an organisation may have: docs/landing-zones.md.

Run by infra/validate with the Python of cfn-lint. `test_landing.py --write` writes the endpoints of a VPC between
`<!-- generated from infra/template.yaml -->` and `<!-- end -->`.
"""

import json
import re
import sys
import unittest

from test_lint import ROOT, load

PAGE = ROOT / "docs" / "landing-zones.md"
ENDPOINTS = re.compile(r"(<!-- generated from infra/template\.yaml -->\n).*?(?=<!-- end -->)", re.DOTALL)
# The services that the functions call themselves, each with the type of its endpoint, and what calls of a few functions are for. Lambda
# carries out the others, and writes the log lines.
SERVICES = {
    "dynamodb": ("DynamoDB", "gateway", ""),
    "states": ("Step Functions", "interface", ""),
    "ecs": ("ECS", "interface", ""),
    "events": ("EventBridge", "interface", ""),
    "scheduler": ("EventBridge Scheduler", "interface", ", for `lockstep start --schedule`"),
    "logs": ("CloudWatch Logs", "interface", ", for the history of skipped starts"),
}
OF_LAMBDA = {"logs:CreateLogStream", "logs:PutLogEvents"}

# What a resource of a kind has to have for each rule: the property, and the parameter that is in it. None: the rule does not
# concern it. A kind that is not here is a kind that has not been looked at.
FOLLOWS = {
    "AWS::IAM::Role": {"Path": "RolePath", "PermissionsBoundary": "PermissionsBoundaryArn"},
    "AWS::Serverless::Function": {"VpcConfig": "SubnetIds", "KmsKeyArn": "KmsKeyArn"},
    "AWS::DynamoDB::Table": {"SSESpecification": "KmsKeyArn"},
    "AWS::SQS::Queue": {"KmsMasterKeyId": "KmsKeyArn"},
    "AWS::SNS::Topic": {"KmsMasterKeyId": "KmsKeyArn"},
    "AWS::Logs::LogGroup": {"KmsKeyId": "KmsKeyArn"},
    **dict.fromkeys((
        "AWS::Chatbot::CustomAction", "AWS::Chatbot::SlackChannelConfiguration", "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard", "AWS::Events::Rule", "AWS::IAM::ManagedPolicy", "AWS::IAM::Policy",
        "AWS::Lambda::EventInvokeConfig", "AWS::Lambda::Permission", "AWS::Logs::MetricFilter", "AWS::Serverless::StateMachine",
        "AWS::SNS::Subscription", "AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy"), {}),
}
# The policies that a role needs for these rules, by the parameter that asks for them.
OF_FUNCTIONS = {"NetworkPolicy": "InVpc", "KeyPolicy": "Encrypts"}


def templates():
    return {name: load(f"infra/{name}.yaml") for name in ("template", "team", "slack")}


def resources(template):
    """Yields (id, type, properties) of each resource. The properties include SAM's Globals."""
    function = template.get("Globals", {}).get("Function", {})
    for name, one in template["Resources"].items():
        more = function if one["Type"] == "AWS::Serverless::Function" else {}
        yield name, one["Type"], {**more, **one.get("Properties", {})}


def callers(template):
    """The functions that call each service, by the actions of their roles."""
    functions = {properties["Role"]["Fn::GetAtt"][0]: re.sub(r"(?<!^)(?=[A-Z])", "-", name.removesuffix("Function")).lower()
                 for name, kind, properties in resources(template) if kind == "AWS::Serverless::Function"}
    found = {service: [] for service in SERVICES}
    for role, function in functions.items():
        texts = [json.dumps(template["Resources"][role]["Properties"]["Policies"])]
        texts += [json.dumps(properties["PolicyDocument"]) for _, kind, properties in resources(template)
                  if kind == "AWS::IAM::Policy" and {"Ref": role} in properties["Roles"]]
        actions = set(re.findall(r'"(\w+:[A-Z]\w+)"', " ".join(texts))) - OF_LAMBDA
        for service in found:
            if any(action.startswith(f"{service}:") for action in actions):
                found[service].append(function)
    return found, list(functions.values())


def endpoints():
    """A row for each service."""
    found, functions = callers(templates()["template"])
    for service, (name, kind, purpose) in SERVICES.items():
        others = [function for function in functions if function not in found[service]]
        who = ", ".join(found[service]) if len(others) > 1 else "all functions" + (f" but {others[0]}" if others else "")
        yield f"| {name} | {kind}, `{service}` | {who}{purpose} |\n"


def written(page):
    return ENDPOINTS.sub(lambda match: f"{match[1]}| service | endpoint | who calls it |\n|---|---|---|\n{''.join(endpoints())}", page)


class Landing(unittest.TestCase):
    def test_every_resource_follows_the_rules(self):
        for file, template in templates().items():
            for name, kind, properties in resources(template):
                self.assertIn(kind, FOLLOWS, f"{file}: {name}: add its kind to FOLLOWS, with the properties that the rules need")
                for key, parameter in FOLLOWS[kind].items():
                    text = json.dumps(properties.get(key))
                    self.assertIn(f'"Ref": "{parameter}"', text, f"{file}: {name}: {key} has no {parameter}")

    def test_every_function_has_what_it_needs_in_a_vpc_and_of_the_key(self):
        template = templates()["template"]
        roles = {properties["Role"]["Fn::GetAtt"][0] for _, kind, properties in resources(template) if kind == "AWS::Serverless::Function"}
        self.assertEqual(7, len(roles))
        for role in roles:
            attached = json.dumps(template["Resources"][role]["Properties"]["ManagedPolicyArns"])
            for policy, condition in OF_FUNCTIONS.items():
                self.assertIn(f'["{condition}", {{"Ref": "{policy}"}}', attached, role)

    def test_whoever_describes_executions_may_use_the_keys_of_workflows(self):
        """Containers are an exception: they ask for metadata only."""
        for file, template in templates().items():
            shared = {}
            for _, kind, properties in resources(template):
                if kind == "AWS::IAM::Policy":
                    for role in properties["Roles"]:
                        shared.setdefault(role["Ref"], []).append(properties["PolicyDocument"])
            for name, kind, properties in resources(template):
                if kind == "AWS::IAM::Role":
                    text = json.dumps([properties["Policies"], shared.get(name, [])])
                    reads = "states:DescribeExecution" in text
                    may = "WorkflowKeyPolicy" in json.dumps(properties.get("ManagedPolicyArns", []))
                    self.assertEqual(reads, may, f"{file}: {name}")

    def test_what_the_pages_answer_with_yes(self):
        """Checks what docs/landing-zones/config.md and control-tower.md promise. infra/lint checks the actions of the policies."""
        by_kind = {}
        for _, kind, properties in resources(templates()["template"]):
            by_kind.setdefault(kind, []).append(properties)
        [table] = by_kind["AWS::DynamoDB::Table"]
        self.assertIs(True, table["DeletionProtectionEnabled"])
        self.assertEqual({"PointInTimeRecoveryEnabled": True}, table["PointInTimeRecoverySpecification"])
        for permission in by_kind["AWS::Lambda::Permission"]:
            self.assertEqual(("events.amazonaws.com", "Fn::GetAtt"), (permission["Principal"], *permission["SourceArn"]))
        for alarm in by_kind["AWS::CloudWatch::Alarm"]:
            mails = {"Fn::If": ["Mails", {"Ref": "MailTopic"}, {"Ref": "AWS::NoValue"}]}
            self.assertEqual([[{"Ref": "AlarmTopic"}, mails]] * 2, [alarm["AlarmActions"], alarm["OKActions"]])
        for machine in by_kind["AWS::Serverless::StateMachine"]:
            self.assertEqual(("ERROR", False), (machine["Logging"]["Level"], machine["Logging"]["IncludeExecutionData"]))
        [queue] = by_kind["AWS::SQS::Queue"]
        self.assertEqual(["Encrypts", {"Ref": "AWS::NoValue"}, True], queue["SqsManagedSseEnabled"]["Fn::If"])

    def test_no_parameter_of_a_rule_has_a_default_that_changes_a_stack(self):
        template = templates()["template"]
        groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
        [rules] = [group["Parameters"] for group in groups if group["Label"]["default"] == "Rules of your organisation"]
        defaults = {name: template["Parameters"][name]["Default"] for name in rules}
        self.assertEqual({**dict.fromkeys(rules, ""), "RolePath": "/"}, defaults)
        page = (ROOT / "docs" / "landing-zones.md").read_text()
        for name in [*rules, "WorkflowKmsKeyArns"]:
            self.assertRegex(page.split("\n## ")[0], rf"\| .*`{name}`", "the page lacks a parameter")

    def test_endpoints_are_written_from_the_roles(self):
        self.assertEqual(written(PAGE.read_text()), PAGE.read_text(), "test_landing.py --write")

    def test_page_names_the_endpoints_that_the_functions_call(self):
        """Reads the services from the actions of the roles. Actions that Lambda itself carries out need no endpoint."""
        text = (ROOT / "infra" / "template.yaml").read_text()
        called = {action.split(":")[0] for action in re.findall(r"\b(dynamodb|states|ecs|events|scheduler|logs):\w+", text)}
        page = (ROOT / "docs" / "landing-zones.md").read_text()
        self.assertEqual(called, set(re.findall(r"\| (?:gateway|interface), `(\w+)` \|", page)))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(written(PAGE.read_text()))
        sys.exit(0)
    sys.exit(unittest.main())
