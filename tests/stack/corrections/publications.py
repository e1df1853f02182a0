"""Messages that a state publishes to a topic.

AWS: the role of the state machine needs sns:Publish on the topic, unless the policy of the topic allows the call.
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-sns.html
AWS: a Subject must be ASCII text of less than 100 characters, begin with a letter, a number or a punctuation mark, and have no
  line breaks or control characters. Otherwise the call fails with InvalidParameter.
  https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
ministack 1.5.33: checks neither.
"""
import re

from ministack.services import stepfunctions as sfn

from . import machine_roles, scope

_RESOURCE = "arn:aws:states:::sns:publish"
_SUBJECT = re.compile(r"[!-~][ -~]{0,98}")
_stock_publish = sfn._SERVICE_DISPATCH[_RESOURCE]


def _publish(resource, data):
    denied = machine_roles.refusal("sns:Publish", data.get("TopicArn", ""))
    if denied:
        raise scope.TaskError("SNS.AuthorizationErrorException", denied)
    subject = data.get("Subject")
    if subject is not None and not _SUBJECT.fullmatch(subject):
        raise scope.TaskError("SNS.InvalidParameterException", "Invalid parameter: Subject")
    return _stock_publish(resource, data)


def apply():
    sfn._SERVICE_DISPATCH[_RESOURCE] = _publish
