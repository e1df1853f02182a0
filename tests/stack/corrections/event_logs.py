"""EventBridge rules whose target is a log group.

AWS: EventBridge creates a log stream and writes each matched event into it as one line of JSON, if a resource policy of
  CloudWatch Logs allows it. The target is the ARN of the log group without a `:*` at its end.
  https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html#eb-cloudwatchlogs-permissions
ministack 1.5.33: has no such target. The resource policies are read here, not evaluated: one that names the log group and
  both actions for events.amazonaws.com is enough.
"""
import json
import logging

from ministack.core.responses import new_uuid
from ministack.services import cloudwatch_logs, eventbridge

_log = logging.getLogger("lockstack.event_logs")
_ACTIONS = {"logs:CreateLogStream", "logs:PutLogEvents"}


def _list(value):
    return value if isinstance(value, list) else [value]


def _allowed(group):
    """Whether the resource policies let EventBridge write to a log group."""
    found = set()
    for policy in cloudwatch_logs._resource_policies.values():
        for statement in json.loads(policy["policyDocument"])["Statement"]:
            services = _list(statement["Principal"].get("Service", []))
            named = any(resource.split(":log-group:")[-1].split(":")[0] == group
                        for resource in _list(statement["Resource"]))
            if statement["Effect"] == "Allow" and "events.amazonaws.com" in services and named:
                found.update(_list(statement["Action"]))
    return _ACTIONS <= found


def _write(group, event, view):
    if not _allowed(group):
        _log.warning("no resource policy lets EventBridge write to %s", group)
        return None
    view = view or eventbridge._pattern_event_view(event)
    stream = {"logGroupName": group, "logStreamName": new_uuid()}
    cloudwatch_logs._create_log_stream(stream)
    return cloudwatch_logs._put_log_events({**stream, "logEvents": [{"message": json.dumps(view.event_with_detail())}]})


def _with_log_groups(invoke):
    def invoke_target(target, event, rule, view=None):
        service, _, group = target.get("Arn", "").partition(":log-group:")
        if group and service.split(":")[2] == "logs":
            return _write(group, event, view)
        return invoke(target, event, rule, view)
    return invoke_target


def apply():
    # At its time, not at import: schedules.py takes the place of the same function.
    eventbridge._invoke_target = _with_log_groups(eventbridge._invoke_target)
