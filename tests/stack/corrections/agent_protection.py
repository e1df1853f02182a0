"""The answers of the container agent on task-protection/v1/state.

AWS: the checks, their order, the statuses and the texts are those of the agent's source.
  https://github.com/aws/amazon-ecs-agent/blob/master/ecs-agent/tmds/handlers/taskprotection/v1/handlers/handlers.go
AWS: the agent calls ECS with the task's role, so the policies of that role apply. Failures that ECS
  reports have status 200.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html
ministack 1.5.33: has no such endpoint.

Not modelled: the agent stops waiting for ECS after some seconds (504). Here a test orders a 504, which comes at once.
"""
import datetime
import json
import uuid

from ministack import app
from ministack.core import iam_actions, iam_evaluator, lambda_runtime
from ministack.services import ecs

_OPERATIONS = {"GET": "GetTaskProtection", "PUT": "UpdateTaskProtection"}
_ERRORS = {
    "400": (400, "ThrottlingException", "Rate exceeded", True),
    "500": (500, "ServerException", "Service Unavailable. Please try again later.", True),
    "504": (504, "RequestCanceled", "Timed out calling ECS Task Protection API", False),
}


class Malformed(Exception):
    """The agent cannot decode the body."""


def answer(method, text, task, fault):
    """Returns (status, body) of one call. `fault` is the ordered fault, or None."""
    if method not in _OPERATIONS:
        return 405, None
    fields = {}
    if method == "PUT":
        try:
            fields = _decode(text)
        except Malformed:
            return _error(400, "", "InvalidParameterException", "UpdateTaskProtection: failed to decode request")
    if not task:
        return _error(404, "", "ResourceNotFoundException", "Failed to find a task for the request")
    arn = task["taskArn"]
    if method == "PUT" and fields.get("protectionenabled") is None:
        return _error(400, arn, "InvalidParameterException",
                      "Invalid request: does not contain 'ProtectionEnabled' field")
    role = role_of(task)
    if not role or fault == "403":
        return _error(403, arn, "AccessDeniedException",
                      "Invalid Request: no task IAM role credentials available for task")
    if fault in _ERRORS:
        status, code, message, reached = _ERRORS[fault]
        return _error(status, arn, code, message, reached)
    if fault:
        return 200, {"failure": {"Arn": arn, "Detail": None, "Reason": fault}}
    return _ask_ecs(_OPERATIONS[method], task, role, fields)


def _decode(text):
    """Decodes a body like the agent's Go code.

    - Names may have any case, but unknown names are an error.
    - null counts as a missing field.
    - Text after the JSON value is ignored.
    """
    try:
        value, _ = json.JSONDecoder(parse_constant=_no_number).raw_decode(text.decode().lstrip())
    except (ValueError, RecursionError):
        raise Malformed() from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Malformed()
    fields = {name.lower(): item for name, item in value.items()}
    enabled, minutes = fields.get("protectionenabled"), fields.get("expiresinminutes")
    if set(fields) - {"protectionenabled", "expiresinminutes"} or not isinstance(enabled, (bool, type(None))):
        raise Malformed()
    if minutes is not None and (type(minutes) is not int or not -2**63 <= minutes < 2**63):
        raise Malformed()
    return fields


def _no_number(_):
    raise Malformed()


def role_of(task):
    definition = ecs._task_defs.get(ecs._resolve_td_key(task["taskDefinitionArn"])) or {}
    return (task.get("overrides") or {}).get("taskRoleArn") or definition.get("taskRoleArn")


def credentials(task, role):
    """Returns credentials of the task's role."""
    region, account = task["taskArn"].split(":")[3:5]
    name = task["taskArn"].rpartition("/")[2]
    return lambda_runtime.execution_credentials({
        "Role": role, "FunctionName": name, "FunctionArn": f"arn:aws:lambda:{region}:{account}:function:ecs-{name}"})


def _ask_ecs(operation, task, role, fields):
    arn = task["taskArn"]
    denied = _denial(operation, task, role)
    if denied:
        return _error(400, arn, "AccessDeniedException", denied, True)
    request = {"cluster": task["clusterArn"], "tasks": [arn]}
    if "protectionenabled" in fields:
        request.update(protectionEnabled=fields["protectionenabled"], expiresInMinutes=fields.get("expiresinminutes"))
    status, _, body = ecs._ACTION_MAP[operation](request)
    reply = json.loads(body)
    if status >= 400:
        return _error(status, arn, reply["__type"].rpartition("#")[2], reply.get("message", ""), True)
    for failure in reply["failures"]:
        return 200, {"failure": {"Arn": failure["arn"], "Detail": failure.get("detail"), "Reason": failure["reason"]}}
    (state,) = reply["protectedTasks"]
    return 200, {"protection": {"ExpirationDate": _date(state.get("expirationDate")),
                                "ProtectionEnabled": state["protectionEnabled"], "TaskArn": state["taskArn"]}}


def _denial(operation, task, role):
    """Returns the message that denies an operation to the task's role, or None if it is allowed."""
    if not app.AUTH:
        return None
    key = credentials(task, role)["AWS_ACCESS_KEY_ID"]
    region, arn = task["taskArn"].split(":")[3], task["taskArn"]
    denied = iam_evaluator.enforce(key, f"ecs:{operation}", "ecs", region, resource_arn=arn,
                                   service_context={"ecs:cluster": task["clusterArn"]})
    if not denied:
        return None
    principal = getattr(denied, "principal_arn", role)
    return iam_actions.identity_denial_message(f"ecs:{operation}", principal, arn,
                                               getattr(denied, "decision", "") == "Deny")


def _date(seconds):
    """Returns a time in the format of Go, without trailing zeros of a second's fraction."""
    if seconds is None:
        return None
    text = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return text.rstrip("0").rstrip(".") + "Z"


def _error(status, arn, code, message, reached_ecs=False):
    """Returns (status, body) of an error. The body has a request id if ECS itself refused the request."""
    error = {**({"Arn": arn} if arn else {}), "Code": code, "Message": message}
    return status, {**({"requestID": str(uuid.uuid4())} if reached_ecs else {}), "error": error}
