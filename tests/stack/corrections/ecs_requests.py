"""Requests that RunTask refuses.

AWS: an override must name a container of the task definition, or RunTask fails with InvalidParameterException.
  https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerOverride.html
AWS: RunTask refuses an INACTIVE task definition. The name of a family means its latest ACTIVE revision.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deregister-task-definition-v2.html
AWS: RunTask may answer 200 without a task, and with the reason in `failures`. A state that waits for the task then fails
  with AmazonECS.Unknown. A state that does not wait succeeds with this answer.
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/api_failures_messages.html
AWS: a state with an argument that the integration does not know fails with States.Runtime: the arguments "could not be used
  to start the Task" (recorded for another integration: test_invoke_with_headers[singleStringHeader], 2024-10-06). The names
  of arguments are in PascalCase.
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-to-services.html
ministack 1.5.33: ignores unknown containers and arguments, accepts camelCase, and runs INACTIVE definitions.
The habit run-task-places-nothing makes RunTask place nothing.
"""
from ministack.core.responses import get_account_id, get_region
from ministack.services import ecs
from ministack.services import stepfunctions as sfn

from . import ecs_tasks, habits, scope
from .states.trail import compact

_stock_key = ecs._resolve_td_key


def _key(reference):
    """Returns the key of a task definition. For a family, this is its latest ACTIVE revision."""
    key = _stock_key(reference)
    if ":" in reference.rpartition("/")[2]:
        return key
    family = key.partition(":")[0]
    active = [definition["revision"] for definition in ecs._task_defs.values()
              if definition["family"] == family and definition["status"] == "ACTIVE"]
    return f"{family}:{max(active)}" if active else key


def _checking(run_task):
    def wrapper(data):
        definition = ecs._task_defs.get(ecs._resolve_td_key(data.get("taskDefinition", "")))
        if definition and definition["status"] == "INACTIVE":
            return ecs.error_response_json("ClientException", "TaskDefinition is inactive", 400)
        named = {container["name"] for container in definition["containerDefinitions"]} if definition else set()
        for override in (data.get("overrides") or {}).get("containerOverrides", []):
            if definition and override.get("name") not in named:
                return ecs.error_response_json("InvalidParameterException", (
                    f"Override for container named {override.get('name')} is not a container in the TaskDefinition."), 400)
        nothing = habits.find("run-task-places-nothing", data)
        if nothing:
            habits.note(nothing)
            instance = f"arn:aws:ecs:{get_region()}:{get_account_id()}:container-instance/none"
            return ecs.json_response({"tasks": [], "failures": [{"arn": instance, "reason": nothing["reason"]}]})
        return run_task(data)
    return wrapper


def check_arguments(data):
    """Raises TaskError if a state has arguments that RunTask does not know."""
    shape = sfn._service_model("ecs").operation_model("RunTask").input_shape
    unknown = list(_unknown(data, shape, ""))
    if unknown:
        fields = ", ".join(f"The field '{name}' is not supported by Step Functions" for name in unknown)
        raise scope.TaskError("States.Runtime", f"The Parameters '{compact(data)}' could not be used to start the Task: [{fields}]")


def _unknown(value, shape, path):
    if shape.type_name == "list" and isinstance(value, list):
        for item in value:
            yield from _unknown(item, shape.member, path)
    if shape.type_name != "structure" or not isinstance(value, dict):
        return
    members = {name[:1].upper() + name[1:]: member for name, member in shape.members.items()}
    for name, item in value.items():
        if name in members:
            yield from _unknown(item, members[name], f"{path}{name}.")
        else:
            yield f"{path}{name}"


def apply():
    ecs._resolve_td_key = _key
    ecs_tasks.start_tasks = _checking(ecs_tasks.start_tasks)
