"""Calls to SQS queues that the probes share."""
from .support import client


def send(url, body="body", **fields):
    return client("sqs").send_message(QueueUrl=url, MessageBody=body, **fields)


def receive(url, visibility=30, wait=0, most=1, **fields):
    return client("sqs").receive_message(
        QueueUrl=url, VisibilityTimeout=visibility, WaitTimeSeconds=wait, MaxNumberOfMessages=most,
        MessageSystemAttributeNames=["All"], MessageAttributeNames=["All"], **fields).get("Messages", [])


def hide(url, message, seconds):
    client("sqs").change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"],
                                            VisibilityTimeout=seconds)


def delete(url, message):
    client("sqs").delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def counts(url):
    """Returns the numbers of messages: (visible, in flight, delayed)."""
    response = client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return tuple(int(response[f"ApproximateNumberOfMessages{kind}"]) for kind in ("", "NotVisible", "Delayed"))
