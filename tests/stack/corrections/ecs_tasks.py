"""RunTask, as a call of the API and of a state.

AWS: ecs:runTask.sync succeeds only if the task started and its containers exited with 0. Its result is the task in
  PascalCase. A state that is cancelled stops its task, with the execution in the reason.
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html
AWS: RunTask in an unknown cluster fails with ClusterNotFoundException. A second request with the same clientToken
  starts no task. https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html
ministack 1.5.33: a state succeeds with any exit code and with a missing image, and its result is
  {"tasks": [...]}. A cancelled state stops no task. An unknown cluster is created, and clientToken is ignored.
"""
import json
import uuid

from ministack.services import ecs
from ministack.services import stepfunctions as sfn

from . import ecs_requests, executions, habits, results, scope
from .states import calls

start_tasks = ecs._run_task  # other corrections wrap it
_answers = {}


def run_task(data):
    cluster = ecs._resolve_cluster_name(data.get("cluster", "default"))
    if cluster is None or cluster not in ecs._clusters:
        return ecs.error_response_json("ClusterNotFoundException", "Cluster not found.", 400)
    key = (cluster, data.get("clientToken"))
    if key[1] and key in _answers:
        return _answers[key]
    answer = start_tasks(data)
    if key[1] and answer[0] < 400:
        _answers[key] = answer
    return answer


def _start(data):
    """Starts the task of a state, and returns the answer of RunTask."""
    request = sfn._pascal_to_camel(data)
    request.setdefault("startedBy", "AWS Step Functions")
    lost = habits.find("run-task-answer-lost", data)
    starts = not lost or lost.get("starts", True)
    status, _, body = run_task(request) if starts else (200, {}, '{"tasks": [], "failures": []}')
    answer = json.loads(body)
    if status >= 400:
        name = answer.get("__type", "AmazonECSException").split("#")[-1]
        raise scope.TaskError(f"ECS.{name}", answer.get("message", ""))
    if lost:
        habits.note(lost, resources=[task["taskArn"] for task in answer["tasks"]])
        raise scope.TaskError(f"ECS.{lost['error']}", (
            f"Service Unavailable. Please try again later. (Service: AmazonECS; Status Code: 500; "
            f"Error Code: {lost['error']}; Request ID: {uuid.uuid4()}; Proxy: null)"))
    return answer


def _run_task_state(resource, data):
    scope.check()
    ecs_requests.check_arguments(data)
    answer = _start(data)
    waits = resource.endswith(".sync") or calls.waits()
    if answer["failures"] and waits:
        reasons = ", ".join(failure["reason"] for failure in answer["failures"])
        raise scope.TaskError("AmazonECS.Unknown", f"Error: {reasons}")
    if not resource.endswith(".sync"):
        return pascal_case(answer)
    calls.submitted(results.with_metadata(pascal_case(answer), "ecs"))
    started = answer["tasks"][0]
    try:
        while ecs._tasks[started["taskArn"]]["lastStatus"] != "STOPPED":
            scope.pause(0.05)
    except scope.Stopped:
        if not scope.abandoned():
            scope.in_thread(ecs._stop_task, {
                "cluster": started["clusterArn"], "task": started["taskArn"],
                "reason": executions.stopping_cause()})
        raise
    described = ecs._describe_tasks({"cluster": started["clusterArn"], "tasks": [started["taskArn"]]})
    task = pascal_case(json.loads(described[2])["tasks"][0])
    failed = any(container.get("ExitCode") != 0 for container in task["Containers"])
    if failed or task.get("StopCode") == "TaskFailedToStart":
        raise scope.TaskError("States.TaskFailed", json.dumps(task))
    return task


def pascal_case(value):
    if isinstance(value, list):
        return [pascal_case(item) for item in value]
    if isinstance(value, dict):
        return {key[:1].upper() + key[1:]: pascal_case(item) for key, item in value.items()}
    return value


def apply():
    ecs._run_task = run_task
    ecs._ACTION_MAP["RunTask"] = run_task
    for resource, handler in list(sfn._SERVICE_DISPATCH.items()):
        if handler is sfn._invoke_ecs_run_task:
            sfn._SERVICE_DISPATCH[resource] = _run_task_state
