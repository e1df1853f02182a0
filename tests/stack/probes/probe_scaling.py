"""ecs_services.py: the tasks that services start and stop, with real containers."""
import time

from . import batches
from .services import Service
from .support import Probe, wait_for

GRACE = 3  # seconds to wait for something that must not happen


class Kept(Probe):
    """As shipped."""
    corrected = False

    def test_service_has_its_desired_count_of_containers(self):
        with Service(2) as service:
            first = service.reaches(2)
            self.assertTrue(all(batches.describe(task)["containers"][0]["runtimeId"] for task in first))
            service.update(desiredCount=3)
            self.assertLess(first, service.reaches(3))

    def test_task_that_died_is_replaced(self):
        with Service(1) as service:
            (first,) = service.reaches(1)
            batches.kill(first)
            wait_for(lambda: service.tasks() - {first}, "another task")
            self.assertEqual(137, batches.reaches(first, "STOPPED")["containers"][0]["exitCode"])

    def test_old_task_goes_when_the_new_one_runs(self):
        with Service(1) as service:
            (first,) = service.reaches(1)
            service.update(forceNewDeployment=True)
            (second,) = wait_for(lambda: service.tasks() - {first}, "new task")
            stopped = batches.reaches(first, "STOPPED")
            self.assertLess(batches.describe(second)["startedAt"], stopped["stoppedAt"])


class Replacement(Probe):
    def test_task_that_was_stopped_is_replaced(self):
        with Service(1) as service:
            (first,) = service.reaches(1)
            service.api.stop_task(task=first, **service.scope)
            wait_for(lambda: service.tasks() - {first}, "another task")
            self.assertEqual(143, batches.reaches(first, "STOPPED")["containers"][0]["exitCode"])


class ScaleIn(Probe):
    def test_unprotected_tasks_are_stopped_by_signal(self):
        with Service(3) as service:
            kept, *others = service.reaches(3)
            self.assertEqual([], service.protect(kept))
            service.update(desiredCount=1)
            for task in others:
                response = batches.reaches(task, "STOPPED")
                self.assertEqual((143, "ServiceSchedulerInitiated"),
                                 (response["containers"][0]["exitCode"], response["stopCode"]))
                self.assertEqual(["start", "sigterm"], batches.events(task))
            self.assertEqual({kept}, service.tasks())

    def test_scale_in_stops_protected_tasks_once_they_are_unprotected(self):
        with Service(2) as service:
            first, second = service.reaches(2)
            service.protect(first, second)
            service.update(desiredCount=0)
            time.sleep(GRACE)
            self.assertEqual({first, second}, service.tasks())
            service.protect(first, enable=False)
            batches.reaches(first, "STOPPED")
            self.assertEqual({second}, service.tasks())


class Deployment(Probe):
    def test_protected_task_delays_a_deployment(self):
        with Service(2) as service:
            kept, other = service.reaches(2)
            service.protect(kept)
            service.update(forceNewDeployment=True)
            batches.reaches(other, "STOPPED")
            self.assertIn(kept, service.reaches(3))
            time.sleep(GRACE)
            self.assertIn(kept, service.tasks())
            self.assertEqual("IN_PROGRESS", service.described()["deployments"][0]["rolloutState"])
            service.protect(kept, enable=False)
            batches.reaches(kept, "STOPPED")
            wait_for(lambda: service.described()["deployments"][0]["rolloutState"] == "COMPLETED", "end of deployment")
            self.assertEqual((2, 1), (len(service.tasks()), len(service.described()["deployments"])))

    def test_more_protected_tasks_than_desired_block_a_deployment(self):
        with Service(1) as service:
            (first,) = service.reaches(1)
            service.protect(first)
            service.update(taskDefinition=batches.task_definition(environment=batches.environment({"SECONDS": 120})))
            (second,) = service.reaches(2) - {first}
            self.assertEqual([{"arn": second, "reason": "DEPLOYMENT_BLOCKED"}], service.protect(second))
            self.assertEqual([], service.protect(first))
            service.update(desiredCount=2)
            self.assertEqual([], service.protect(second))

    def test_without_room_for_a_new_task_the_old_one_stops_first(self):
        configuration = {"maximumPercent": 100, "minimumHealthyPercent": 0}
        with Service(1, deploymentConfiguration=configuration) as service:
            (first,) = service.reaches(1)
            service.protect(first)
            service.update(forceNewDeployment=True)
            time.sleep(GRACE)
            self.assertEqual({first}, service.tasks())
            service.protect(first, enable=False)
            wait_for(lambda: service.tasks() - {first}, "new task")
            batches.reaches(first, "STOPPED")


class Start(Probe):
    def test_task_that_cannot_start_is_tried_again_later_and_later(self):
        with Service(0) as service:
            service.update(desiredCount=1, taskDefinition=batches.task_definition(image="lockstep-no-such-image:none"))
            time.sleep(8)
            stopped = service.api.list_tasks(serviceName=service.name, desiredStatus="STOPPED", **service.scope)
            self.assertIn(len(stopped["taskArns"]), (1, 2, 3))
