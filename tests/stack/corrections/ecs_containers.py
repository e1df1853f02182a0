"""The environment, limits, volumes and last log lines of a task's containers.

AWS: Fargate sets AWS_REGION, AWS_DEFAULT_REGION and AWS_EXECUTION_ENV.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-fargate.html
AWS: a container that exceeds its memory is killed, with OutOfMemoryError as its reason.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-error-codes.html
AWS: executionStoppedAt is the time at which the containers ended. stoppedAt is later: the time at which the task stopped.
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html
AWS: the awslogs driver delivers every line that a container wrote, also its last ones.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using_awslogs.html
AWS: readonlyRootFilesystem and user of a container definition apply to the container.
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html
AWS: a volume without a host path is an empty folder of root with mode 0755. The containers of a task share
  it, and it is deleted with the task.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/bind-mounts.html
ministack 1.5.33: sets no Region and no memory or CPU limit, and ignores entryPoint, user,
  readonlyRootFilesystem and volumes without a host path. Its executionStoppedAt is the time at
  which it noticed the end. It may drop the last lines of a stopped container. The Rust SDK refuses its
  address for credentials (a plain http address must be loopback or 169.254.170.2), so the containers
  get credentials as variables.

Unlike on AWS, a task is STOPPED only after its last line is in the logs, so a test may read the logs
as soon as the task has stopped.
"""
import os
import threading

from ministack.core import lambda_runtime
from ministack.services import ecs

_stock_run_kwargs = ecs._build_run_kwargs
_stock_mark_stopped = ecs._mark_task_stopped
_LAST_LINES_SECONDS = 3
_ENGINE_SECONDS = 120


def _build_run_kwargs(container, definition, env, ports, network, host_mode, task_id, *more):
    region = ecs.get_region()
    env.setdefault("AWS_REGION", region)
    env.setdefault("AWS_DEFAULT_REGION", region)
    env.setdefault("AWS_EXECUTION_ENV", "AWS_ECS_FARGATE")
    if "AWS_ACCESS_KEY_ID" not in env:
        _hand_over_credentials(definition, env, region)
    options = _stock_run_kwargs(container, definition, env, ports, network, host_mode, task_id, *more)
    memory = container.get("memory") or definition.get("memory")
    cpu = int(container.get("cpu") or definition.get("cpu") or 0)
    if memory:
        options["mem_limit"] = options["memswap_limit"] = f"{int(memory)}m"
    if cpu:
        options["nano_cpus"] = cpu * 1_000_000_000 // 1024
    if container.get("entryPoint"):
        options["entrypoint"] = container["entryPoint"]
    if container.get("user"):
        options["user"] = container["user"]
    options["read_only"] = bool(container.get("readonlyRootFilesystem"))
    folders = _folders(container, definition, task_id)
    if folders:
        options["volumes"] = [*options.get("volumes", []), *folders]
    return options


def _folders(container, definition, task_id):
    """Creates the folders of the volumes without a host path, and returns the mounts. `lockstack down` removes the folders."""
    # In a task definition from a template, the volumes have no names, but the mounts name them.
    volumes = definition.get("volumes", [])
    hosted = {volume.get("name") for volume in volumes if volume.get("host", {}).get("sourcePath")}
    mounts = []
    for mount in container.get("mountPoints", []):
        if mount["sourceVolume"] not in hosted:
            folder = os.path.join(os.environ["TMPDIR"], "volumes", task_id, mount["sourceVolume"])
            os.makedirs(folder, mode=0o755, exist_ok=True)
            mounts.append(f"{folder}:{mount['containerPath']}:{'ro' if mount.get('readOnly') else 'rw'}")
    return mounts


def _hand_over_credentials(definition, env, region):
    env.pop("AWS_CONTAINER_CREDENTIALS_FULL_URI", None)
    env.pop("AWS_CONTAINER_AUTHORIZATION_TOKEN", None)
    family = definition.get("family", "task")
    env.update(lambda_runtime.execution_credentials({
        "Role": definition.get("taskRoleArn", ""), "FunctionName": family,
        "FunctionArn": f"arn:aws:lambda:{region}:{ecs.get_account_id()}:function:ecs-{family}"}))


def _thread_prefix(task_id):
    return f"ministack-ecs-awslogs-{task_id[:8]}-"


def _mark_task_stopped(task_arn, task, *more, **named):
    note_ends(task)
    return _stock_mark_stopped(task_arn, task, *more, **named)


def note_ends(task):
    """Waits for the last log lines of a task whose containers ended, and records when and why they ended."""
    for thread in threading.enumerate():
        if thread.name.startswith(_thread_prefix(task["taskArn"].rpartition("/")[2])):
            thread.join(_LAST_LINES_SECONDS)
    client = ecs._get_docker()
    ends = []
    for index, container_id in enumerate(list(task.get("_docker_ids") or [])):
        try:
            state = client.containers.get(container_id).attrs.get("State", {})
        except Exception:  # the container was removed already
            continue
        if state.get("OOMKilled"):
            task["containers"][index]["reason"] = "OutOfMemoryError: Container killed due to memory usage"
        if state.get("Status") == "exited":
            ends.append(state["FinishedAt"][:23] + "Z")  # nanoseconds to milliseconds
    if ends:
        task["executionStoppedAt"] = max(ends)


def apply():
    # The emulator's timeout of 10 s is too short for an engine that starts dozens of containers at once.
    ecs._DOCKER_TIMEOUT = _ENGINE_SECONDS
    ecs._build_run_kwargs = _build_run_kwargs
    ecs._mark_task_stopped = _mark_task_stopped
