"""roles.py, and checks of functions' roles that need no correction."""
from . import batches
from .functions import calls_as, role_that_may
from .support import Probe, client, jsonata, machine, start, unique

ARN = "arn:aws:{}:us-east-1:000000000000:{}"
DENIED = "AccessDeniedException"


class Ecs(Probe):
    def calls(self, task):
        place = {"cluster": batches.cluster()}
        return [["ecs", "describe_tasks", {**place, "tasks": [task]}], ["ecs", "list_tasks", place],
                ["ecs", "stop_task", {**place, "task": task}]]

    def test_cluster_is_the_condition(self):
        task = batches.run_task(batches.task_definition(), SECONDS=20)
        for name, expected in ((unique(), [DENIED] * 3), (batches.cluster(), ["allowed"] * 3)):
            condition = {"ArnEquals": {"ecs:cluster": ARN.format("ecs", f"cluster/{name}")}}
            role_arn = role_that_may(
                (["ecs:DescribeTasks", "ecs:StopTask"], ARN.format("ecs", "task/*"), condition),
                (["ecs:ListTasks"], "*", condition))
            self.assertEqual(expected, calls_as(role_arn, self.calls(task)), name)

    def test_task_is_the_resource(self):
        task = batches.run_task(batches.task_definition(), SECONDS=20)
        role_arn = role_that_may((["ecs:DescribeTasks", "ecs:StopTask"], task))
        self.assertEqual(["allowed", DENIED, "allowed"], calls_as(role_arn, self.calls(task)))


class States(Probe):
    corrected = False

    def test_execution_is_the_resource(self):
        wait = machine(jsonata({"Wait": {"Type": "Wait", "Seconds": 20, "End": True}}))
        mine, other = start(wait), start(wait)
        role_arn = role_that_may((["states:DescribeExecution", "states:StopExecution"], mine))
        calls = [["stepfunctions", operation, {"executionArn": arn}]
                 for arn in (mine, other) for operation in ("describe_execution", "stop_execution")]
        self.assertEqual(["allowed", "allowed", DENIED, DENIED], calls_as(role_arn, calls))
        client("stepfunctions").stop_execution(executionArn=other)

    def test_answers_need_permission(self):
        call = [["stepfunctions", "send_task_success", {"taskToken": unique(), "output": "1"}]]
        self.assertEqual([DENIED], calls_as(role_that_may((["states:StopExecution"], "*")), call))
        self.assertEqual(["InvalidToken"], calls_as(role_that_may((["states:SendTaskSuccess"], "*")), call))


class Doctor(Probe):
    def test_rule_is_the_resource(self):
        mine, other = unique(), unique()
        for name in (mine, other):
            client("events").put_rule(Name=name, ScheduleExpression="rate(1 day)", State="DISABLED")
        role_arn = role_that_may((["events:DescribeRule"], ARN.format("events", f"rule/{mine}")))
        self.assertEqual(["allowed", DENIED], calls_as(role_arn, [["events", "describe_rule", {"Name": name}] for name in (mine, other)]))
        for name in (mine, other):
            client("events").delete_rule(Name=name)

    def test_concurrency_is_read_and_set_by_two_rights(self):
        name = unique()
        role_arn = role_that_may((["lambda:GetFunctionConcurrency"], ARN.format("lambda", f"function:{name}")))
        calls = [["lambda", "get_function_concurrency", {"FunctionName": name}],
                 ["lambda", "put_function_concurrency", {"FunctionName": name, "ReservedConcurrentExecutions": 1}]]
        self.assertEqual(["ResourceNotFoundException", DENIED], calls_as(role_arn, calls))
