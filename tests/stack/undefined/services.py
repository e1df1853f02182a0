"""What the services answer the states: drawn, within what they promise."""
import json

from corrections import scope
from ministack.services import stepfunctions as sfn

_ARN = "arn:aws:states:eu-west-1:1:execution:m:e"
_TASK = {
    "TaskArn": lambda draw: "arn:aws:ecs:eu-west-1:1:task/c/1", "LastStatus": lambda draw: "STOPPED",
    "Containers": lambda draw: draw.of_shape(_shape("ecs", "DescribeTasks").members["tasks"].member.members["containers"],
                                            {"Name": lambda draw: "app"}),
}
# The fields of an answer that are always there.
_ALWAYS = {
    ("ecs", "DescribeTaskDefinition"): {
        "TaskDefinition": lambda draw: {"Family": "f", "ContainerDefinitions": [
            {"Name": f"app-{index}"} for index in range(draw.random.randrange(1, 3))]}},
    ("states", "DescribeExecution"): {
        "ExecutionArn": lambda draw: _ARN, "StateMachineArn": lambda draw: _ARN, "StartDate": lambda draw: "2026-03-01T06:00:00Z",
        "Status": lambda draw: draw.one(("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"))},
}
_FUNCTIONS = {"AcquireLock": "acquire-lock", "Heartbeat": "heartbeat", "ReleaseLock": "release-lock",
              "CheckRunning": "check-running-executions"}
# The errors that a call of a service may end with, beside those of Step Functions.
_ERRORS = {
    "lambda": ("Lambda.ServiceException", "Lockstep.LeaseLost", "Lockstep.LockHeld", "Lockstep.LockPaused", "Lockstep.LockFrozen",
               "Lockstep.InvalidRequest", "Lockstep.Unavailable"),
    "ecs": ("ECS.ServerException", "ECS.ClientException", "AmazonECS.Unknown"),
    "states": ("StepFunctions.ExecutionAlreadyExistsException", "StepFunctions.AWSStepFunctionsException"),
    "aws-sdk": ("Sfn.ExecutionDoesNotExistException", "Ecs.ClientException")}


def items():
    """What the ItemReader of a distributed Map lists."""
    return [{"Key": "k", "Size": 1}]


def _shape(service, operation):
    return sfn._service_model(service).operation_model(operation).output_shape


def answer(draw, resource, arguments):
    """The result of a call; raises the error that it ends with."""
    action = resource.split(":::")[-1]
    service = action.partition(":")[0]
    if draw.chance(0.15):
        error = draw.one(("States.Timeout", "States.TaskFailed", *_ERRORS.get(service, ())))
        raise scope.TaskError(error, _cause(draw, error, service))
    if service == "lambda":
        return _of_function(draw, arguments)
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
    payload = draw.of_schema(f"{name}.response") if name else draw.anything()
    while name == "acquire-lock" and payload["status"] not in ("granted", "alreadyHeld") and draw.chance(0.6):
        payload = draw.of_schema(f"{name}.response")  # most runs get their permit
    return {"ExecutedVersion": "$LATEST", "Payload": _without_nulls(payload), "StatusCode": 200}


def _without_nulls(value):
    """The functions leave out what they do not have."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


def _of_execution(draw, action):
    output = draw.anything()
    if not action.endswith(":2"):
        output = json.dumps(output)
    return {"ExecutionArn": _ARN, "Input": {}, "Name": "e", "Output": output, "StartDate": 1, "StopDate": 2, "Status": "SUCCEEDED",
            "StateMachineArn": _ARN}


def _cause(draw, error, service):
    """What a failure says: a description of what failed, where it was waited for, else any text."""
    if error == "States.TaskFailed" and service == "ecs":
        return json.dumps(_task(draw))
    if error == "States.TaskFailed" and service == "states":
        failed = {"ExecutionArn": _ARN, "Name": "e", "Status": draw.one(("FAILED", "TIMED_OUT", "ABORTED"))}
        more = {"Error": draw.one(("E", "Lockstep.LockHeld", "States.Timeout")), "Cause": "c"}
        return json.dumps({**failed, **{key: value for key, value in more.items() if draw.chance(0.6)}})
    return draw.one(("", "why", "{}", json.dumps(draw.anything())))
