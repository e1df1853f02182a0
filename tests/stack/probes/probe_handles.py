"""queues.py: receipt handles, time limits, and clients that have gone."""
import time

import boto3
from botocore.config import Config
from botocore.exceptions import ReadTimeoutError

from .queues import counts, delete, hide, receive, send
from .support import Probe, client, queue

LIMIT = 43200  # seconds: the longest visibility timeout


class Handles(Probe):
    def received_anew(self):
        url = queue()
        send(url)
        (first,) = receive(url)
        hide(url, first, 0)
        (second,) = receive(url)
        self.assertNotEqual(first["ReceiptHandle"], second["ReceiptHandle"])
        return url, first, second

    def test_delete_with_an_older_handle_succeeds_and_deletes_nothing(self):
        url, first, second = self.received_anew()
        delete(url, first)
        answer = client("sqs").delete_message_batch(
            QueueUrl=url, Entries=[{"Id": "a", "ReceiptHandle": first["ReceiptHandle"]}])
        self.assertEqual(["a"], [entry["Id"] for entry in answer["Successful"]])
        hide(url, second, 0)
        (third,) = receive(url)
        delete(url, third)
        delete(url, third)
        self.assertEqual((0, 0, 0), counts(url))

    def test_older_handle_changes_no_visibility(self):
        url, first, _ = self.received_anew()
        refused = client("sqs").exceptions.ClientError
        with self.assertRaisesRegex(refused, "not available for visibility timeout change"):
            hide(url, first, 0)
        self.assertEqual((0, 1, 0), counts(url))

    def test_visibility_of_a_message_that_is_visible_again_cannot_be_changed(self):
        url = queue()
        send(url)
        (message,) = receive(url)
        hide(url, message, 0)
        with self.assertRaises(client("sqs").exceptions.MessageNotInflight):
            hide(url, message, 30)
        answer = client("sqs").change_message_visibility_batch(QueueUrl=url, Entries=[
            {"Id": "a", "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 30}])
        self.assertEqual(1, len(answer["Failed"]))
        self.assertEqual((1, 0, 0), counts(url))

    def test_message_is_in_flight_for_twelve_hours_at_most(self):
        url = queue()
        send(url)
        (message,) = receive(url, visibility=LIMIT)
        time.sleep(1.1)
        for seconds in (LIMIT, LIMIT + 1, -1):
            with self.assertRaises(client("sqs").exceptions.ClientError, msg=seconds):
                hide(url, message, seconds)
        hide(url, message, LIMIT - 10)

    def test_times_of_a_receive_have_limits(self):
        url = queue()
        for fields in ({"wait": 21}, {"visibility": LIMIT + 1}, {"most": 11}, {"most": 0}):
            with self.assertRaises(client("sqs").exceptions.ClientError, msg=fields):
                receive(url, **fields)

    def test_poll_of_a_client_that_is_gone_takes_no_message(self):
        url = queue()
        leaving = boto3.client("sqs", config=Config(read_timeout=0.5, retries={"total_max_attempts": 1}))
        with self.assertRaises(ReadTimeoutError):
            leaving.receive_message(QueueUrl=url, WaitTimeSeconds=20)
        time.sleep(0.3)  # until the emulator notices the end of the connection
        send(url)
        (message,) = receive(url, wait=2)
        self.assertEqual("1", message["Attributes"]["ApproximateReceiveCount"])
