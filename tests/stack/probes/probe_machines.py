"""machine_logging.py: state machines that a stack makes.

AWS: DescribeStateMachine returns loggingConfiguration with fields in camelCase, whoever made the state machine.
https://docs.aws.amazon.com/step-functions/latest/apireference/API_LoggingConfiguration.html"""
import json

from .support import Probe, client, jsonata, role, unique, wait_for

PASS = {"Pass": {"Type": "Pass", "End": True}}


class MachinesOfStacks(Probe):
    def test_logging_of_a_stack_is_described_and_its_change_too(self):
        name, group = unique(), unique()
        client("logs").create_log_group(logGroupName=group)
        arn = client("logs").describe_log_groups(logGroupNamePrefix=group)["logGroups"][0]["arn"]
        for act, level in (("create", "ERROR"), ("update", "ALL")):
            logging = {"Level": level, "IncludeExecutionData": False, "Destinations": [{"CloudWatchLogsLogGroup": {"LogGroupArn": arn}}]}
            machine = {"Type": "AWS::StepFunctions::StateMachine", "Properties": {
                "RoleArn": role(), "DefinitionString": json.dumps(jsonata(PASS)), "LoggingConfiguration": logging}}
            getattr(client("cloudformation"), f"{act}_stack")(
                StackName=name, TemplateBody=json.dumps({"Resources": {"Machine": machine}}))
            wait_for(lambda: self.status(name) == f"{act.upper()}_COMPLETE", f"end of {act}")
            [made] = client("cloudformation").describe_stack_resources(StackName=name)["StackResources"]
            described = client("stepfunctions").describe_state_machine(stateMachineArn=made["PhysicalResourceId"])
            expected = {"level": level, "includeExecutionData": False, "destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": arn}}]}
            self.assertEqual(expected, described["loggingConfiguration"])

    def status(self, name):
        return client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
