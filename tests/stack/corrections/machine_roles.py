"""Checks the role of a state machine for nested executions. sdk_calls.py and managed_rules.py use these checks, too.

AWS: the role needs these rights:
  states:StartExecution on the state machine that a state starts; without it, the state fails
  states:DescribeExecution on its executions, for .sync; without it, Step Functions may not notice the end of the child
  states:StopExecution on its executions, for .sync; without it, the child is not stopped
  Without DescribeExecution, AWS notices the end if the event of the end arrives. Here it never does, so that a test
  fails if the right is missing.
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-stepfunctions.html
  https://docs.aws.amazon.com/step-functions/latest/dg/service-integration-iam-templates.html
ministack 1.5.33: checks no role of a state machine. These modules do not check lambda:invoke, ecs:runTask and
  the other optimised integrations either.
"""
import logging
import uuid

from ministack import app
from ministack.core import iam_actions, iam_evaluator
from ministack.core.responses import get_account_id, get_region
from ministack.services import iam
from ministack.services import stepfunctions as sfn

from . import executions, scope

_log = logging.getLogger("lockstack.machine_roles")
_AN_HOUR = 3600


def refusal(action, resource, context=None):
    """Returns the message that denies an action to the role of this thread's execution, or None if it is allowed."""
    execution = sfn._executions.get(executions.of_this_thread())
    machine = execution and sfn._state_machines.get(execution["stateMachineArn"])
    return refusal_of(machine["roleArn"], action, resource, context) if machine else None


def refusal_of(role_arn, action, resource, context=None):
    """Returns the message that denies an action to a role, or None if it is allowed or if no roles are enforced."""
    if not app.AUTH:
        return None
    account, role = get_account_id(), role_arn.rpartition("/")[2]
    session = f"arn:aws:sts::{account}:assumed-role/{role}/{uuid.uuid4().hex}"
    request = iam_evaluator.EvalContext(
        principal_arn=session, principal_type="AssumedRole", principal_account=account, action=action,
        resource_arn=resource, region=get_region(),
        service_context={key.lower(): value for key, value in (context or {}).items()})
    result = iam_evaluator.evaluate(request, iam_evaluator._gather_role_policies(role, account),
                                    *iam_evaluator._permissions_boundary(iam._roles, role, account))
    if result.decision == "Allow":
        return None
    return iam_actions.identity_denial_message(action, session, resource, result.decision == "Deny")


def see_end_of(child):
    """Does nothing if the role may see the end of a child. Otherwise waits until the state is cancelled."""
    denied = refusal("states:DescribeExecution", child)
    if denied:
        _log.warning("a .sync state does not notice the end of %s: %s", child, denied)
    while denied:
        scope.pause(_AN_HOUR)
