"""agent.py, agent_protection.py and agent_hosts.py: the container agent's endpoint."""
import time

from . import batches
from .agents import HostTask, ask, moment
from .functions import role_that_may
from .support import Probe, client, role, wait_for

SHORT = 1  # seconds that a minute of protection lasts


class Protection(Probe):
    def test_task_is_protected_and_unprotected(self):
        task = HostTask()
        self.assertEqual((200, {"protection": {"ExpirationDate": None, "ProtectionEnabled": False,
                                               "TaskArn": task.arn}}), task.get())
        status, response = task.protect(minutes=60)
        self.assertEqual((200, task.arn, True), (status, response["protection"]["TaskArn"],
                                                 response["protection"]["ProtectionEnabled"]))
        self.assertAlmostEqual(time.time() + 3600, moment(response), delta=60)
        self.assertEqual(response, task.get()[1])
        self.assertFalse(task.put({"ProtectionEnabled": False})[1]["protection"]["ProtectionEnabled"])
        self.assertFalse(task.state())

    def test_api_and_endpoint_tell_the_same(self):
        task, api, scope = HostTask(), client("ecs"), {"cluster": batches.cluster()}
        task.protect()
        self.assertTrue(api.get_task_protection(tasks=[task.arn], **scope)["protectedTasks"][0]["protectionEnabled"])
        api.update_task_protection(tasks=[task.arn], protectionEnabled=False, **scope)
        self.assertFalse(task.state())

    def test_protection_ends_and_each_call_sets_its_end_anew(self):
        task = HostTask(minuteSeconds=SHORT)
        first = moment(task.protect()[1])
        time.sleep(0.6)
        self.assertLess(first, moment(task.protect(minutes=2)[1]))
        time.sleep(0.6)
        self.assertTrue(task.state())
        wait_for(lambda: not task.state(), "end of protection")

    def test_default_is_two_hours(self):
        end = moment(HostTask().put({"ProtectionEnabled": True})[1])
        self.assertAlmostEqual(time.time() + 7200, end, delta=60)


class Refusals(Probe):
    def test_body_is_decoded_strictly(self):
        task = HostTask()
        for body in ("", "{", "[]", '"on"', {"ProtectionEnabled": "true"}, {"ProtectionEnabled": True, "Minutes": 1},
                     {"ProtectionEnabled": True, "ExpiresInMinutes": "1"},
                     {"ProtectionEnabled": True, "ExpiresInMinutes": 1.5}):
            status, response = task.put(body)
            self.assertEqual((400, "InvalidParameterException"), (status, response["error"]["Code"]), body)
            self.assertNotIn("Arn", response["error"])
        self.assertEqual((400, "InvalidParameterException"), task.error({"ExpiresInMinutes": 1}))
        self.assertEqual(200, task.put('{"protectionenabled": true, "EXPIRESINMINUTES": null} and more')[0])

    def test_minutes_out_of_range_are_refused_by_ecs(self):
        task = HostTask()
        for minutes in (0, -1, 2881):
            status, response = task.protect(minutes)
            self.assertEqual((400, "InvalidParameterException"), (status, response["error"]["Code"]))
            self.assertIn("requestID", response)
        with self.assertRaises(client("ecs").exceptions.InvalidParameterException):
            client("ecs").update_task_protection(cluster=batches.cluster(), tasks=[task.arn], protectionEnabled=True,
                                                 expiresInMinutes=2881)

    def test_other_methods_and_containers_are_unknown(self):
        task = HostTask()
        self.assertEqual([405, 405], [ask(method, task.url, {})[0] for method in ("POST", "DELETE")])
        status, response = ask("GET", task.url.replace("/api/", "/api/x"))
        self.assertEqual((404, "ResourceNotFoundException"), (status, response["error"]["Code"]))

    def test_task_needs_a_role_that_may(self):
        body = {"ProtectionEnabled": True}
        self.assertEqual((403, "AccessDeniedException"), HostTask(role=None).error(body))
        self.assertEqual((400, "AccessDeniedException"), HostTask(role=role()).error(body))
        reader = HostTask(role=role_that_may((["ecs:GetTaskProtection"], "*")))
        self.assertEqual((200, 400), (reader.get()[0], reader.put(body)[0]))

    def test_task_of_no_service_is_a_failure_with_status_200(self):
        task = HostTask(service=None)
        self.assertEqual((200, {"failure": {"Arn": task.arn, "Detail": None, "Reason": "TASK_NOT_VALID"}}),
                         task.protect())


class Containers(Probe):
    def test_container_knows_the_agent(self):
        """Asks the endpoint from the host, because the address in the variable works only inside containers."""
        task = batches.run_task(batches.task_definition(), SECONDS=20, ECHO="ECS_")
        (line,) = wait_for(lambda: batches.lines(task), "first line")
        agent, metadata = (self.here(line["env"][name]) for name in ("ECS_AGENT_URI", "ECS_CONTAINER_METADATA_URI_V4"))
        response = ask("GET", metadata)[1]
        self.assertEqual((line["id"], "batch"), (response["DockerId"], response["Name"]))
        self.assertEqual(task, response["Labels"]["com.amazonaws.ecs.task-arn"])
        whole = ask("GET", f"{metadata}/task")[1]
        self.assertEqual((task, "RUNNING", ["batch"]), (whole["TaskARN"], whole["KnownStatus"],
                                                        [one["Name"] for one in whole["Containers"]]))
        self.assertEqual(403, ask("GET", f"{agent}/task-protection/v1/state")[0])  # it has no role
        client("ecs").stop_task(cluster=batches.cluster(), task=task)

    def here(self, url):
        return url.replace("host.docker.internal", "127.0.0.1")

    def test_metadata_names_container_task_and_service(self):
        task = HostTask(service="probe-named")
        container, whole = ask("GET", task.metadata)[1], ask("GET", f"{task.metadata}/task")[1]
        response = batches.describe(task.arn)
        self.assertEqual([task.runtime_id] * 2, [container["DockerId"], response["containers"][0]["runtimeId"]])
        self.assertEqual((response["clusterArn"], task.arn, "probe-named"),
                         (whole["Cluster"], whole["TaskARN"], whole["ServiceName"]))

    def test_host_task_stops_as_others(self):
        task = HostTask()
        self.assertIn(task.arn, client("ecs").list_tasks(cluster=batches.cluster(),
                                                         serviceName="probe-host")["taskArns"])
        client("ecs").stop_task(cluster=batches.cluster(), task=task.arn, reason="probe")
        self.assertEqual("probe", batches.reaches(task.arn, "STOPPED")["stoppedReason"])
        self.assertEqual(404, task.get()[0])
