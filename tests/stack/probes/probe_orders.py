"""agent_orders.py: the orders of tests to the container agent, and the journal of its calls."""
from . import batches
from .agents import HostTask, admin, ask
from .support import Probe, client


class Orders(Probe):
    """Orders of tests, which AWS does not have."""
    corrected = False

    def test_calls_fail_as_ordered(self):
        task = HostTask()
        for reason in ("DEPLOYMENT_BLOCKED", "THROTTLED", "TASK_NOT_VALID"):
            task.fails(reason)
            status, response = task.protect()
            self.assertEqual((200, reason), (status, response["failure"]["Reason"]))
        for reason, code in (("400", "ThrottlingException"), ("403", "AccessDeniedException"),
                             ("500", "ServerException"), ("504", "RequestCanceled")):
            task.fails(reason, times=2)
            self.assertEqual([(int(reason), code)] * 2, [task.error({"ProtectionEnabled": True}) for _ in range(2)])
        self.assertFalse(task.state())
        self.assertEqual(11, len([one for one in admin("GET", "faults")[1]["fired"] if one.get("task") == task.arn]))

    def test_order_is_narrowed_to_method_and_text(self):
        task = HostTask()
        task.fails("500", method="PUT", mentioning="false")
        self.assertEqual([200, 200, 500, 200], [task.get()[0], task.protect()[0],
                                                task.put({"ProtectionEnabled": False})[0], task.protect()[0]])

    def test_api_fails_as_ordered(self):
        task = HostTask()
        admin("POST", "faults", protection="THROTTLED", task=task.arn)
        response = client("ecs").update_task_protection(cluster=batches.cluster(), tasks=[task.arn], protectionEnabled=True)
        self.assertEqual([{"arn": task.arn, "reason": "THROTTLED"}], response["failures"])

    def test_call_hangs_as_ordered(self):
        task = HostTask()
        task.fails("hang")
        with self.assertRaises(TimeoutError):
            ask("GET", task.url, timeout=0.5)
        self.assertEqual(200, task.get()[0])

    def test_journal_has_each_call(self):
        task = HostTask()
        task.protect()
        task.get()
        first, second = admin("GET", f"agent?task={task.arn}")[1]["calls"]
        self.assertEqual(("PUT", 1, 200, True), (first["method"], first["body"]["ExpiresInMinutes"], first["status"],
                                                 first["answer"]["protection"]["ProtectionEnabled"]))
        self.assertEqual(("GET", None), (second["method"], second["body"]))
        self.assertLessEqual(first["time"], second["time"])
        self.assertEqual([], admin("DELETE", f"agent?task={task.arn}")[1]["calls"])

    def test_nonsense_is_refused(self):
        for path, order in (("faults", {"agent": "gone"}), ("faults", {"protection": "504"}),
                            ("faults", {"agent": "500", "times": 0}), ("agent", {"minuteSeconds": 0}),
                            ("agent", {"seconds": 1}), ("agent/task", {"port": 1})):
            self.assertEqual(400, admin("POST", path, **order)[0], order)
