"""habits.py, ecs_leaving.py and lags.py: behaviour of AWS that the emulator shows only on order."""
import contextlib
import json
import sys
import time

from . import batches
from .functions import function, function_arn, invoke, recorded, recorder, role_that_may
from .probe_faults import faults
from .support import (Probe, client, ended, jsonata, machine, queue, queue_arn, receive, rule_to, start, unique,
                      wait_for)

# Environments of provided runtimes have their own access keys, which show the function of a request.
READS = f"""#!{sys.executable}
import boto3, http.client, json, os
from botocore.config import Config
table = boto3.client("dynamodb", config=Config(read_timeout=1, retries={{"total_max_attempts": 1}}))
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
while True:
    api.request("GET", "/2018-06-01/runtime/invocation/next")
    event = api.getresponse()
    try:
        table.get_item(TableName=json.loads(event.read())["table"], Key={{"pk": {{"S": "a"}}}})
        answer = "read"
    except Exception as error:
        response = getattr(error, "response", None)
        answer = response["Error"]["Code"] if response else type(error).__name__
    answered = f"/2018-06-01/runtime/invocation/{{event.headers['Lambda-Runtime-Aws-Request-Id']}}/response"
    api.request("POST", answered, json.dumps(answer))
    api.getresponse().read()
"""


class HabitProbe(Probe):
    corrected = False

    @contextlib.contextmanager
    def habit(self, name, mentioning, **fields):
        """Switches the habit on for requests that contain the text, during a `with` block."""
        status, reply = faults("POST", habit=name, mentioning=mentioning, **fields)
        if status == 400 and "--table-iam" in reply["message"]:
            self.skipTest(reply["message"])
        self.assertEqual(200, status, reply)
        try:
            yield
        finally:
            faults("POST", habit=name, mentioning=mentioning, off=True)

    def fired(self, mentioning):
        return [fault for fault in faults()[1]["fired"] if fault.get("mentioning") == mentioning]


class StoppedLate(HabitProbe):
    SECONDS = 3

    def test_task_is_deprovisioning_before_it_is_stopped(self):
        group, name = unique("probe"), recorder()
        rule_to(function_arn(name), {"source": ["aws.ecs"], "detail": {
            "lastStatus": ["DEPROVISIONING", "STOPPED"], "group": [group]}})
        with self.habit("stopped-late", group, seconds=self.SECONDS):
            task = batches.run_task(batches.task_definition(), group=group, SECONDS=0.3, EXIT=3)
            leaving = batches.reaches(task, "DEPROVISIONING")
            since = time.monotonic()
            self.assertEqual(("STOPPED", "EssentialContainerExited", 3, "STOPPED"), (
                leaving["desiredStatus"], leaving["stopCode"], leaving["containers"][0]["exitCode"],
                leaving["containers"][0]["lastStatus"]))
            self.assertNotIn("stoppedAt", leaving)
            self.assertNotIn(task, client("ecs").list_tasks(cluster=batches.cluster())["taskArns"])
            stopped = batches.reaches(task, "STOPPED")
            self.assertGreater(time.monotonic() - since, self.SECONDS - 0.7)
        self.assertEqual(leaving["executionStoppedAt"], stopped["executionStoppedAt"])
        self.assertGreater((stopped["stoppedAt"] - stopped["executionStoppedAt"]).total_seconds(), self.SECONDS - 0.3)
        wait_for(lambda: len(recorded(name)) >= 2, "two events")
        details = [event["detail"] for event in recorded(name)]
        self.assertEqual(["DEPROVISIONING", "STOPPED"], [detail["lastStatus"] for detail in details])
        self.assertLess(details[0]["version"], details[1]["version"])
        self.assertEqual(["EssentialContainerExited"] * 2, [detail["stopCode"] for detail in details])
        self.assertEqual([task], self.fired(group)[0]["resources"])

    def test_state_waits_for_stopped_and_a_stopped_task_keeps_its_reason(self):
        group, definition = unique("probe"), batches.task_definition()
        state = batches.run_state(definition, SECONDS=20)
        state["Arguments"]["Group"] = group
        with self.habit("stopped-late", group, seconds=self.SECONDS):
            execution = start(machine(jsonata({"Run": state})))
            (task,) = wait_for(lambda: batches.tasks_of(definition), "task")
            batches.reaches(task, "RUNNING")
            client("ecs").stop_task(cluster=batches.cluster(), task=task, reason="on purpose")
            leaving = batches.reaches(task, "DEPROVISIONING")
            self.assertEqual("RUNNING", client("stepfunctions").describe_execution(executionArn=execution)["status"])
            self.assertEqual(("UserInitiated", "on purpose"), (leaving["stopCode"], leaving["stoppedReason"]))
            stopped = batches.reaches(task, "STOPPED")
            self.assertEqual(("UserInitiated", "on purpose"), (stopped["stopCode"], stopped["stoppedReason"]))
            self.assert_failed(ended(execution, 5), "States.TaskFailed")


class RunTaskAnswerLost(HabitProbe):
    def test_task_of_a_failed_run_task_runs(self):
        group, definition = unique("probe"), batches.task_definition()
        state = batches.run_state(definition, SECONDS=1)
        state["Arguments"]["Group"] = group
        parallel = {"Type": "Parallel", "End": True, "Branches": [{"StartAt": "Run", "States": {"Run": state}}]}
        with self.habit("run-task-answer-lost", group, error="ServerException"):
            execution = start(machine(jsonata({"Both": parallel})))
            self.assert_failed(ended(execution), "ECS.ServerException")
        (task,) = batches.tasks_of(definition)
        batches.reaches(task, "STOPPED")
        self.assertEqual(["start", "end"], batches.events(task))
        self.assertEqual([task], self.fired(group)[0]["resources"])
        events = client("stepfunctions").get_execution_history(executionArn=execution)["events"]
        (failed,) = [event for event in events if event["type"] == "TaskSubmitFailed"]
        self.assertEqual("ECS.ServerException", failed["taskSubmitFailedEventDetails"]["error"])
        (started,) = [event for event in events if event["id"] == failed["previousEventId"]]
        (scheduled,) = [event for event in events if event["id"] == started["previousEventId"]]
        call = scheduled["taskScheduledEventDetails"]
        self.assertEqual(("ecs", "runTask.sync"), (call["resourceType"], call["resource"]))
        self.assertEqual({**state["Arguments"], "StartedBy": "AWS Step Functions"}, json.loads(call["parameters"]))


class SyncTimeout(HabitProbe):
    def run_for_two_seconds(self, group):
        definition = batches.task_definition()
        state = {**batches.run_state(definition, SECONDS=4), "TimeoutSeconds": 2}
        state["Arguments"]["Group"] = group
        self.assert_failed(ended(start(machine(jsonata({"Run": state})))), "States.Timeout")
        (task,) = batches.tasks_of(definition)
        batches.reaches(task, "STOPPED")
        return batches.events(task)

    def test_task_outlives_the_timeout_of_its_state(self):
        group = unique("probe")
        self.assertEqual(["start", "sigterm"], self.run_for_two_seconds(group))
        with self.habit("sync-timeout-stops-nothing", group):
            self.assertEqual(["start", "end"], self.run_for_two_seconds(group))
        self.assertEqual(1, len(self.fired(group)))

    def test_stopped_execution_still_stops_its_task(self):
        group, definition = unique("probe"), batches.task_definition()
        state = batches.run_state(definition, SECONDS=20)
        state["Arguments"]["Group"] = group
        with self.habit("sync-timeout-stops-nothing", group):
            execution = start(machine(jsonata({"Run": state})))
            (task,) = wait_for(lambda: batches.tasks_of(definition), "task")
            wait_for(lambda: batches.lines(task), "first line")
            client("stepfunctions").stop_execution(executionArn=execution)
            batches.reaches(task, "STOPPED")
        self.assertEqual(["start", "sigterm"], batches.events(task))


class DescribeLags(HabitProbe):
    LAG = 3

    def test_task_is_shown_as_it_was_and_its_event_comes_at_once(self):
        url, group = queue(), unique("probe")
        rule_to(queue_arn(url), {"source": ["aws.ecs"], "detail": {"lastStatus": ["STOPPED"], "group": [group]}})
        api, definition = client("ecs"), batches.task_definition()
        wanted = {"cluster": batches.cluster(), "family": batches.family(definition)}
        with self.habit("describe-lags", group, seconds=self.LAG):
            task = batches.run_task(definition, group=group, SECONDS=5)
            self.assertEqual([], api.list_tasks(**wanted)["taskArns"])
            reply = api.describe_tasks(cluster=batches.cluster(), tasks=[task])
            self.assertEqual(([], "MISSING"), (reply["tasks"], reply["failures"][0]["reason"]))
            detail = receive(url)["detail"]
            self.assertEqual((task, 0), (detail["taskArn"], detail["containers"][0]["exitCode"]))
            at = time.monotonic()
            self.assertEqual("RUNNING", batches.describe(task)["lastStatus"])
            self.assertEqual([task], api.list_tasks(**wanted)["taskArns"])
            self.assertEqual(0, batches.reaches(task, "STOPPED")["containers"][0]["exitCode"])
            self.assertGreater(time.monotonic() - at, self.LAG - 1)
            self.assertEqual([task], api.list_tasks(**wanted, desiredStatus="STOPPED")["taskArns"])
        self.assertEqual("STOPPED", batches.describe(task)["lastStatus"])

    def test_execution_is_shown_as_it_was_and_its_event_comes_at_once(self):
        url, mark = queue(), unique("probe")
        arn = machine(jsonata({"Wait": {"Type": "Wait", "Seconds": 4, "End": True}}))
        rule_to(queue_arn(url), {"source": ["aws.states"], "detail": {"stateMachineArn": [arn],
                                                                      "status": ["ABORTED"]}})
        describe = client("stepfunctions").describe_execution
        with self.habit("describe-lags", mark, seconds=self.LAG):
            execution = start(arn, {"mark": mark})
            self.assertEqual("RUNNING", describe(executionArn=execution)["status"])
            time.sleep(0.5)  # until the execution has entered a state, so that it can be redriven
            client("stepfunctions").stop_execution(executionArn=execution)
            self.assertEqual(execution, receive(url)["detail"]["executionArn"])
            stale = describe(executionArn=execution)
            self.assertEqual("RUNNING", stale["status"])
            self.assertNotIn("stopDate", stale)
            fresh = ended(execution, self.LAG + 2)
            self.assertEqual("ABORTED", fresh["status"])
            self.assertIn("stopDate", fresh)
            client("stepfunctions").redrive_execution(executionArn=execution)
            self.assertEqual(("ABORTED", 0), tuple(describe(executionArn=execution)[field]
                                                   for field in ("status", "redriveCount")))
            wait_for(lambda: describe(executionArn=execution)["redriveCount"] == 1, "redrive", self.LAG + 2)


class Slow(HabitProbe):
    def test_slow_delays_calls_that_mention_the_text(self):
        mark = unique("probe")
        arn = machine(jsonata({"End": {"Type": "Succeed"}}))
        slow, quick = start(arn, {"mark": mark}), start(arn)
        with self.habit("slow", mark, action="DescribeExecution", seconds=2):
            self.assertGreater(self.seconds(slow), 1.9)
            self.assertLess(self.seconds(quick), 1)
        self.assertLess(self.seconds(slow), 1)

    def seconds(self, execution):
        began = time.monotonic()
        client("stepfunctions").describe_execution(executionArn=execution)
        return time.monotonic() - began


class TableAway(HabitProbe):
    def test_functions_reach_no_table_while_it_is_away(self):
        name, role_arn = unique(), role_that_may((["dynamodb:GetItem"], "*"))
        function_name = function(READS, "bootstrap", "provided.al2023", "bootstrap", role_arn)
        client("dynamodb").create_table(
            TableName=name, BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}])

        def read():
            return invoke(function_name, {"table": name})
        for answer, error in (("fail", "InternalServerError"), ("throttle", "ThrottlingException"),
                              ("hang", "ReadTimeoutError")):
            with self.habit("table-away", name, seconds=60, **{"with": answer}):
                self.assertEqual(error, read(), answer)
                client("dynamodb").get_item(TableName=name, Key={"pk": {"S": "a"}})  # tests see it
            self.assertEqual("read", read(), answer)
        with self.habit("table-away", name, seconds=60, function="another", **{"with": "fail"}):
            self.assertEqual("read", read())
        with self.habit("table-away", name, seconds=60, function=function_name, **{"with": "fail"}):
            self.assertEqual("InternalServerError", read())
        with self.habit("table-away", name, seconds=1, **{"with": "fail"}):
            wait_for(lambda: read() == "read", "end of the outage")
        self.assertEqual({function_name}, {fault["function"] for fault in self.fired(name)})


class Orders(HabitProbe):
    def test_senseless_habit_is_refused(self):
        for order in ({"habit": "melts"}, {"habit": "stopped-late"}, {"habit": "stopped-late", "seconds": 0},
                      {"habit": "describe-lags", "seconds": "soon"}, {"habit": "slow", "seconds": 1},
                      {"habit": "sync-timeout-stops-nothing", "seconds": 1}, {"habit": "start-answer-lost"},
                      {"habit": "run-task-answer-lost"},
                      {"habit": "table-away", "seconds": 1, "with": "smoke"}):
            self.assertEqual(400, faults("POST", **order)[0], order)
