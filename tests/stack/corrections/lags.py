"""Describe and List calls that lag behind the events: the habit describe-lags of habits.py.

AWS: DescribeExecution, ListTasks and DescribeTasks are eventually consistent: an event may come before they show the change.
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ListTasks.html
ministack 1.5.33: shows the current state, as this module does without the habit. Its ListTasks fails with
  InternalError if a task starts during the call. Its pages begin at a position in the list, so if an earlier
  task stops between two pages, the second one repeats a task or leaves one out.
"""
import copy
import json
import threading
import time

from ministack.services import ecs
from ministack.services import stepfunctions as sfn

from . import ecs_events, habits, redrive

_KEPT = 16  # states that are kept of one task or execution; only one that is redriven many times has more
_lock = threading.Lock()
_past = {}  # ARN: [(time, state)], oldest first
_stock_describe_tasks = ecs._describe_tasks
_stock_emit = sfn._emit_execution_status_event


def _remember(arn, state):
    with _lock:
        states = _past.setdefault(arn, [])
        states.append((time.monotonic(), copy.deepcopy(state)))
        del states[:-_KEPT]


def _as_of(arn, seconds):
    """Returns the state of `seconds` ago, or None if there was none."""
    limit = time.monotonic() - seconds
    with _lock:
        earlier = [state for at, state in _past.get(arn, []) if at <= limit]
    return copy.deepcopy(earlier[-1]) if earlier else None


def _seen(task):
    """Returns a task as the calls show it, or None if they do not show it yet."""
    lag = habits.seconds("describe-lags", task)
    return _as_of(task["taskArn"], lag) if lag else task


def _describe_tasks(request):
    status, headers, body = _stock_describe_tasks(request)
    if status >= 400 or not habits.on("describe-lags"):
        return status, headers, body
    answer = json.loads(body)
    seen = [(task["taskArn"], _seen(task)) for task in answer["tasks"]]
    answer["tasks"] = [task for _, task in seen if task]
    answer["failures"] += [{"arn": arn, "reason": "MISSING"} for arn, task in seen if not task]
    return ecs.json_response(answer)


def _list_tasks(request):
    cluster = ecs._resolve_cluster_name(request.get("cluster", "default"))
    if cluster is None:
        return ecs.error_response_json("ClusterNotFoundException", "Cluster not found.", 400)
    tasks = _all_tasks()  # in the order of their starts
    after = request.get("nextToken")
    if after:
        starts = [task["taskArn"] for task in tasks]
        if after not in starts:
            return ecs.error_response_json("InvalidParameterException", f"Invalid token: {after}", 400)
        tasks = tasks[starts.index(after) + 1:]
    tasks = [_seen(ecs._sanitize(task)) for task in tasks]
    arns = [task["taskArn"] for task in tasks if task and _wanted(task, cluster, request)]
    page = arns[:int(request.get("maxResults", 100))]
    more = {"nextToken": page[-1]} if len(page) < len(arns) else {}
    return ecs.json_response({"taskArns": page, **more})


def _all_tasks():
    while True:
        try:
            return list(ecs._tasks.values())
        except RuntimeError:  # a task was started during the loop
            continue


def _wanted(task, cluster, request):
    family, service, starter = (request.get(field) for field in ("family", "serviceName", "startedBy"))
    return (task["clusterArn"].endswith(f":cluster/{cluster}")
            and task.get("desiredStatus") == request.get("desiredStatus", "RUNNING")
            and (not family or f"/{family}:" in task["taskDefinitionArn"])
            and (not service or task.get("group") == f"service:{service}")
            and (not starter or task.get("startedBy") == starter))


def _emit(execution):
    described = json.loads(redrive.describe_execution({"executionArn": execution["executionArn"]})[2])
    if described["status"] != "SUCCEEDED":
        described["output"] = None
    _remember(execution["executionArn"], described)
    _stock_emit(execution)


def _describe_execution(request):
    status, headers, body = redrive.describe_execution(request)
    lag = habits.seconds("describe-lags", body) if status < 400 else 0
    if not lag:
        return status, headers, body
    arn = request["executionArn"]
    # An execution that has just begun has its first state.
    return sfn.json_response(_as_of(arn, lag) or _past[arn][0][1])


def apply():
    ecs_events.on_change.append(lambda task: _remember(task["taskArn"], task))
    # Replaces only the API's calls. The emulator itself reads the current state.
    ecs._ACTION_MAP["DescribeTasks"] = _describe_tasks
    ecs._ACTION_MAP["ListTasks"] = _list_tasks
    sfn._emit_execution_status_event = _emit
    sfn._describe_execution = _describe_execution
