"""ecs_tasks.py, ecs_containers.py and ecs_stop.py, on real containers."""
import json
import time

from . import batches
from .support import Probe, client, ended, jsonata, machine, output, run, start, unique, wait_for


class RunTask(Probe):
    def test_result_is_the_task(self):
        task = output(run(jsonata({"Run": batches.run_state(batches.task_definition(), SECONDS=0.2)}), seconds=30))
        self.assertEqual(0, task["Containers"][0]["ExitCode"])
        # No waiting: a stopped task's lines are all there.
        self.assertEqual(["start", "end"], batches.events(task["TaskArn"]))
        # The container's own id ties its lines to the task's description.
        self.assertEqual(task["Containers"][0]["RuntimeId"], batches.lines(task["TaskArn"])[0]["id"])

    def test_bad_exit_code_fails_the_state(self):
        description = run(jsonata({"Run": batches.run_state(batches.task_definition(), SECONDS=0.2, EXIT=3)}), seconds=30)
        self.assert_failed(description, "States.TaskFailed")
        self.assertEqual(3, json.loads(description["cause"])["Containers"][0]["ExitCode"])

    def test_missing_image_fails_the_state(self):
        definition = batches.task_definition(image="lockstep-no-such-image:none")
        description = run(jsonata({"Run": batches.run_state(definition)}), seconds=40)
        self.assert_failed(description, "States.TaskFailed")
        self.assertEqual("TaskFailedToStart", json.loads(description["cause"])["StopCode"])

    def test_unknown_cluster_is_refused(self):
        with self.assertRaises(client("ecs").exceptions.ClusterNotFoundException):
            client("ecs").run_task(cluster=unique(), taskDefinition=batches.task_definition())

    def test_client_token_starts_one_task(self):
        request = {"cluster": batches.cluster(), "taskDefinition": batches.task_definition(), "clientToken": unique()}
        arns = {client("ecs").run_task(**request)["tasks"][0]["taskArn"] for _ in range(2)}
        self.assertEqual(1, len(arns))

    def test_container_knows_its_region(self):
        task = batches.run_task(batches.task_definition(), SECONDS=0.1, ECHO="AWS_REGION")
        batches.reaches(task, "STOPPED")
        self.assertEqual({"AWS_REGION": "us-east-1"}, batches.lines(task)[0]["env"])

    def test_container_runs_out_of_memory(self):
        task = batches.run_task(batches.task_definition(memory=16), SECONDS=20, MEMORY_MB=40)
        container = batches.reaches(task, "STOPPED", 30)["containers"][0]
        self.assertEqual(["start"], batches.events(task))
        enough = batches.run_task(batches.task_definition(memory=64), SECONDS=0.2, MEMORY_MB=40)
        self.assertEqual(0, batches.reaches(enough, "STOPPED", 30)["containers"][0]["exitCode"])
        self.assertEqual(137, container["exitCode"])
        self.assertIn("OutOfMemoryError", container["reason"])



class StopTask(Probe):
    def test_container_gets_sigterm(self):
        task = batches.run_task(batches.task_definition(), SECONDS=30)
        self.wait_for_start(task)
        client("ecs").stop_task(cluster=batches.cluster(), task=task, reason="probe")
        stopped = batches.reaches(task, "STOPPED")
        self.assertEqual(["start", "sigterm"], batches.events(task))
        self.assertEqual(143, stopped["containers"][0]["exitCode"])
        self.assertEqual(("UserInitiated", "probe"), (stopped["stopCode"], stopped["stoppedReason"]))

    def test_stop_timeout_ends_in_sigkill(self):
        task = batches.run_task(batches.task_definition(), SECONDS=30, IGNORE_SIGTERM=1)
        self.wait_for_start(task)
        client("ecs").stop_task(cluster=batches.cluster(), task=task, reason="in time")
        time.sleep(0.7)
        meanwhile = batches.describe(task)
        self.assertEqual(("RUNNING", "STOPPED"), (meanwhile["lastStatus"], meanwhile["desiredStatus"]))
        self.assertEqual(("UserInitiated", "in time"), (meanwhile["stopCode"], meanwhile["stoppedReason"]))
        self.assertEqual(137, batches.reaches(task, "STOPPED", 8)["containers"][0]["exitCode"])

    def test_starting_task_is_stopped_with_its_container(self):
        task = batches.run_task(batches.task_definition(), SECONDS=30)
        client("ecs").stop_task(cluster=batches.cluster(), task=task, reason="too soon")
        stopped = batches.reaches(task, "STOPPED")
        self.assertEqual("too soon", stopped["stoppedReason"])
        self.assertIn(stopped["containers"][0].get("exitCode"), (137, 143))

    def test_cancelled_state_stops_its_task(self):
        definition = batches.task_definition()
        branches = [{"StartAt": "Run", "States": {"Run": batches.run_state(definition, SECONDS=30)}}, {
            "StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 3, "Next": "Fail"},
                                          "Fail": {"Type": "Fail", "Error": "Probe.Branch", "Cause": ""}}}]
        description = run(jsonata({"Both": {"Type": "Parallel", "Branches": branches, "End": True}}))
        self.assert_failed(description, "Probe.Branch")
        self.assert_stopped_by_signal(definition)

    def test_stopped_execution_stops_its_task(self):
        definition = batches.task_definition()
        execution = start(machine(jsonata({"Run": batches.run_state(definition, SECONDS=30)})))
        task = wait_for(lambda: batches.tasks_of(definition), "task")[0]
        self.wait_for_start(task)
        client("stepfunctions").stop_execution(executionArn=execution)
        self.assertEqual("ABORTED", ended(execution)["status"])
        self.assert_stopped_by_signal(definition)
        self.assertEqual(f"The Task state in AWS Step Functions execution [{execution}] which was managing this "
                         "resource was aborted", batches.describe(task)["stoppedReason"])

    def assert_stopped_by_signal(self, definition):
        (task,) = batches.tasks_of(definition)
        batches.reaches(task, "STOPPED", 10)
        self.assertEqual(["start", "sigterm"], batches.events(task))

    def wait_for_start(self, task):
        batches.reaches(task, "RUNNING")
        wait_for(lambda: batches.lines(task), "first line")
