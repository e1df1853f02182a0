"""Checks that each alarm of the deployed stack is raised by its fault, and not on a quiet day.

Causes each fault, which writes lines into log groups. Metrics that AWS itself counts are mocked. Then compares the data with the
namespace, name, dimensions, statistic and threshold of the alarms that CloudWatch has. An alarm without a fault is an error.
Also checks that the log group has all kinds of events, and that the topics have the messages.
"""
import json
import os
import sys
import time
import urllib.request

import metrics
from probes.support import client, queue, queue_arn, unique, wait_for

STACK = "lockstep"


def stack_resources():
    """Returns the physical ids of the stack's resources by their logical ids."""
    found = client("cloudformation").describe_stack_resources(StackName=STACK)["StackResources"]
    return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found}


NAMES = stack_resources()


def order(request):
    url = f"{os.environ['AWS_ENDPOINT_URL']}/_lockstack/faults"
    method = "POST" if request else "DELETE"
    made = urllib.request.Request(url, data=json.dumps(request).encode(), method=method)
    return json.loads(urllib.request.urlopen(made).read())


def invoke(function, request):
    """Calls a function, and returns its response or its error."""
    answer = client("lambda").invoke(FunctionName=NAMES[function], Payload=json.dumps(request))
    return json.loads(answer["Payload"].read())


def holder(name, account="000000000000"):
    return f"arn:aws:states:us-east-1:{account}:execution:none:{name}"


def acquire(lock, name="a", account="000000000000", **fields):
    return invoke("AcquireLockFunction", {"lock": lock, "holder": holder(name, account), **fields})


def refused(answer, name):
    assert answer.get("errorType") == name, f"expected the error {name}, not {answer}"


def sweep():
    order({"fire": NAMES["ReaperFunction"]})


def reaper_lines(since, text):
    return [line for line in metrics.lines("/aws/lambda/lockstep-reaper", since) if text in line]


class Faults:
    """The faults. Each method that FAULTS names causes one, and records what AWS would count or log."""

    def __init__(self):
        self.aws, self.log_lines = [], {}

    def count(self, namespace, name, dimensions, value, origin):
        self.aws.append(metrics.aws(namespace, name, dimensions, value, origin))

    def table_away(self):
        """The reaper cannot read the table, so all three attempts of the sweep fail, and its event becomes a dead letter."""
        reaper = {"FunctionName": NAMES["ReaperFunction"]}
        order({"habit": "table-away", "with": "fail", "seconds": 120, "function": NAMES["ReaperFunction"]})
        time.sleep(2)  # A sweep that the schedule has just started may still finish.
        since = int(time.time() * 1000)
        sweep()
        failed = wait_for(lambda: enough(reaper_lines(since, '"invocation_failed"'), 3), "three failed attempts", 60)
        letters = wait_for(self.dead_letters, "a dead letter of the reaper", 40)
        order({"habit": "table-away", "off": True})
        assert not reaper_lines(since, '"SweepFinished"'), "a sweep finished without the table"
        for _ in failed:
            self.count("AWS/Lambda", "Errors", reaper, 1, "a failed invocation in the log of the reaper")
        self.count("AWS/SQS", "ApproximateNumberOfMessagesVisible", {"QueueName": NAMES["RecoveryDeadLetters"].rpartition("/")[2]},
                   letters, "the attribute of the queue")

    def dead_letters(self):
        name = "ApproximateNumberOfMessages"
        found = client("sqs").get_queue_attributes(QueueUrl=NAMES["RecoveryDeadLetters"], AttributeNames=[name])
        return int(found["Attributes"][name])

    def throttled(self):
        """Lambda throttles the reaper, and DynamoDB throttles the functions."""
        order({"fail": NAMES["ReaperFunction"], "with": "throttle", "times": 1})
        sweep()
        wait_for(lambda: [one for one in order_status() if one["fault"] == "fail"], "a refused call of the reaper", 20)
        self.count("AWS/Lambda", "Throttles", {"FunctionName": NAMES["ReaperFunction"]}, 1, "an invocation was refused on order")
        order({"habit": "table-away", "with": "throttle", "seconds": 20, "function": NAMES["AcquireLockFunction"]})
        refused(acquire(unique("throttled")), "Lockstep.Unavailable")
        order({"habit": "table-away", "off": True})
        fired = [one for one in order_status() if one["fault"] == "table-away"]
        assert fired, "no request to the table was throttled"
        # The emulator shows only that requests were throttled. The mocked count is as high as the alarm requires.
        table = {"TableName": NAMES["LockTable"]}
        for name in ("ReadThrottleEvents", "WriteThrottleEvents"):
            self.count("AWS/DynamoDB", name, table, 10, f"{len(fired)} throttled requests on order")
        self.count("AWS/DynamoDB", "WriteThrottleEvents", {**table, "GlobalSecondaryIndexName": "due"}, 10,
                   "throttled requests on order")

    def unreadable(self):
        """An item has a value that no version writes, so the sweep cannot check the lock, and acquire-lock fails."""
        lock, table = unique("corrupt"), client("dynamodb")
        refused_before = acquire(lock)
        assert refused_before["status"] == "granted", refused_before
        key = {"pk": {"S": lock}, "sk": {"S": "lock"}}
        table.update_item(TableName=NAMES["LockTable"], Key=key, UpdateExpression="SET #mode = :bad, dueAt = :past",
                          ExpressionAttributeNames={"#mode": "mode"},
                          ExpressionAttributeValues={":bad": {"N": "7"}, ":past": {"N": "1"}})
        refused(acquire(lock, "b"), "Lockstep.Corrupt")
        for _ in range(3):
            before = int(time.time() * 1000)
            sweep()
            wait_for(lambda: reaper_lines(before, '"SweepFinished"'), "the end of a sweep", 20)
        table.delete_item(TableName=NAMES["LockTable"], Key=key)

    def crashed(self):
        """The process of acquire-lock is killed three times. The lines that Lambda would write are mocked."""
        for _ in range(3):
            lock = unique("crash")
            order({"kill": NAMES["AcquireLockFunction"], "after": "write", "mentioning": lock})
            refused(acquire(lock), "Runtime.ExitError")
        # https://docs.aws.amazon.com/lambda/latest/dg/troubleshooting-invocation.html
        line = "RequestId: 1 Error: Runtime exited with error: signal: killed\nRuntime.ExitError"
        self.log_lines["/aws/lambda/lockstep-acquire-lock"] = [line] * 3

    def events(self):
        """Calls of the functions cause one event of each kind that has an alarm."""
        full, frozen, missing = unique("full"), unique("frozen"), unique("missing")
        acquire(missing, account="111111111111", leaseSeconds=3, heartbeatSeconds=1)
        grant = acquire(frozen, maxRunSeconds=1, stalePolicy="hold")["grant"]
        acquire(full)
        acquire(full, "b", overlap="queue", maxQueue=1)
        refused(acquire(full, "c", overlap="queue", maxQueue=1), "Lockstep.QueueFull")
        lost = {"lock": full, "holder": holder("z"), "token": 5}
        refused(invoke("HeartbeatFunction", {"grant": lost}), "Lockstep.LeaseLost")
        self.missing()
        time.sleep(6)  # the lease of three seconds, and the time until a silent holder counts as dead
        acquire(missing, "b")
        invoke("HeartbeatFunction", {"grant": grant})
        refused(acquire(frozen, "b"), "Lockstep.LockFrozen")


    def skipped(self):
        """As many runs are skipped as the stack's parameter SkippedRunsPerHour says."""
        lock = unique("skipped")
        acquire(lock)
        for name in ("b", "c", "d"):
            assert acquire(lock, name, overlap="skip")["status"] == "skipped"

    def missing(self):
        """A success is missing: it was expected within a minute, and the test makes the record ten minutes older."""
        lock = unique("nightly")
        grant = acquire(lock, expectEverySeconds=60)["grant"]
        invoke("ReleaseLockFunction", {"grant": grant, "outcome": "succeeded"})
        past = {"N": str(int((time.time() - 600) * 1000))}
        client("dynamodb").update_item(
            TableName=NAMES["LockTable"], Key={"pk": {"S": lock}, "sk": {"S": "lock"}},
            UpdateExpression="SET expectFrom = :past, dueAt = :past", ExpressionAttributeValues={":past": past})
        since = int(time.time() * 1000)
        for _ in range(2):
            before = int(time.time() * 1000)
            sweep()
            wait_for(lambda: reaper_lines(before, '"SweepFinished"'), "the end of a sweep", 20)
        lines = [metrics.parsed(line) for line in metrics.lines(NAMES["EventLogGroup"], since)]
        found = [line for line in lines if line.get("detail", {}).get("lock") == lock]
        assert [line["detail-type"] for line in found] == ["Lockstep Run Missing"], found


def enough(found, least):
    return found if len(found) >= least else None


def order_status():
    url = f"{os.environ['AWS_ENDPOINT_URL']}/_lockstack/faults"
    return json.loads(urllib.request.urlopen(url).read())["fired"]


def quiet_day():
    """Does what must raise no alarm: a run, an answer that Lambda counts as an error, and a sweep."""
    lock = unique("quiet")
    grant = acquire(lock)["grant"]
    refused(acquire(lock, "b", overlap="fail"), "Lockstep.LockHeld")
    invoke("HeartbeatFunction", {"grant": grant})
    invoke("ReleaseLockFunction", {"grant": grant, "outcome": "succeeded"})
    since = int(time.time() * 1000)
    sweep()
    wait_for(lambda: reaper_lines(since, '"SweepFinished"'), "the end of a sweep", 20)
    return lock


# The fault of each alarm, by its logical id.
FAULTS = {
    "ReaperErrors": "table_away", "SweepMissing": "table_away", "DeadLetters": "table_away",
    "ReaperThrottles": "throttled", "TableReadsThrottled": "throttled", "TableWritesThrottled": "throttled",
    "IndexWritesThrottled": "throttled",
    "LocksUnchecked": "unreadable", "FunctionFaults": "unreadable",
    "FunctionCrashes": "crashed",
    "RunsSkipped": "skipped",
    "EvidenceMissing": "events", "LockFrozen": "events", "LeaseLost": "events", "QueueFull": "events", "RunMissing": "events",
}


def subscriber(topic):
    """Creates a queue that receives the messages of a topic, and returns its URL."""
    url = queue()
    allow = {"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage",
        "Resource": queue_arn(url)}]}
    client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(allow)})
    client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue_arn(url))
    return url


def messages(url):
    found = []
    while got := client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        found += [json.loads(one["Body"])["Message"] for one in got]
    return found


def judged(identity, alarm, quiet, data):
    """Yields what is wrong with an alarm, or prints its line if nothing is."""
    seen = metrics.of(alarm, data)
    origin = seen[0].origin if seen else "no data"
    line = f"{identity}: {alarm['Namespace']} {alarm['MetricName']}: {len(seen)} data ({origin})"
    if metrics.raised(alarm, quiet):
        yield f"{line}: it is raised on a quiet day"
    elif not metrics.raised(alarm, data):
        yield f"{line}: its fault does not raise it"
    elif [alarm["AlarmActions"], alarm["OKActions"]] != [[NAMES["AlarmTopic"], NAMES["MailTopic"]]] * 2:
        yield f"{line}: it does not go to both topics: {alarm['AlarmActions']}, {alarm['OKActions']}"
    else:
        print(f"alarms: {line}", flush=True)


def wrong_deliveries(box, mails, since):
    """Yields each event that the log group lacks, also of kinds that call for no action, and each message that a topic lacks."""
    kinds = {metrics.parsed(line).get("detail-type") for line in metrics.lines(NAMES["EventLogGroup"], since)}
    for kind in ("Lockstep Queue Full", "Lockstep Run Skipped"):
        if kind not in kinds:
            yield f"the log group of events has no {kind}: {kinds}"
    if "Lockstep Queue Full" not in "\n".join(messages(box)):
        yield "the topic of alarms has no message about a full queue"
    if not any(mail.startswith("Lockstep Queue Full: ") for mail in messages(mails)):
        yield "there is no mail about a full queue"


def main():
    begin = time.monotonic()
    deployed = client("cloudwatch").describe_alarms()["MetricAlarms"]
    identities = {name: identity for identity, name in NAMES.items()}
    alarms = {identities[one["AlarmName"]]: one for one in deployed if one["AlarmName"] in identities}
    wrong = [f"{identity} has no fault in FAULTS" for identity in sorted(set(alarms) - set(FAULTS))]
    wrong += [f"{identity} is no alarm of the stack" for identity in sorted(set(FAULTS) - set(alarms))]
    order(None)
    box, mails, since = subscriber(NAMES["AlarmTopic"]), subscriber(NAMES["MailTopic"]), int(time.time() * 1000)
    lock = quiet_day()
    # Counts only lines about this lock: other tests may have left locks that the sweep finds.
    quiet = [*metrics.embedded(since), *metrics.filtered(since, mentioning=lock)]
    for fault in dict.fromkeys(FAULTS.values()):
        faults, began = Faults(), int(time.time() * 1000)
        getattr(faults, fault)()
        data = [*faults.aws, *metrics.embedded(began), *metrics.filtered(began, faults.log_lines)]
        for identity in (name for name, own in FAULTS.items() if own == fault and name in alarms):
            wrong += judged(identity, alarms[identity], quiet, data)
    wrong += wrong_deliveries(box, mails, since)
    order(None)
    for line in wrong:
        print(f"alarms: WRONG: {line}")
    print(f"alarms: {len(alarms)} alarms, {len(wrong)} wrong, in {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
