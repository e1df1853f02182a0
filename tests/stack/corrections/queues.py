"""SQS standard queues: receipt handles, time limits, and polls of clients that have gone.

AWS: DeleteMessage succeeds with the handle of an earlier receive, or of a deleted message, but
  the message "might not be deleted". Here an earlier handle never deletes it.
  https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessage.html
AWS: the visibility of a message that is not in flight cannot be changed (MessageNotInflight). A message can
  be invisible for at most 12 hours after it was received.
  https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html
AWS: WaitTimeSeconds is 20 at most, VisibilityTimeout 43,200.
  https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html
ministack 1.5.33: refuses an earlier handle, changes the visibility of any received message to any
  time, and checks neither limit.

AWS does not document the end of a long poll whose client has gone. The emulator continues the poll and
gives the next message to nobody, which counts as a receive. Here the poll ends with its client, so that
a test that kills clients knows how often a message was received.
"""
import asyncio
import time

from ministack import app
from ministack.services import sqs

from . import agent

_LONGEST = 43_200  # seconds
_LONGEST_POLL = 20
_stock = {name: sqs._HANDLERS[name] for name in (
    "ReceiveMessage", "DeleteMessage", "DeleteMessageBatch", "ChangeMessageVisibility")}
_stock_collect = sqs._collect_msgs
_given = set()  # all receipt handles of receives


def _collect(queue, most, seconds):
    found = _stock_collect(queue, most, seconds)
    now = time.time()
    for message in found:
        _given.add(message["receipt_handle"])
        message["received_at"] = now
    return found


def _checked(data, name, limit):
    value = data.get(name)
    if value is not None and not 0 <= int(value) <= limit:
        raise sqs._Err("InvalidParameterValue", f"Value {value} for parameter {name} is invalid. "
                                                f"Reason: Must be >= 0 and <= {limit}, if provided.")


async def _receive(data, url):
    _checked(data, "WaitTimeSeconds", _LONGEST_POLL)
    _checked(data, "VisibilityTimeout", _LONGEST)
    return await _stock["ReceiveMessage"](data, url)


def _delete(data, url):
    try:
        return _stock["DeleteMessage"](data, url)
    except sqs._Err as problem:
        if problem.code != "ReceiptHandleIsInvalid" or data["ReceiptHandle"] not in _given:
            raise
        return {}


def _delete_batch(data, url):
    answer = _stock["DeleteMessageBatch"](data, url)
    handles = {entry["Id"]: entry["ReceiptHandle"] for entry in data["Entries"]}
    late = [entry for entry in answer["Failed"] if handles[entry["Id"]] in _given]
    return {"Successful": answer["Successful"] + [{"Id": entry["Id"]} for entry in late],
            "Failed": [entry for entry in answer["Failed"] if entry not in late]}


def _change(data, url):
    _checked(data, "VisibilityTimeout", _LONGEST)
    queue, handle = sqs._get_q(data.get("QueueUrl", url), "sqs:ChangeMessageVisibility"), data.get("ReceiptHandle")
    message = next((one for one in queue["messages"] if handle and one["receipt_handle"] == handle), None)
    now = time.time()
    if not message and handle in _given:
        raise sqs._Err("InvalidParameterValue",
                       f"Value {handle} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is "
                       "not available for visibility timeout change.")
    if message and message["visible_at"] <= now:
        raise sqs._Err("MessageNotInflight", "The specified message isn't in flight.")
    if message and now + int(data["VisibilityTimeout"]) > message["received_at"] + _LONGEST:
        raise sqs._Err("InvalidParameterValue",
                       f"Value {data['VisibilityTimeout']} for parameter VisibilityTimeout is invalid. Reason: Total "
                       f"VisibilityTimeout for the message is beyond the limit [{_LONGEST} seconds].")
    return _stock["ChangeMessageVisibility"](data, url)


def _change_batch(data, url):
    entries = data.get("Entries", [])
    sqs._validate_batch_entries(entries, "ChangeMessageVisibilityBatchRequestEntry")
    changed, failed = [], []
    for entry in entries:
        try:
            _change({**entry, "QueueUrl": data.get("QueueUrl", url)}, url)
            changed.append({"Id": entry["Id"]})
        except sqs._Err as problem:
            failed.append({"Id": entry["Id"], "Code": problem.code, "Message": problem.message, "SenderFault": True})
    return {"Successful": changed, "Failed": failed}


def _ending_with_the_client(serve):
    async def wrapper(scope, receive, send):
        if scope["type"] != "http" or (b"x-amz-target", b"AmazonSQS.ReceiveMessage") not in scope["headers"]:
            return await serve(scope, receive, send)
        text = await agent.read(receive)
        gone = asyncio.ensure_future(receive())  # after the whole request was read, the next message is the disconnect
        response = iter([{"type": "http.request", "body": text}])

        async def again():
            return next(response, None) or await asyncio.shield(gone)

        answering = asyncio.ensure_future(serve(scope, again, send))
        await asyncio.wait((answering, gone), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            answering.cancel()
        gone.cancel()
        await asyncio.wait((answering,))
        if not answering.cancelled():
            answering.result()  # or its exception
    return wrapper


def apply():
    sqs._collect_msgs = _collect
    sqs._HANDLERS.update(ReceiveMessage=_receive, DeleteMessage=_delete, DeleteMessageBatch=_delete_batch,
                         ChangeMessageVisibility=_change, ChangeMessageVisibilityBatch=_change_batch)
    app.app = _ending_with_the_client(app.app)
