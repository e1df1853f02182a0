"""What the role of a state machine may do: nested executions; sdk_calls.py and managed_rules.py ask here, too.

AWS: the role needs states:StartExecution on the state machine that a state starts, and for .sync
  states:DescribeExecution and states:StopExecution on its executions. Without the first the state fails. Without
  the second Step Functions may not learn of the end; on AWS it does where the event of the end comes through,
  here it never does, so that the missing right shows. Without the third the child is not stopped.
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-stepfunctions.html
  https://docs.aws.amazon.com/step-functions/latest/dg/service-integration-iam-templates.html
ministack 1.5.33: checks no role of a state machine. Not checked here either: lambda:invoke, ecs:runTask and
  the other optimised integrations.
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
    """Why the role of this thread's execution may not do it; None when it may."""
    execution = sfn._executions.get(executions.of_this_thread())
    machine = execution and sfn._state_machines.get(execution["stateMachineArn"])
    return refusal_of(machine["roleArn"], action, resource, context) if machine else None


def refusal_of(role_arn, action, resource, context=None):
    """Why a role may not do it; None when it may, or when no roles are enforced."""
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
    """Return when the role may see the end of a child; else wait until the state is cancelled."""
    denied = refusal("states:DescribeExecution", child)
    if denied:
        _log.warning("a .sync state does not learn of the end of %s: %s", child, denied)
    while denied:
        scope.pause(_AN_HOUR)
