"""The EventBridge rules through which Step Functions notices the end of tasks and of nested executions.

AWS: CreateStateMachine and UpdateStateMachine refuse a definition with a state that waits for a task or an execution, unless
  the role of the state machine may manage the rule: "is not authorized to create managed-rule".
  https://docs.aws.amazon.com/step-functions/latest/dg/service-integration-iam-templates.html
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-stepfunctions.html
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html
ministack 1.5.33: has no such rules, and checks no role.
"""
from ministack.core.responses import get_account_id, get_region
from ministack.services import stepfunctions as sfn
from ministack.services.cloudformation import provisioners

from . import machine_roles

_RULES = {
    ":::states:startExecution.sync": "StepFunctionsGetEventsForStepFunctionsExecutionRule",
    ":::ecs:runTask.sync": "StepFunctionsGetEventsForECSTaskRule"}
_ACTIONS = ("events:PutTargets", "events:PutRule", "events:DescribeRule")
_stock_create = sfn._create_state_machine
_stock_update = sfn._update_state_machine
_stock_provision = provisioners._sfn_state_machine_create


def _refusal(definition, role_arn):
    needed = [rule for waits, rule in _RULES.items() if waits in definition]
    arns = [f"arn:aws:events:{get_region()}:{get_account_id()}:rule/{rule}" for rule in needed]
    if any(machine_roles.refusal_of(role_arn, action, arn) for arn in arns for action in _ACTIONS):
        return f"'{role_arn}' is not authorized to create managed-rule."
    return None


def _create(data):
    refused = _refusal(data.get("definition") or "", data.get("roleArn") or "")
    return sfn.error_response_json("AccessDeniedException", refused, 400) if refused else _stock_create(data)


def _update(data):
    machine = {**(sfn._state_machines.get(data.get("stateMachineArn")) or {}), **data}
    refused = _refusal(machine.get("definition") or "", machine.get("roleArn") or "")
    return sfn.error_response_json("AccessDeniedException", refused, 400) if refused else _stock_update(data)


def _provision(logical_id, properties, stack_name):
    """Checks the rules of a state machine that CloudFormation creates."""
    refused = _refusal(provisioners._sfn_definition(properties), properties.get("RoleArn") or "")
    if refused:
        raise provisioners._sfn_handler_error(refused)
    return _stock_provision(logical_id, properties, stack_name)


def apply():
    sfn._create_state_machine = _create
    sfn._update_state_machine = _update
    provisioners._sfn_state_machine_create = _provision
    provisioners._RESOURCE_HANDLERS["AWS::StepFunctions::StateMachine"]["create"] = _provision
