"""AWS SDK calls of states (aws-sdk:SERVICE:ACTION), for services with a JSON protocol.

AWS: a refused call fails the state with the name of the exception in the SDK for Java, which ends in Exception:
  Sfn.ExecutionDoesNotExistException.
  An exception that the API does not declare has the general name of the service: DynamoDb.DynamoDbException (recorded:
  test_aws_sdk.py test_dynamodb_invalid_param, 2023-07-27).
  https://docs.aws.amazon.com/step-functions/latest/dg/supported-services-awssdk.html
  https://github.com/localstack/localstack (state_task_service_aws_sdk.py, held to records of AWS)
AWS: the role of the state machine needs the right to the action. Without it, the exception is AccessDeniedException
  if the API declares it, such as Ecs.AccessDeniedException, and otherwise the general one of the service:
  Sfn.SfnException.
ministack 1.5.33: has the names of the API for exceptions of Step Functions, and checks no role.
"""
import json
import uuid

from ministack.core import iam_actions
from ministack.core.responses import get_account_id, get_region
from ministack.services import stepfunctions as sfn

from . import machine_roles, scope

_stock_call = sfn._dispatch_aws_sdk_json
_stock_name = sfn._prefix_sdk_error


def _call(service_info, service_name, action, data):
    service = service_info.get("service_key", service_name)
    name = action[:1].upper() + action[1:]
    body = json.dumps(sfn._sdk_json_params(service_info, service, name, data)).encode()
    for check in _checks(service, f"{service_info['target_prefix']}.{name}", body):
        denied = machine_roles.refusal(*check)
        if denied:
            raise scope.TaskError(_denial_name(service, service_name), (
                f"{denied} (Service: {_prefix(service_name)}, Status Code: 400, Request ID: {uuid.uuid4()})"))
    try:
        return _stock_call(service_info, service_name, action, data)
    except scope.TaskError as error:
        raise scope.TaskError(error.error, (
            f"{error.cause} (Service: {_prefix(service_name)}, Status Code: 400, Request ID: {uuid.uuid4()})"
            " (SDK Attempt Count: 1)")) from None


def _checks(service, target, body):
    """Returns (action, resource, context) of each right that a request needs."""
    request, place = (service, "POST", "/", {"x-amz-target": target}, body, {}), (get_region(), get_account_id())
    action = iam_actions.extract_iam_action(*request)
    if not action:
        return []
    single = iam_actions.dynamodb_transaction_checks(action, body, *place) if service == "dynamodb" else []
    context = iam_actions.request_tag_context(service, action, body, {})
    return [(*check, context) for check in single or [(action, iam_actions.extract_resource_arn(*request, *place))]]


def _denial_name(service, service_name):
    model = sfn._service_model(service)
    declared = model is not None and "AccessDeniedException" in model.shape_names
    prefix = _prefix(service_name)
    return f"{prefix}.{'AccessDenied' if declared else prefix}Exception"


def _prefix(service_name):
    return sfn._AWS_SDK_ERROR_PREFIX.get(service_name, service_name.capitalize())


def _error_name(service_name, code):
    code = code.rsplit("#", 1)[-1]
    model = sfn._service_model(sfn._AWS_SDK_SERVICE_MAP.get(service_name, {}).get("service_key", service_name))
    if model is None or code.startswith("States."):
        return _stock_name(service_name, code)
    prefix, shape = _prefix(service_name), model.shape_for(code) if code in model.shape_names else None
    if shape is None or not shape.metadata.get("exception"):
        return f"{prefix}.{prefix}Exception"
    return f"{prefix}.{code if code.endswith('Exception') else f'{code}Exception'}"


def apply():
    sfn._dispatch_aws_sdk_json = _call
    sfn._prefix_sdk_error = _error_name
