"""Behaviour of standard queues that needs no correction, and on which `lockstep worker` depends."""
import concurrent.futures
import json
import time

from .queues import counts, delete, hide, receive, send
from .support import Probe, client, queue, queue_arn, unique


class Standard(Probe):
    corrected = False

    def test_long_poll_ends_with_the_message(self):
        url = queue()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            poll = pool.submit(receive, url, wait=20)
            time.sleep(0.3)
            send(url, "now")
            self.assertEqual("now", poll.result(5)[0]["Body"])
        self.assertEqual([], receive(url, wait=1))

    def test_message_is_hidden_for_the_time_of_its_receive(self):
        url = queue()
        send(url)
        (first,) = receive(url, visibility=1)
        self.assertEqual([], receive(url))
        (second,) = receive(url, wait=5)
        self.assertEqual((first["MessageId"], "2"),
                         (second["MessageId"], second["Attributes"]["ApproximateReceiveCount"]))

    def test_visibility_is_extended_and_given_up(self):
        url = queue()
        send(url)
        (message,) = receive(url, visibility=1)
        hide(url, message, 30)
        time.sleep(1.2)
        self.assertEqual([], receive(url))
        hide(url, message, 0)
        self.assertEqual(message["MessageId"], receive(url)[0]["MessageId"])

    def test_last_handle_deletes_also_after_its_time(self):
        url = queue()
        send(url)
        (message,) = receive(url, visibility=0)
        delete(url, message)
        self.assertEqual((0, 0, 0), counts(url))

    def test_unknown_handle_is_invalid(self):
        with self.assertRaises(client("sqs").exceptions.ReceiptHandleIsInvalid):
            delete(queue(), {"ReceiptHandle": "made up"})

    def test_message_goes_to_the_dead_letters_after_its_receives(self):
        dead = queue()
        policy = json.dumps({"deadLetterTargetArn": queue_arn(dead), "maxReceiveCount": "3"})
        url = client("sqs").create_queue(QueueName=unique(), Attributes={"RedrivePolicy": policy})["QueueUrl"]
        sent = send(url, "poison")["MessageId"]
        seen = [receive(url, visibility=0)[0]["Attributes"]["ApproximateReceiveCount"] for _ in range(3)]
        self.assertEqual(["1", "2", "3"], seen)
        self.assertEqual([], receive(url))
        (letter,) = receive(dead)
        self.assertEqual((sent, "poison"), (letter["MessageId"], letter["Body"]))
        self.assertEqual(queue_arn(url), letter["Attributes"]["DeadLetterQueueSourceArn"])

    def test_message_tells_its_attributes(self):
        url, body = queue(), "x" * 262_144
        before = time.time_ns() // 1_000_000
        send(url, body, MessageAttributes={"kind": {"DataType": "String", "StringValue": "order"}})
        (message,) = receive(url)
        self.assertEqual((body, "order"), (message["Body"], message["MessageAttributes"]["kind"]["StringValue"]))
        response = message["Attributes"]
        self.assertTrue(before <= int(response["SentTimestamp"]) <= int(response["ApproximateFirstReceiveTimestamp"]))

    def test_delayed_message_is_counted_and_comes_later(self):
        url = queue()
        send(url, DelaySeconds=1)
        self.assertEqual(((0, 0, 1), []), (counts(url), receive(url)))
        self.assertEqual(1, len(receive(url, wait=5)))
        self.assertEqual((0, 1, 0), counts(url))

    def test_queue_is_found_by_name(self):
        name = unique()
        url = client("sqs").create_queue(QueueName=name)["QueueUrl"]
        self.assertEqual(url, client("sqs").get_queue_url(QueueName=name)["QueueUrl"])
        self.assertEqual([url], client("sqs").list_queues(QueueNamePrefix=name)["QueueUrls"])
        with self.assertRaises(client("sqs").exceptions.QueueDoesNotExist):
            client("sqs").get_queue_url(QueueName=unique())

    def test_each_of_a_thousand_messages_goes_to_one_of_eight_receivers(self):
        url, bodies = queue(), [str(number) for number in range(1000)]
        for begin in range(0, len(bodies), 10):
            client("sqs").send_message_batch(QueueUrl=url, Entries=[
                {"Id": body, "MessageBody": body} for body in bodies[begin:begin + 10]])
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            seen = [body for part in pool.map(self.drain, [url] * 8) for body in part]
        self.assertEqual(sorted(bodies), sorted(seen))
        self.assertEqual((0, 0, 0), counts(url))

    def drain(self, url):
        seen = []
        while messages := receive(url, visibility=120, wait=1, most=10):
            for message in messages:
                seen.append(message["Body"])
                delete(url, message)
        return seen
