"""The rules of infra/lint find their faults, and the parameters of the templates refuse values that would grant nothing.

Run by infra/validate with the Python of cfn-lint.
"""

import re
import sys
import unittest
from pathlib import Path

import yaml
from cfnlint.api import lint
from cfnlint.config import ManualArgs
from cfnlint.core import get_rules
from cfnlint.decode import cfn_yaml

ROOT = Path(__file__).resolve().parents[2]
RULES = get_rules([str(ROOT / "infra" / "lint")], [], [])


def complaints(template):
    """Returns the rules of this project that a template breaks."""
    found = lint(yaml.safe_dump(template), rules=RULES, regions=["us-east-1"], config=ManualArgs())
    return sorted({match.rule.id for match in found if match.rule.id.startswith("E91")})


def load(path):
    return cfn_yaml.load(str(ROOT / path))


def topic_policy(**more):
    statement = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sns:Publish",
                 "Resource": {"Ref": "Topic"}, **more}
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    return {"Resources": {
        "Topic": {"Type": "AWS::SNS::Topic"},
        "Policy": {"Type": "AWS::SNS::TopicPolicy",
                   "Properties": {"Topics": [{"Ref": "Topic"}], "PolicyDocument": policy}}}}


def exported(value, **policy):
    allowed = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": {"Fn::GetAtt": ["Queue", "Arn"]}}
    document = {"Version": "2012-10-17", "Statement": [allowed]}
    return {
        "Parameters": {"Days": {"Type": "Number", "Default": 14}},
        "Resources": {
            "Queue": {"Type": "AWS::SQS::Queue"},
            "Policy": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document, **policy}}},
        "Outputs": {"It": {"Value": value, "Export": {"Name": "it"}}}}


def rule(pattern):
    return {
        "Parameters": {"Arns": {"Type": "String", "Default": ""}},
        "Resources": {"Rule": {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": pattern}}}}


class Rules(unittest.TestCase):
    def test_topic_policy_for_eventbridge_has_no_condition(self):
        condition = {"ArnEquals": {"aws:SourceArn": {"Ref": "Topic"}}}
        self.assertEqual([], complaints(topic_policy()))
        self.assertEqual(["E9102"], complaints(topic_policy(Condition=condition)))
        alarms = {"Service": "cloudwatch.amazonaws.com"}
        self.assertEqual([], complaints(topic_policy(Condition=condition, Principal=alarms)))

    def test_what_may_change_is_not_exported(self):
        self.assertEqual([], complaints(exported({"Ref": "Queue"})))
        self.assertEqual([], complaints(exported({"Fn::GetAtt": ["Queue", "Arn"]})))
        self.assertEqual(["E9103"], complaints(exported({"Ref": "Days"})))
        self.assertEqual(["E9103"], complaints(exported("14")))

    def test_exported_policy_has_nothing_whose_change_replaces_it(self):
        self.assertEqual([], complaints(exported({"Ref": "Policy"})))
        for field in ("Description", "ManagedPolicyName", "Path"):
            self.assertEqual(["E9103"], complaints(exported({"Ref": "Policy"}, **{field: "/one/"})), field)

    def test_event_pattern_has_no_list_of_any_length(self):
        arns = {"Fn::Split": [",", {"Ref": "Arns"}]}
        self.assertEqual([], complaints(rule({"source": ["aws.states"]})))
        self.assertEqual(["E9104"], complaints(rule({"detail": {"stateMachineArn": arns}})))

    def test_list_that_goes_into_a_policy_has_an_end(self):
        def queues(**more):
            arns = {"Fn::Split": [",", {"Ref": "Arns"}]}
            allowed = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": arns}
            policy = {"PolicyDocument": {"Version": "2012-10-17", "Statement": [allowed]}}
            return {"Parameters": {"Arns": {"Type": "String", "Default": "", **more}},
                    "Resources": {"Policy": {"Type": "AWS::IAM::ManagedPolicy", "Properties": policy}}}
        self.assertEqual([], complaints(queues(MaxLength=512)))
        self.assertEqual(["E9106"], complaints(queues()))

    def test_role_has_managed_policies_that_are_written_out_only(self):
        def role(*policies):
            allowed = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": {"Fn::GetAtt": ["Queue", "Arn"]}}
            trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
            document = lambda statement: {"Version": "2012-10-17", "Statement": [statement]}
            return {
                "Parameters": {"Arn": {"Type": "String"}}, "Conditions": {"Given": {"Fn::Equals": [{"Ref": "Arn"}, "x"]}},
                "Resources": {
                    "Queue": {"Type": "AWS::SQS::Queue"},
                    "Own": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document(allowed)}},
                    "Role": {"Type": "AWS::IAM::Role", "Properties": {
                        "AssumeRolePolicyDocument": document(trust), "ManagedPolicyArns": list(policies)}}}}
        own, none = {"Ref": "Own"}, {"Ref": "AWS::NoValue"}
        self.assertEqual([], complaints(role(own, {"Fn::If": ["Given", own, none]})))
        for other in ({"Ref": "Arn"}, {"Fn::If": ["Given", {"Ref": "Arn"}, none]}, "arn:${AWS::Partition}:iam::aws:policy/ReadOnlyAccess"):
            self.assertEqual(["E9101"], complaints(role(own, other)), other)

    def test_key_policy_speaks_of_its_own_key(self):
        statement = {"Effect": "Allow", "Principal": {"Service": "logs.amazonaws.com"}, "Action": "kms:Encrypt*", "Resource": "*"}
        document = {"Version": "2012-10-17", "Statement": [statement]}
        key = {"Resources": {"Key": {"Type": "AWS::KMS::Key", "Properties": {"KeyPolicy": document}}}}
        self.assertEqual([], complaints(key))
        policy = {"Resources": {"Policy": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": {
            "Version": "2012-10-17", "Statement": [{**statement, "Principal": None}]}}}}}
        self.assertEqual(["E9101"], complaints(policy))

    def test_no_arn_names_a_partition(self):
        named = {"Resources": {"Rule": {"Type": "AWS::Events::Rule", "Properties": {
            "EventPattern": {"resources": ["arn:aws:ecs:eu-west-1:111122223333:cluster/one"]}}}}}
        self.assertEqual(["E9105"], complaints(named))


def parameters(template):
    return load(f"infra/{template}.yaml")["Parameters"]


def accepts(parameter, value):
    fits = len(value) <= parameter.get("MaxLength", len(value))
    return fits and re.search(parameter["AllowedPattern"], value) is not None


class Parameters(unittest.TestCase):
    def test_task_definition_needs_a_revision_or_all_of_them(self):
        """RunTask is authorised on the ARN with a revision, so an ARN without a revision matches nothing."""
        family = "arn:aws:ecs:eu-west-1:111122223333:task-definition/report"
        for template in ("template", "team"):
            parameter = parameters(template)["TaskDefinitionArns"]
            for good in ("", f"{family}:*", f"{family}:7", f"{family}:*,{family}-2:12", f"{family}*:*", f"{family}-*",
                         f"{family}*,{family}:3", family.replace("arn:aws:", "arn:aws-us-gov:") + ":*"):
                self.assertTrue(accepts(parameter, good), good)
            for bad in (family, f"{family}:", f"{family}:*,{family}", f"{family}:*,", f"{family}:1*", f"{family}:0",
                        f"{family}-*,", f"{family}*x", f"{family}:*, {family}:*", "report:*"):
                self.assertFalse(accepts(parameter, bad), bad)
            self.assertIn("*", parameter["ConstraintDescription"])

    def test_lists_take_wildcards(self):
        for template in ("template", "team"):
            for name, kind in (("TaskRoleArns", "arn:aws:iam::111122223333:role/{}"),
                               ("ClusterArns", "arn:aws:ecs:eu-west-1:111122223333:cluster/{}"),
                               ("GuardedWorkflowArns", "arn:aws:states:eu-west-1:111122223333:stateMachine:{}")):
                parameter = parameters(template)[name]
                one, other = kind.format("payments_*"), kind.format("nightly")
                for good in (one, other, f"{one},{other}"):
                    self.assertTrue(accepts(parameter, good), f"{template} {good}")
                for bad in (f"{one},", f"{one}, {other}", "*", f"{one},*", one.replace("111122223333", "*")):
                    self.assertFalse(accepts(parameter, bad), f"{template} {bad}")
                self.assertIn(f"{parameter['MaxLength']:,} characters", parameter["Description"])

    def test_a_team_has_a_cluster(self):
        self.assertFalse(accepts(parameters("team")["ClusterArns"], ""))
        self.assertTrue(accepts(parameters("template")["ClusterArns"], ""))

    def test_no_prefix_of_a_team_begins_with_another(self):
        prefix = parameters("team")["LockPrefix"]
        for good in ("payments/", "payments-eu/", "A_1/", "x" * 32 + "/"):
            self.assertTrue(accepts(prefix, good), good)
        for bad in ("", "/", "payments", "payments/eu/", "payments//", "-a/", "pay ments/", "pay'/", "pay*/",
                    "#token-key/", "x" * 33 + "/"):
            self.assertFalse(accepts(prefix, bad), bad)

    def test_name_of_a_teams_state_machine_fits(self):
        """https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html"""
        team = parameters("team")
        longest = team["LockstepStackName"]["MaxLength"] + len("-team-") + team["LockPrefix"]["MaxLength"] - len("/")
        self.assertLessEqual(longest, 80)

    def test_stack_lets_its_functions_stop_what_a_team_is_named(self):
        """Checks that both templates use the same name. tests/teams tries to stop such a team."""
        team = load("infra/team.yaml")["Resources"]["ExclusiveRunStateMachine"]["Properties"]["Name"]["Fn::Sub"][0]
        self.assertEqual("${LockstepStackName}-team-${Team}", team)
        self.assertIn("execution:${AWS::StackName}-team-*:*", (ROOT / "infra" / "template.yaml").read_text())

    def test_examples_take_what_the_stack_may_change_with_its_defaults(self):
        for example in ("examples/run-task", "examples/worker", "team"):
            theirs = parameters(example)
            for name in ("RunRetentionDays", "RunKeyRetentionDays", "EventBusName"):
                if name != "EventBusName" and example == "team":
                    continue
                ours = dict(parameters("template")[name])
                same = {field: value for field, value in theirs[name].items() if field != "Description"}
                ours.pop("Description")
                self.assertEqual(ours, same, f"{name} of {example}")


class Definitions(unittest.TestCase):
    def test_templates_fill_every_substitution(self):
        text = (ROOT / "statemachines" / "exclusive-run.asl.json").read_text()
        for template in ("template", "team"):
            machine = load(f"infra/{template}.yaml")["Resources"]["ExclusiveRunStateMachine"]["Properties"]
            self.assertEqual(set(re.findall(r"\$\{([^}]*)\}", text)), set(machine["DefinitionSubstitutions"]))

    def test_no_definition_names_a_partition(self):
        # Woven definitions may: `lockstep weave` writes the partition unless a flag sets it.
        written = (path for path in (ROOT / "statemachines").rglob("*.asl.json") if ".woven." not in path.name)
        for path in sorted(written):
            self.assertNotIn("arn:aws:", path.read_text(), path.name)


if __name__ == "__main__":
    sys.exit(unittest.main())
