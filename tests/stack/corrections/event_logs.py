"""EventBridge rules whose target is a log group.

AWS: EventBridge creates a log stream and writes each matched event into it as one line of JSON, if a resource policy of
  CloudWatch Logs allows it. The target is the ARN of the log group without a `:*` at its end.
  https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html#eb-cloudwatchlogs-permissions
AWS: such a policy is one of the account's ten policies, or the log group's own policy.
  https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutResourcePolicy.html
ministack 1.5.33: has no such target. It stores both kinds of policy and limits the first to ten, but evaluates neither.
"""
import json
import logging

from ministack.core.iam_evaluator import EvalContext, evaluate_resource_policy
from ministack.core.responses import get_account_id, get_region, new_uuid
from ministack.services import cloudwatch_logs, eventbridge

_log = logging.getLogger("lockstack.event_logs")
_ACTIONS = ("logs:CreateLogStream", "logs:PutLogEvents")


def _allowed(group, stream, rule_arn):
    """Returns whether a policy of the account, or that of the log group, allows a rule to write to a log stream."""
    policies = [*cloudwatch_logs._resource_policies.values(), cloudwatch_logs._log_group_policies.get(group)]
    statements = [statement for policy in policies if policy
                  for statement in json.loads(policy["policyDocument"])["Statement"]]

    def decision(action):
        asked = EvalContext(
            principal_arn="", principal_type="Service", principal_account="", action=action, region=get_region(),
            resource_arn=f"arn:aws:logs:{get_region()}:{get_account_id()}:log-group:{group}:log-stream:{stream}",
            service_context={"aws:sourcearn": rule_arn, "aws:sourceaccount": get_account_id()})
        return evaluate_resource_policy({"Statement": statements}, asked, service="events.amazonaws.com").decision
    return all(decision(action) == "Allow" for action in _ACTIONS)


def _write(group, event, rule, view):
    stream = {"logGroupName": group, "logStreamName": new_uuid()}
    if not _allowed(group, stream["logStreamName"], eventbridge._rule_arn(rule["Name"], rule.get("EventBusName", "default"))):
        _log.warning("no resource policy allows the rule %s to write to %s", rule["Name"], group)
        return None
    view = view or eventbridge._pattern_event_view(event)
    cloudwatch_logs._create_log_stream(stream)
    return cloudwatch_logs._put_log_events({**stream, "logEvents": [{"message": json.dumps(view.event_with_detail())}]})


def _with_log_groups(invoke):
    def invoke_target(target, event, rule, view=None):
        service, _, group = target.get("Arn", "").partition(":log-group:")
        if group and service.split(":")[2] == "logs":
            return _write(group, event, rule, view)
        return invoke(target, event, rule, view)
    return invoke_target


def apply():
    # Wraps the current function here and not at import, because schedules.py replaces it, too.
    eventbridge._invoke_target = _with_log_groups(eventbridge._invoke_target)
