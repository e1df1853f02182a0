"""The fields of a task.

AWS: `group` is family:FAMILY unless the caller gave one.
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html
AWS: a task has stopCode and stoppedReason only when it is asked to stop. The reason of a task whose
  essential container ended is "Essential container in task exited".
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-error-codes.html
AWS: times are seconds with their milliseconds.
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DescribeTasks.html#API_DescribeTasks_Examples
AWS: CloudFormation passes the value of a Number parameter to a property as a number.
  https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html
ministack 1.5.33: passes a string, with which a service fails. It leaves the group empty, has fields with empty texts, has another
  text as the reason, and cuts times to seconds.
"""
import datetime

from ministack.services import ecs

from . import ecs_tasks

_OPTIONAL = ("stopCode", "stoppedReason", "startedBy", "platformFamily", "capacityProviderName")
_stock_sanitize = ecs._sanitize


def _sanitize(value):
    clean = _stock_sanitize(value)
    if isinstance(clean, dict) and "taskArn" in clean and "lastStatus" in clean:
        for field in _OPTIONAL:
            if clean.get(field) == "":
                del clean[field]
    return clean


def _naming_the_group(run_task):
    def wrapper(data):
        definition = ecs._task_defs.get(ecs._resolve_td_key(data.get("taskDefinition", "")))
        if definition and not data.get("group"):
            data = {**data, "group": f"family:{definition['family']}"}
        return run_task(data)
    return wrapper


def _counting(change_service):
    def wrapper(data):
        if isinstance(data.get("desiredCount"), str):
            data = {**data, "desiredCount": int(data["desiredCount"])}
        return change_service(data)
    return wrapper


def worded(reason):
    return "Essential container in task exited" if reason == "Essential container exited" else reason


def _wording(mark_stopped):
    def wrapper(task_arn, task, reason, stop_code, **named):
        return mark_stopped(task_arn, task, worded(reason), stop_code, **named)
    return wrapper


def _epoch(value):
    try:
        return round(datetime.datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp(), 3)
    except (AttributeError, ValueError):
        return value


def apply():
    ecs._create_service = _counting(ecs._create_service)
    ecs._update_service = _counting(ecs._update_service)
    ecs._ts_to_epoch = _epoch
    ecs._sanitize = _sanitize
    ecs_tasks.start_tasks = _naming_the_group(ecs_tasks.start_tasks)
    ecs._mark_task_stopped = _wording(ecs._mark_task_stopped)
