"""ecs_fields.py, ecs_events.py and ecs_protection.py: what DescribeTasks returns."""
import json
import time

from . import batches
from .functions import function_arn, recorded, recorder
from .support import (Probe, client, ended, jsonata, machine, queue, queue_arn, receive, rule_to, start, unique,
                      wait_for)


class Listing(Probe):
    """Behaviour that needs no correction, and on which recovery depends."""
    corrected = False

    def test_family_and_status_choose_tasks(self):
        api, definition = client("ecs"), batches.task_definition()
        first, second = (batches.run_task(definition, SECONDS=20) for _ in range(2))
        batches.run_task(batches.task_definition(), SECONDS=0.1)
        wanted = {"cluster": batches.cluster(), "family": batches.family(definition)}
        self.assertEqual({first, second}, set(api.list_tasks(**wanted)["taskArns"]))
        page = api.list_tasks(**wanted, maxResults=1)
        rest = api.list_tasks(**wanted, maxResults=1, nextToken=page["nextToken"])
        self.assertEqual({first, second}, set(page["taskArns"] + rest["taskArns"]))
        self.assertNotIn("nextToken", rest)
        batches.reaches(first, "RUNNING")
        api.stop_task(cluster=batches.cluster(), task=first)
        batches.reaches(first, "STOPPED")
        self.assertEqual([second], api.list_tasks(**wanted, desiredStatus="RUNNING")["taskArns"])
        self.assertEqual([first], api.list_tasks(**wanted, desiredStatus="STOPPED")["taskArns"])
        api.stop_task(cluster=batches.cluster(), task=second)

    def test_unknown_task_is_a_failure(self):
        response = client("ecs").describe_tasks(cluster=batches.cluster(), tasks=[unique()])
        self.assertEqual(([], "MISSING"), (response["tasks"], response["failures"][0]["reason"]))

    def test_task_tells_what_it_runs(self):
        task = batches.run_task(batches.task_definition(), group="lockstep:nightly:1", SECONDS=0.3)
        begun, response = batches.describe(task), batches.reaches(task, "STOPPED")
        self.assertLess(begun["version"], response["version"])
        self.assertEqual("lockstep:nightly:1", response["group"])
        self.assertEqual([{"name": "BATCH_SECONDS", "value": "0.3"}],
                         response["overrides"]["containerOverrides"][0]["environment"])
        self.assertEqual((0, "EssentialContainerExited"), (response["containers"][0]["exitCode"], response["stopCode"]))
        self.assertTrue(response["containers"][0]["runtimeId"])


class Pages(Probe):
    """lags.py."""

    def test_next_page_follows_the_page_before_also_when_a_task_stops(self):
        api, definition = client("ecs"), batches.task_definition()
        first, second, third = (batches.run_task(definition, SECONDS=20) for _ in range(3))
        wanted = {"cluster": batches.cluster(), "family": batches.family(definition), "desiredStatus": "STOPPED"}

        def stop(task):
            batches.reaches(task, "RUNNING")
            api.stop_task(cluster=batches.cluster(), task=task)
            batches.reaches(task, "STOPPED")

        stop(second)
        stop(third)
        page = api.list_tasks(**wanted, maxResults=1)
        stop(first)
        rest = api.list_tasks(**wanted, maxResults=1, nextToken=page["nextToken"])
        self.assertEqual([second, third], page["taskArns"] + rest["taskArns"])
        self.assertNotIn("nextToken", rest)


class Fields(Probe):
    def test_group_is_the_family(self):
        definition = batches.task_definition()
        task = batches.run_task(definition, SECONDS=0.1)
        self.assertEqual(f"family:{batches.family(definition)}", batches.describe(task)["group"])

    def test_running_task_has_no_stop_code(self):
        task = batches.run_task(batches.task_definition(), SECONDS=20)
        response = batches.reaches(task, "RUNNING")
        self.assertFalse({"stopCode", "stoppedReason", "stoppedAt"} & set(response))
        client("ecs").stop_task(cluster=batches.cluster(), task=task)

    def test_reason_of_an_ended_container(self):
        task = batches.run_task(batches.task_definition(), SECONDS=0.1)
        self.assertEqual("Essential container in task exited", batches.reaches(task, "STOPPED")["stoppedReason"])


    def test_end_of_a_killed_container_is_exact(self):
        task = batches.run_task(batches.task_definition(), SECONDS=20)
        batches.reaches(task, "RUNNING")
        before = time.time()
        batches.kill(task)
        after = time.time()
        ended_at = batches.reaches(task, "STOPPED")["executionStoppedAt"].timestamp()
        self.assertTrue(before - 0.001 <= ended_at <= after + 0.1, (before, ended_at, after))


class Events(Probe):
    PATTERN = {"source": ["aws.ecs"], "detail-type": ["ECS Task State Change"]}

    def test_every_change_reaches_a_function(self):
        group, name = unique("lockstep:probe"), recorder()
        rule_to(function_arn(name), {**self.PATTERN, "detail": {
            "lastStatus": ["PENDING", "RUNNING", "STOPPED"], "group": [{"prefix": group[:-1]}]}})
        task = batches.run_task(batches.task_definition(), group=group, SECONDS=0.3)
        batches.reaches(task, "STOPPED")
        wait_for(lambda: len(recorded(name)) >= 3, "three events")
        details = sorted((event["detail"] for event in recorded(name)), key=lambda detail: detail["version"])
        self.assertEqual(["PENDING", "RUNNING", "STOPPED"], [detail["lastStatus"] for detail in details])
        last = details[-1]
        self.assertEqual((task, group, "STOPPED", "EssentialContainerExited"),
                         tuple(last[field] for field in ("taskArn", "group", "desiredStatus", "stopCode")))
        self.assertTrue(last["clusterArn"].endswith(f"cluster/{batches.cluster()}"))
        self.assertEqual("BATCH_SECONDS", last["overrides"]["containerOverrides"][0]["environment"][0]["name"])
        response = batches.describe(task)
        self.assertEqual((0, response["containers"][0]["runtimeId"], response["version"]),
                         (last["containers"][0]["exitCode"], last["containers"][0]["runtimeId"], last["version"]))

    def test_request_to_stop_is_an_event_of_a_running_task(self):
        url, group = queue(), unique("lockstep:probe")
        rule_to(queue_arn(url), {**self.PATTERN, "detail": {
            "lastStatus": ["RUNNING"], "desiredStatus": ["STOPPED"], "group": [group]}})
        task = batches.run_task(batches.task_definition(), group=group, SECONDS=20)
        batches.reaches(task, "RUNNING")
        client("ecs").stop_task(cluster=batches.cluster(), task=task, reason="probe")
        asked = receive(url)["detail"]
        stopped = batches.reaches(task, "STOPPED")
        self.assertLess(asked["version"], stopped["version"])
        self.assertEqual(("UserInitiated", "probe"), (stopped["stopCode"], stopped["stoppedReason"]))

    def test_killed_container_ends_task_and_state(self):
        url, definition = queue(), batches.task_definition()
        rule_to(queue_arn(url), {**self.PATTERN, "detail": {
            "taskDefinitionArn": [definition], "lastStatus": ["STOPPED"]}})
        execution = start(machine(jsonata({"Run": batches.run_state(definition, SECONDS=30)})))
        (task,) = wait_for(lambda: batches.tasks_of(definition), "task")
        batches.reaches(task, "RUNNING")
        batches.kill(task)
        detail = receive(url)["detail"]
        self.assertEqual((task, 137), (detail["taskArn"], detail["containers"][0]["exitCode"]))
        description = ended(execution)
        self.assert_failed(description, "States.TaskFailed")
        self.assertEqual(137, json.loads(description["cause"])["Containers"][0]["ExitCode"])


class Protection(Probe):
    def test_standalone_task_cannot_be_protected(self):
        task = batches.run_task(batches.task_definition(), SECONDS=2)
        answer = client("ecs").update_task_protection(
            cluster=batches.cluster(), tasks=[task], protectionEnabled=True)
        self.assertEqual([{"arn": task, "reason": "TASK_NOT_VALID"}], answer["failures"])

    def test_service_task_can_be_protected(self):
        name = unique()
        client("ecs").create_service(cluster=batches.cluster(), serviceName=name, desiredCount=1,
                                     taskDefinition=batches.task_definition(
                                         environment=batches.environment({"SECONDS": 60})))
        api, scope = client("ecs"), {"cluster": batches.cluster()}
        (task,) = wait_for(lambda: api.list_tasks(serviceName=name, **scope)["taskArns"], "service task")
        answer = api.update_task_protection(tasks=[task], protectionEnabled=True, expiresInMinutes=5, **scope)
        self.assertTrue(answer["protectedTasks"][0]["protectionEnabled"])
        self.assertTrue(api.get_task_protection(tasks=[task], **scope)["protectedTasks"][0]["protectionEnabled"])
        api.delete_service(service=name, force=True, **scope)
