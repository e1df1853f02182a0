"""rules.py, event_logs.py, and the ways of events that are right as shipped."""
import json

from .functions import calls_as, function_arn, recorded, recorder, role_that_may
from .support import Probe, client, queue, queue_arn, receive, rule_to, unique, wait_for

FAILS = """    raise RuntimeError("on purpose")
"""
LOGS = "arn:aws:logs:us-east-1:000000000000:log-group"
BUS = "arn:aws:events:us-east-1:000000000000:event-bus"


class Own(Probe):
    """Events of one's own, put by a function."""
    corrected = False

    def put(self, detail, bus="default"):
        return ["events", "put_events", {"Entries": [{
            "Source": "lockstep", "DetailType": "Probe", "Detail": json.dumps(detail), "EventBusName": bus}]}]

    def test_own_event_reaches_functions_queues_and_topics(self):
        mark, name, first, second = unique(), recorder(), queue(), queue()
        topic = client("sns").create_topic(Name=unique())["TopicArn"]
        self.let_in(second)
        client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue_arn(second))
        for target in (function_arn(name), queue_arn(first), topic):
            rule_to(target, {"source": ["lockstep"], "detail": {"mark": [mark]}})
        role_arn = role_that_may((["events:PutEvents"], f"{BUS}/default"))
        self.assertEqual(["allowed"], calls_as(role_arn, [self.put({"mark": mark})]))
        self.assertEqual(mark, receive(first)["detail"]["mark"])
        self.assertEqual(mark, json.loads(receive(second)["Message"])["detail"]["mark"])
        self.assertEqual(mark, wait_for(lambda: recorded(name), "event")[0]["detail"]["mark"])

    def let_in(self, url):
        """A queue takes messages of a topic only when its policy allows them."""
        allow = {"Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage",
            "Resource": queue_arn(url)}]}
        client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(allow)})

    def test_bus_is_the_resource(self):
        other = unique()
        client("events").create_event_bus(Name=other)
        calls = [self.put({}), self.put({}, other)]
        for bus, expected in ((other, ["AccessDeniedException", "allowed"]),
                              ("default", ["allowed", "AccessDeniedException"])):
            self.assertEqual(expected, calls_as(role_that_may((["events:PutEvents"], f"{BUS}/{bus}")), calls))


class Rules(Probe):
    def test_failed_function_is_called_again(self):
        name, mark = recorder(FAILS), unique()
        rule_to(function_arn(name), {"source": ["probe"], "detail": {"mark": [mark]}})
        client("events").put_events(Entries=[{"Source": "probe", "DetailType": "Probe",
                                              "Detail": json.dumps({"mark": mark})}])
        wait_for(lambda: len(recorded(name)) == 3, "three calls", 25)
        self.assertEqual(1, len({event["id"] for event in recorded(name)}))

    def test_event_that_failed_reaches_the_destination(self):
        name, mark, letters = recorder(FAILS), unique(), queue()
        client("lambda").put_function_event_invoke_config(
            FunctionName=name, MaximumRetryAttempts=2, DestinationConfig={"OnFailure": {"Destination": queue_arn(letters)}})
        rule_to(function_arn(name), {"source": ["probe"], "detail": {"mark": [mark]}})
        client("events").put_events(Entries=[{"Source": "probe", "DetailType": "Probe",
                                              "Detail": json.dumps({"mark": mark})}])
        letter = receive(letters, 30)
        self.assertEqual(mark, letter["requestPayload"]["detail"]["mark"])
        self.assertEqual("RetriesExhausted", letter["requestContext"]["condition"])


class Logs(Probe):
    def test_own_event_reaches_a_log_group_that_a_policy_opens(self):
        groups, mark = [f"/aws/events/{unique()}" for _ in range(2)], unique()
        allow = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"},
                 "Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Resource": f"{LOGS}:{groups[0]}:*"}
        policy = {"Version": "2012-10-17", "Statement": [allow]}
        client("logs").put_resource_policy(policyName=unique(), policyDocument=json.dumps(policy))
        for group in groups:
            client("logs").create_log_group(logGroupName=group)
            rule_to(f"{LOGS}:{group}", {"source": ["lockstep"], "detail": {"mark": [mark]}})
        client("events").put_events(Entries=[{"Source": "lockstep", "DetailType": "Probe",
                                              "Detail": json.dumps({"mark": mark})}])

        def written(group):
            return client("logs").filter_log_events(logGroupName=group)["events"]
        [line] = wait_for(lambda: written(groups[0]), "the event in its log group", 10)
        event = json.loads(line["message"])
        self.assertEqual(("lockstep", "Probe", mark), (event["source"], event["detail-type"], event["detail"]["mark"]))
        self.assertEqual([], written(groups[1]))

    def test_filter_selects_json_by_its_properties_page_by_page(self):
        group, stream = unique(), unique()
        client("logs").create_log_group(logGroupName=group)
        client("logs").create_log_stream(logGroupName=group, logStreamName=stream)
        lines = [json.dumps({"detail-type": kind, "detail": {"lock": lock}, "n": number}) for number, (kind, lock)
                 in enumerate([("A", "x"), ("B", "x"), ("C", "x"), ("A", "xy"), ("A", "z")] * 50)]
        client("logs").put_log_events(logGroupName=group, logStreamName=stream, logEvents=[
            {"timestamp": 1_700_000_000_000 + at, "message": line} for at, line in enumerate([*lines, "no json"])])

        def found(pattern):
            pages = client("logs").get_paginator("filter_log_events").paginate(logGroupName=group, filterPattern=pattern)
            return [json.loads(event["message"]) for page in pages for event in page["events"]]
        kinds = '($.detail-type = "A") || ($.detail-type = "B")'
        for pattern, count in (('{ ($.detail.lock = "x") && (%s) }' % kinds, 100), ('{ ($.detail.lock = "x*") && (%s) }' % kinds, 150),
                               ("{ %s }" % kinds, 200)):
            self.assertEqual(count, len({line["n"] for line in found(pattern)}), pattern)
        with self.assertRaisesRegex(Exception, "InvalidParameterException"):
            found('{ ($.detail.lock = x }')
        first = client("logs").filter_log_events(logGroupName=group, filterPattern="{ %s }" % kinds)
        self.assertTrue(first.get("nextToken"), "there is a page behind the first one")
