"""rules.py, event_logs.py, and the delivery of events that needs no correction."""
import json

from .functions import calls_as, function_arn, recorded, recorder, role_that_may
from .support import Probe, client, client_in, let_topics_in, queue, queue_arn, receive, rule_to, unique, wait_for

FAILS = """    raise RuntimeError("on purpose")
"""
LOGS = "arn:aws:logs:us-east-1:000000000000:log-group"
BUS = "arn:aws:events:us-east-1:000000000000:event-bus"
RULE = "arn:aws:events:us-east-1:000000000000:rule"


class Own(Probe):
    """Events that a function puts."""
    corrected = False

    def put(self, detail, bus="default"):
        return ["events", "put_events", {"Entries": [{
            "Source": "lockstep", "DetailType": "Probe", "Detail": json.dumps(detail), "EventBusName": bus}]}]

    def test_own_event_reaches_functions_queues_and_topics(self):
        mark, name, first, second = unique(), recorder(), queue(), queue()
        topic = client("sns").create_topic(Name=unique())["TopicArn"]
        let_topics_in(second)
        client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue_arn(second))
        for target in (function_arn(name), queue_arn(first), topic):
            rule_to(target, {"source": ["lockstep"], "detail": {"mark": [mark]}})
        role_arn = role_that_may((["events:PutEvents"], f"{BUS}/default"))
        self.assertEqual(["allowed"], calls_as(role_arn, [self.put({"mark": mark})]))
        self.assertEqual(mark, receive(first)["detail"]["mark"])
        self.assertEqual(mark, json.loads(receive(second)["Message"])["detail"]["mark"])
        self.assertEqual(mark, wait_for(lambda: recorded(name), "event")[0]["detail"]["mark"])

    def test_part_of_an_event_or_a_template_reaches_a_subscriber_as_json(self):
        """`exists` matches a leaf, also below a missing object. A string is inserted into a template as JSON."""
        url, mark, text = queue(), unique(), 'a "b"\n\\c'
        topic = client("sns").create_topic(Name=unique())["TopicArn"]
        let_topics_in(url)
        client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue_arn(url),
                                Attributes={"RawMessageDelivery": "true"})
        pattern = {"source": ["lockstep"], "detail": {"mark": [mark]}}
        for leaf, how in (({"message": {"source": ["custom"]}}, {"InputPath": "$.detail.message"}),
                          ({"message": {"source": [{"exists": False}]}}, {"InputTransformer": {
                              "InputPathsMap": {"kind": "$.detail-type", "text": "$.detail.text"},
                              "InputTemplate": '{"title":"<kind>: x","texts":[<text>]}'}})):
            name = unique()
            client("events").put_rule(Name=name, EventPattern=json.dumps({**pattern, "detail": {**pattern["detail"], **leaf}}))
            client("events").put_targets(Rule=name, Targets=[{"Id": "one", "Arn": topic, **how}])
        role_arn = role_that_may((["events:PutEvents"], f"{BUS}/default"))
        whole = {"source": "custom", "text": text, "list": [1, {"a": "<b>"}]}
        self.assertEqual(["allowed"], calls_as(role_arn, [self.put({"mark": mark, "message": whole})]))
        self.assertEqual(whole, receive(url))
        self.assertEqual(["allowed"], calls_as(role_arn, [self.put({"mark": mark, "text": text})]))
        self.assertEqual({"title": "Probe: x", "texts": [text]}, receive(url))

    def test_text_reaches_a_subscriber_in_quotes_with_its_line_breaks_escaped(self):
        """So neither a part of an event nor a template makes a readable mail."""
        mark, text = unique(), "one\ntwo"
        for how, expected in (({"InputPath": "$.detail.text"}, '"one\\ntwo"'),
                              ({"InputTransformer": {"InputPathsMap": {"mark": "$.detail.mark"}, "InputTemplate": '"of <mark>"'}}, f'"of {mark}"')):
            url, name, topic = queue(), unique(), client("sns").create_topic(Name=unique())["TopicArn"]
            let_topics_in(url)
            client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue_arn(url))
            client("events").put_rule(Name=name, EventPattern=json.dumps({"source": ["lockstep"], "detail": {"mark": [mark]}}))
            client("events").put_targets(Rule=name, Targets=[{"Id": "one", "Arn": topic, **how}])
            role_arn = role_that_may((["events:PutEvents"], f"{BUS}/default"))
            self.assertEqual(["allowed"], calls_as(role_arn, [self.put({"mark": mark, "text": text})]))
            self.assertEqual(expected, receive(url)["Message"])
            client("events").remove_targets(Rule=name, Ids=["one"])

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


def put_marked(mark):
    client("events").put_events(Entries=[{"Source": "lockstep", "DetailType": "Probe", "Detail": json.dumps({"mark": mark})}])


def written(group):
    return client("logs").filter_log_events(logGroupName=group)["events"]


def log_policy(group, rule):
    """Returns a policy that allows one rule to write to a log group, like that of the stack."""
    allow = {"Effect": "Allow", "Principal": {"Service": ["events.amazonaws.com", "delivery.logs.amazonaws.com"]},
             "Resource": f"{LOGS}:{group}:*"}
    condition = {"ArnEquals": {"aws:SourceArn": f"{RULE}/{rule}"}}
    return {"Version": "2012-10-17", "Statement": [
        {**allow, "Action": "logs:CreateLogStream"},
        {**allow, "Action": "logs:PutLogEvents", "Condition": condition}]}


class Logs(Probe):
    def test_own_event_reaches_a_log_group_that_a_policy_opens(self):
        """The policy is one of the account or that of the group, and allows only the rule that it names."""
        account, own, foreign, closed = groups = [f"/aws/events/{unique()}" for _ in range(4)]
        mark, rules = unique(), {}
        for group in groups:
            # The rule comes first: PutTargets does not check whether the log group exists.
            rules[group] = rule_to(f"{LOGS}:{group}", {"source": ["lockstep"], "detail": {"mark": [mark]}})
            client("logs").create_log_group(logGroupName=group)
        name = unique()
        client("logs").put_resource_policy(policyName=name, policyDocument=json.dumps(log_policy(account, rules[account])))
        self.addCleanup(client("logs").delete_resource_policy, policyName=name)
        for group, rule in ((own, rules[own]), (foreign, "another")):
            client("logs").put_resource_policy(resourceArn=f"{LOGS}:{group}", policyDocument=json.dumps(log_policy(group, rule)))
        put_marked(mark)
        for group in (account, own):
            [line] = wait_for(lambda group=group: written(group), "the event in its log group", 10)
            event = json.loads(line["message"])
            self.assertEqual(("lockstep", "Probe", mark), (event["source"], event["detail-type"], event["detail"]["mark"]))
        self.assertEqual([], written(foreign) + written(closed))

    def test_event_follows_the_policy_of_its_log_group_as_it_changes(self):
        group, mark, logs = f"/aws/events/{unique()}", unique(), client("logs")
        logs.create_log_group(logGroupName=group)
        rule = rule_to(f"{LOGS}:{group}", {"source": ["lockstep"], "detail": {"mark": [mark]}})
        put_marked(mark)
        for name, revision in (("another", {}), (rule, {"expectedRevisionId": "1"})):
            self.assertEqual([], logs.describe_log_streams(logGroupName=group)["logStreams"])
            own = logs.put_resource_policy(resourceArn=f"{LOGS}:{group}", policyDocument=json.dumps(log_policy(group, name)), **revision)
            put_marked(mark)
        self.assertEqual(1, len(written(group)))
        logs.delete_resource_policy(resourceArn=f"{LOGS}:{group}", expectedRevisionId=own["revisionId"])
        put_marked(mark)
        self.assertEqual(1, len(written(group)))


class LogPolicies(Probe):
    """Which policies of CloudWatch Logs an account may have."""
    corrected = False

    def test_eleventh_policy_of_the_account_is_refused_but_not_of_a_log_group(self):
        """Runs in another Region, because other probes and the stack need the ten policies of this one."""
        logs, group = client_in("logs", "ap-southeast-4"), unique()
        document = json.dumps(log_policy(group, "any"))
        for number in range(10):
            logs.put_resource_policy(policyName=f"foreign-{number}", policyDocument=document)
        with self.assertRaises(logs.exceptions.LimitExceededException):
            logs.put_resource_policy(policyName="eleventh", policyDocument=document)
        logs.put_resource_policy(policyName="foreign-9", policyDocument=document)
        logs.create_log_group(logGroupName=group)
        arn = f"{LOGS.replace('us-east-1', 'ap-southeast-4')}:{group}"
        logs.put_resource_policy(resourceArn=arn, policyDocument=document)
        self.assertEqual(10, len(logs.describe_resource_policies()["resourcePolicies"]))
        self.assertEqual(1, len(logs.describe_resource_policies(resourceArn=arn)["resourcePolicies"]))

    def test_template_gives_a_log_group_its_policy_changes_it_and_takes_it(self):
        stack, group = unique(), unique()
        arn = f"{LOGS}:{group}"

        def deployed(act, policy):
            properties = {"LogGroupName": group, **({"ResourcePolicyDocument": policy} if policy else {})}
            template = {"Resources": {"Group": {"Type": "AWS::Logs::LogGroup", "Properties": properties}}}
            getattr(client("cloudformation"), f"{act}_stack")(StackName=stack, TemplateBody=json.dumps(template))
            client("cloudformation").get_waiter(f"stack_{act}_complete").wait(StackName=stack, WaiterConfig={"Delay": 1})
            found = client("logs").describe_resource_policies(resourceArn=arn)["resourcePolicies"]
            return [json.loads(one["policyDocument"]) for one in found]
        first, second = log_policy(group, "first"), log_policy(group, "second")
        self.assertEqual([[], [first], [second], []], [deployed("create", None), deployed("update", first),
                                                       deployed("update", second), deployed("update", None)])
        self.assertEqual([first], deployed("update", first))
        client("cloudformation").delete_stack(StackName=stack)
        client("cloudformation").get_waiter("stack_delete_complete").wait(StackName=stack, WaiterConfig={"Delay": 1})
        scoped = client("logs").describe_resource_policies(policyScope="RESOURCE")["resourcePolicies"]
        self.assertNotIn(arn, [one.get("resourceArn") for one in scoped])


class LogFilters(Probe):
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
