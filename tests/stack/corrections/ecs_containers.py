"""What a container of a task gets, and what is kept of it.

AWS: Fargate sets AWS_REGION, AWS_DEFAULT_REGION and AWS_EXECUTION_ENV.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-fargate.html
AWS: a container that exceeds its memory is killed and says OutOfMemoryError.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-error-codes.html
AWS: executionStoppedAt is when the containers ended, stoppedAt later, when the task has stopped.
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html
AWS: the awslogs driver ships every line that a container wrote, also its last ones.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using_awslogs.html
AWS: readonlyRootFilesystem and user of a container definition are those of the engine.
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html
AWS: a volume without a host path is an empty folder of root's, mode 0755, that the containers of a task
  share and that goes with the task.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/bind-mounts.html
ministack 1.5.33: sets no region, sets no memory or cpu limit, ignores entryPoint, user,
  readonlyRootFilesystem and volumes without a host path, takes the moment
  at which it looked for that of the end, and may drop the last lines of a stopped container. Its
  credentials address is one that the Rust SDK refuses (a plain http address must be loopback or
  169.254.170.2), so the keys are handed over.

Here a task is STOPPED only after its last line is in the logs, sooner than on AWS: a test
may read the logs as soon as the task has stopped.
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
    """Mounts of the task's own volumes. `lockstack down` removes the folders."""
    # The volumes of a definition from a template have lost their names; its mounts have them.
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
    """Wait for the last lines of a task whose containers ended, and note when and why they did."""
    for thread in threading.enumerate():
        if thread.name.startswith(_thread_prefix(task["taskArn"].rpartition("/")[2])):
            thread.join(_LAST_LINES_SECONDS)
    client = ecs._get_docker()
    ends = []
    for index, container_id in enumerate(list(task.get("_docker_ids") or [])):
        try:
            state = client.containers.get(container_id).attrs.get("State", {})
        except Exception:  # gone already: then there is nothing to learn
            continue
        if state.get("OOMKilled"):
            task["containers"][index]["reason"] = "OutOfMemoryError: Container killed due to memory usage"
        if state.get("Status") == "exited":
            ends.append(state["FinishedAt"][:23] + "Z")  # nanoseconds to milliseconds
    if ends:
        task["executionStoppedAt"] = max(ends)


def apply():
    # Dozens of containers that start at once keep the engine busy for longer than the 10 s as shipped.
    ecs._DOCKER_TIMEOUT = _ENGINE_SECONDS
    ecs._build_run_kwargs = _build_run_kwargs
    ecs._mark_task_stopped = _mark_task_stopped
