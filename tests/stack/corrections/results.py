"""The results that the optimised integrations return to a state.

AWS: the result is the answer of the service in PascalCase, with the headers of the response in SdkHttpMetadata and the id of the
  request in SdkResponseMetadata. For Lambda, it has ExecutedVersion, Payload and StatusCode. A function gets {} if the payload is
  null or missing (recorded: test_lambda_task_service.py test_invoke, 2025-11-06; test_run_task, 2024-02-25).
AWS: an exception that the API of a service does not declare has the general name of the service, with the id of the request in
  the cause (recorded: test_task_service_dynamodb.py test_invalid_param, 2023-05-16).
ministack 1.5.33: for Lambda, returns only StatusCode and Payload. Has no metadata, and has the names and causes of its own services.
"""
import email.utils
import uuid

from ministack.services import stepfunctions as sfn

from . import scope

_stock_invoke = sfn._invoke_resource
_SERVICES = {"dynamodb": ("DynamoDB", "AmazonDynamoDBException", "AmazonDynamoDBv2", "1.0"),
             "sqs": ("SQS", "AmazonSQSException", "AmazonSQS", "1.0"),
             "lambda": ("Lambda", "AWSLambdaException", "AWSLambda", ""),
             "sns": ("SNS", "AmazonSNSException", "AmazonSNS", ""),
             "events": ("EventBridge", "AmazonEventBridgeException", "AmazonEventBridge", "1.1"),
             "ecs": ("ECS", "AmazonECSException", "AmazonECS", "1.1"),
             "states": ("StepFunctions", "AWSStepFunctionsException", "AWSStepFunctions", "1.0")}
_DECLARED = ("ResourceNotFoundException", "ConditionalCheckFailedException", "ProvisionedThroughputExceededException",
             "TransactionConflictException", "ItemCollectionSizeLimitExceededException")


def _invoke(resource, data):
    service = resource.split(":::")[-1].partition(":")[0]
    if ":::" not in resource or service not in _SERVICES:
        return _stock_invoke(resource, data)
    if service == "lambda":
        return _with_metadata(_invoke_function(data), service, {"X-Amz-Executed-Version": "$LATEST",
                                                                "x-amzn-Remapped-Content-Length": "0"})
    try:
        result = _stock_invoke(resource, data)
    except scope.TaskError as error:
        raise _named(error, service) from None
    # The result of .sync is the description of the work, and not the answer of the call, so it has no metadata.
    return result if ".sync" in resource else _with_metadata(result, service, {})


def _invoke_function(data):
    function = sfn._resolve_lambda_function_ref(data.get("FunctionName", ""), optimized=True)
    payload = data.get("Payload")
    try:
        answer = sfn._call_lambda(function, {} if payload is None else payload)
    except scope.TaskError as error:
        if error.error == "Lambda.ResourceNotFoundException":
            raise scope.TaskError(error.error, _cause(f"{error.cause}", "AWSLambda", 404, "ResourceNotFoundException")) from None
        raise
    return {"ExecutedVersion": "$LATEST", "Payload": answer, "StatusCode": 200}


def _named(error, service):
    prefix, general, client, _ = _SERVICES[service]
    if service not in ("dynamodb", "sqs") or not error.error.startswith(f"{prefix}."):
        return error
    code = error.error.split(".", 1)[1].rsplit("#", 1)[-1]
    name = code if code in _DECLARED else general
    return scope.TaskError(f"{prefix}.{name}", _cause(error.cause, client, 400, code))


def _cause(text, client, status, code):
    return (f"{text} (Service: {client}; Status Code: {status}; Error Code: {code}; Request ID: {uuid.uuid4()}; "
            "Proxy: null)")


def with_metadata(result, service):
    """Returns the answer of a call with metadata, for the events of the call."""
    return _with_metadata(result, service, {})


def _with_metadata(result, service, more):
    request = str(uuid.uuid4())
    version = _SERVICES[service][3]
    headers = {**more, "Connection": "keep-alive", "x-amzn-RequestId": request,
               "Content-Length": str(len(sfn.json.dumps(result))), "Date": email.utils.formatdate(usegmt=True),
               "Content-Type": f"application/x-amz-json-{version}" if version else "application/json"}
    return {**result, "SdkHttpMetadata": {"AllHttpHeaders": {name: [value] for name, value in headers.items()},
                                          "HttpHeaders": headers, "HttpStatusCode": 200},
            "SdkResponseMetadata": {"RequestId": request}}


def apply():
    sfn._invoke_resource = _invoke
