"""Random answers of the services to the states, within what the services promise."""
import json

import jsonschema
from corrections import scope
from ministack.services import stepfunctions as sfn

_ARN = "arn:aws:states:eu-west-1:1:execution:m:e"
_TASK = {
    "TaskArn": lambda draw: "arn:aws:ecs:eu-west-1:1:task/c/1", "LastStatus": lambda draw: "STOPPED",
    "Containers": lambda draw: draw.of_shape(_shape("ecs", "DescribeTasks").members["tasks"].member.members["containers"],
                                            {"Name": lambda draw: "app"}),
}
# The fields that an answer always has.
_ALWAYS = {
    ("ecs", "DescribeTaskDefinition"): {
        "TaskDefinition": lambda draw: {"Family": "f", "ContainerDefinitions": [
            {"Name": f"app-{index}"} for index in range(draw.random.randrange(1, 3))]}},
}
_FUNCTIONS = {"AcquireLock": "acquire-lock", "Heartbeat": "heartbeat", "ReleaseLock": "release-lock",
              "CheckRunning": "check-running-executions"}
# The errors of the calls of a service, besides those of Step Functions.
_ERRORS = {
    "lambda": ("Lambda.ServiceException", "Lockstep.LeaseLost", "Lockstep.LockHeld", "Lockstep.LockPaused", "Lockstep.LockFrozen",
               "Lockstep.InvalidRequest", "Lockstep.Unavailable"),
    "ecs": ("ECS.ServerException", "ECS.ClientException", "ECS.ThrottlingException", "ECS.AmazonECSException", "AmazonECS.Unknown"),
    "states": ("StepFunctions.ExecutionAlreadyExistsException", "StepFunctions.AWSStepFunctionsException"),
    "aws-sdk": ("Sfn.ExecutionDoesNotExistException", "Sfn.KmsAccessDeniedException", "Ecs.ClientException")}


def items():
    """Returns what the ItemReader of a distributed Map lists."""
    return [{"Key": "k", "Size": 1}]


def _shape(service, operation):
    return sfn._service_model(service).operation_model(operation).output_shape


def answer(draw, resource, arguments):
    """Returns the result of a call, or raises its error."""
    action = resource.split(":::")[-1]
    service = action.partition(":")[0]
    describes = action == "aws-sdk:sfn:describeExecution"
    if draw.chance(0.5 if service in ("states", "ecs") else 0.3 if describes else 0.12):
        if service != "states" and draw.chance(0.2):
            raise scope.TaskError(None, None)  # a reported failure without Error and Cause
        error = draw.one(("States.Timeout", "States.TaskFailed", *_ERRORS.get(service, ())))
        raise scope.TaskError(error, _cause(draw, error, service))
    if service == "lambda":
        return _of_function(draw, arguments)
    if describes:
        return _description(draw)
    if service == "aws-sdk":
        _, name, operation = action.split(":")
        name, operation = {"sfn": "states"}.get(name, name), operation[:1].upper() + operation[1:]
        return draw.of_shape(_shape(name, operation), _ALWAYS.get((name, operation), {}))
    if service == "ecs":
        return _task(draw)
    if service == "states":
        return _of_execution(draw, action)
    return draw.anything()


def _task(draw):
    return draw.of_shape(_shape("ecs", "DescribeTasks").members["tasks"].member, _TASK)


def _of_function(draw, arguments):
    name = next((schema for part, schema in _FUNCTIONS.items() if part in str(arguments.get("FunctionName"))), None)
    if name and not _validator(draw, name).is_valid(_without_nulls(arguments.get("Payload"))):
        raise scope.TaskError("Lockstep.InvalidRequest", "field")
    payload = draw.of_schema(f"{name}.response") if name else draw.anything()
    # Most runs get their permit.
    while name == "acquire-lock" and payload["status"] not in ("granted", "alreadyHeld") and draw.chance(0.6):
        payload = draw.of_schema(f"{name}.response")
    if name == "acquire-lock" and payload["status"] == "skipped" and draw.chance(0.5):
        payload["ending"] = True
    # A grant ends a waiting state, and the end of a run ends its heartbeat.
    if name == "acquire-lock" and "taskToken" in arguments["Payload"] and draw.chance(0.6):
        return {"status": "granted"}
    return {"ExecutedVersion": "$LATEST", "Payload": _without_nulls(payload), "StatusCode": 200}


def _validator(draw, name):
    return jsonschema.Draft202012Validator(draw.schemas[f"{name}.request"])


def _without_nulls(value):
    """Returns the value without null fields, which the functions leave out."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


def _description(draw):
    """Returns the description of an execution.

    Only an execution that succeeded has an output, unless a key hides it. Only one that failed or was stopped has an error.
    """
    status = draw.one(("RUNNING", "SUCCEEDED", "FAILED", "FAILED", "TIMED_OUT", "TIMED_OUT", "ABORTED"))
    found = {"ExecutionArn": _ARN, "StateMachineArn": _ARN, "Name": "e", "StartDate": "2026-03-01T06:00:00Z", "Status": status}
    more = {"SUCCEEDED": {"Output": json.dumps(draw.anything())},
            "FAILED": {"Error": draw.one(("E", "States.Timeout")), "Cause": "c"},
            "TIMED_OUT": {"Cause": "c"}, "ABORTED": {"Error": "E", "Cause": "c"}}.get(status, {})
    return {**found, **{key: value for key, value in more.items() if draw.chance(0.6)}}


def _of_execution(draw, action):
    output = draw.anything()
    if not action.endswith(":2"):
        output = json.dumps(output)
    return {"ExecutionArn": _ARN, "Input": {}, "Name": "e", "Output": output, "StartDate": 1, "StopDate": 2, "Status": "SUCCEEDED",
            "StateMachineArn": _ARN}


def _cause(draw, error, service):
    """Returns the Cause of a failure: a description of the work if the state waited for it, or any text."""
    if error == "States.TaskFailed" and service == "ecs":
        return json.dumps(_task(draw))
    if error == "States.TaskFailed" and service == "states":
        failed = {"ExecutionArn": _ARN, "Name": "e", "Status": draw.one(("FAILED", "TIMED_OUT", "ABORTED"))}
        more = {"Error": draw.one(("E", "Lockstep.LockHeld", "States.Timeout")), "Cause": "c"}
        return json.dumps({**failed, **{key: value for key, value in more.items() if draw.chance(0.6)}})
    if error == "ECS.AmazonECSException" and draw.chance(0.5):
        return "Capacity is unavailable at this time. Please try again later or in a different availability zone"
    if service == "lambda" and error.startswith("Lockstep."):
        return json.dumps({"errorType": error, "errorMessage": "why"})
    return draw.one(("", "why", "x y (Service: S; Status Code: 400)"))
