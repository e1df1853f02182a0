"""ecs_containers.py: the folders to which a container may write, and its user."""
import os

from . import batches
from .support import Probe, client, role, unique

TELL = """
file=$(echo 1 2>/dev/null > /file && echo yes || echo no)
shared=$(echo 1 2>/dev/null > "/shared/$NAME" && echo yes || echo no)
echo "{\\"event\\":\\"$NAME\\",\\"user\\":$(/bin/busybox id -u),\\"root\\":\\"$file\\",\\"shared\\":\\"$shared\\",
\\"mode\\":$(/bin/busybox stat -c %a /shared),\\"found\\":\\"$(cd /shared; echo *)\\"}" | /bin/busybox tr -d '\\n'; echo
"""


def container(name, **more):
    return {"name": name, "image": os.environ["LOCKSTEP_BATCH_IMAGE"], "essential": False, "entryPoint": ["/bin/sh", "-c"],
            "command": [TELL], "environment": [{"name": "NAME", "value": name}],
            "mountPoints": [{"sourceVolume": "shared", "containerPath": "/shared"}],
            "logConfiguration": batches.log_configuration(), **more}


def defined(containers):
    return client("ecs").register_task_definition(
        family=unique(), networkMode="awsvpc", requiresCompatibilities=["FARGATE"], cpu="256", memory="512",
        executionRoleArn=role(), volumes=[{"name": "shared"}],
        containerDefinitions=containers)["taskDefinition"]["taskDefinitionArn"]


class FileSystems(Probe):
    def test_containers_write_where_their_definitions_let_them(self):
        task = batches.run_task(defined([
            container("batch", readonlyRootFilesystem=True),
            container("other", user="1000:1000", essential=True, command=[f"sleep 1; {TELL}"])]))
        batches.reaches(task, "STOPPED")
        (first,), (other,) = batches.lines(task), batches.lines(task, "other")
        common = {"mode": 755, "found": "batch"}
        self.assertEqual({"event": "batch", "user": 0, "root": "no", "shared": "yes", **common}, first)
        self.assertEqual({"event": "other", "user": 1000, "root": "no", "shared": "no", **common}, other)

    def test_each_task_has_a_volume_of_its_own_and_a_root_that_can_be_written(self):
        definition = defined([container("batch", essential=True)])
        for _ in range(2):
            task = batches.run_task(definition)
            batches.reaches(task, "STOPPED")
            (response,) = batches.lines(task)
            self.assertEqual(("yes", "batch"), (response["root"], response["found"]))
