"""Alarms reach only topics whose policies allow it.

AWS: CloudWatch publishes to a topic only if the topic's policy allows it. The default policy of a new topic does. A policy
  that replaces it must name cloudwatch.amazonaws.com.
  https://docs.aws.amazon.com/sns/latest/dg/sns-access-policy-use-cases.html#sns-allow-cloudwatch-alarms
  https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html
ministack 1.5.33: ignores the policy.
"""
import logging

from ministack.core.responses import get_account_id, get_region
from ministack.services import cloudwatch, sns

_log = logging.getLogger("lockstack.alarm_topics")
_FIELDS = ("AlarmActions", "OKActions", "InsufficientDataActions")
_stock_dispatch = cloudwatch._dispatch_alarm_actions


def _dispatch(alarm, *more):
    arn = f"arn:aws:cloudwatch:{get_region()}:{get_account_id()}:alarm:{alarm.get('AlarmName', '')}"
    return _stock_dispatch({**alarm, **{field: [action for action in alarm.get(field) or [] if _reaches(arn, action)]
                                        for field in _FIELDS}}, *more)


def _reaches(alarm, action):
    if not cloudwatch._is_sns_action_arn(action):
        return True
    allowed = sns.topic_policy_allows(action, "cloudwatch.amazonaws.com", alarm, get_account_id())
    if not allowed:
        _log.warning("the policy of %s does not allow %s to publish", action, alarm)
    return allowed


def apply():
    cloudwatch._dispatch_alarm_actions = _dispatch
