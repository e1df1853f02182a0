"""ECS services of the batch image."""
from . import batches
from .support import client, unique, wait_for


class Service:
    """A service of the batch image, as a context manager."""

    def __init__(self, count, **fields):
        self.name = unique("service")
        self.api, self.scope = client("ecs"), {"cluster": batches.cluster()}
        self.definition = batches.task_definition(environment=batches.environment({"SECONDS": 120}))
        self.api.create_service(serviceName=self.name, desiredCount=count, taskDefinition=self.definition,
                                launchType="FARGATE", **fields, **self.scope)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.api.delete_service(service=self.name, force=True, **self.scope)

    def update(self, **fields):
        self.api.update_service(service=self.name, **fields, **self.scope)

    def described(self):
        return self.api.describe_services(services=[self.name], **self.scope)["services"][0]

    def tasks(self):
        """Returns the ARNs of the running tasks that are not asked to stop."""
        found = self.api.list_tasks(serviceName=self.name, desiredStatus="RUNNING", **self.scope)["taskArns"]
        response = self.api.describe_tasks(tasks=found, **self.scope)["tasks"] if found else []
        return {task["taskArn"] for task in response if task["lastStatus"] == "RUNNING"}

    def reaches(self, count):
        return wait_for(lambda: (found := self.tasks()) is not None and len(found) == count and [found],
                        f"{count} tasks of {self.name}, which has {len(self.tasks())}")[0]

    def protect(self, *tasks, enable=True):
        answer = self.api.update_task_protection(tasks=list(tasks), protectionEnabled=enable, **self.scope)
        return answer["failures"]
