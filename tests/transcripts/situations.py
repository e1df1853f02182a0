"""Makes each thing really go wrong on the stack that a question of the transcripts is about."""
import json
import os
import subprocess
import tempfile
import time
import urllib.request
from datetime import datetime, timezone

from evaluate import stack_outputs
import account
from probes.support import client, ended, role, start, wait_for
from stackctl.settings import ROOT, architecture

STACK, FIXTURE = stack_outputs("lockstep"), stack_outputs("lockstep-fixture")
COMMAND = ROOT / "target" / f"{'aarch64' if architecture() == 'arm64' else 'x86_64'}-unknown-linux-gnu/debug/lockstep"
# Of an adopter: `lockstep init` writes there.
REPOSITORY = tempfile.TemporaryDirectory()
ENVIRONMENT = {**os.environ, "LOCKSTEP_ACTOR": "jo@example.com", "AWS_REGION": "us-east-1"}


def batch(lock, seconds, exit_code=0, **fields):
    environment = {"BATCH_SECONDS": seconds, "BATCH_EXIT": exit_code}
    own = {"Name": "batch", "Environment": [{"Name": name, "Value": str(value)} for name, value in environment.items()]}
    network = {"AwsvpcConfiguration": {"Subnets": ["subnet-1"]}}
    return {"lock": lock, **fields, "work": {"container": "batch", "runTask": {
        "LaunchType": "FARGATE", "Cluster": FIXTURE["ClusterArn"], "TaskDefinition": FIXTURE["BatchTaskDefinitionArn"],
        "NetworkConfiguration": network, "Overrides": {"ContainerOverrides": [own]}}}}


def cluster(name):
    """Creates a cluster in which nothing runs."""
    client("ecs").create_cluster(clusterName=name)


def begin(lock, seconds=120, **fields):
    """Starts a run of exclusive-run whose container works for `seconds`."""
    return start(STACK["ExclusiveRunStateMachineArn"], batch(lock, seconds, **fields))


def holder(lock):
    """Waits until the lock has a holder, and returns the holder."""
    return wait_for(lambda: next(iter(show(lock)["holders"]), None), f"a holder of {lock}", 40)["holder"]


def short(lock):
    """Returns the short name of the holder, as the tables show it."""
    return "…" + holder(lock)[-12:]


def show(lock):
    shown = lockstep("show", lock, "--output", "json")
    return json.loads(shown.stdout) if shown.returncode == 0 else {"holders": [], "waiters": []}


def lockstep(*words):
    return subprocess.run([COMMAND, *words], env=ENVIRONMENT, cwd=REPOSITORY.name, capture_output=True, text=True, timeout=90)


def order(**fault):
    """Causes a fault of the local stack: tests/stack/README.md."""
    request = urllib.request.Request(f"{os.environ['AWS_ENDPOINT_URL']}/_lockstack/faults",
                                     data=json.dumps(fault).encode(), method="POST")
    urllib.request.urlopen(request, timeout=10).read()


def at_work(lock, **fields):
    begin(lock, **fields)
    holder(lock)
    wait_for(lambda: [task for task in show(lock)["holders"][0].get("tasks", []) if not task["stopped"]],
             f"a task of {lock}", 40)


def stuck(lock):
    """A run with the policy hold exceeds its limit, so the lock is frozen until an operator acts."""
    at_work(lock, stalePolicy="hold", maxRunSeconds=10, leaseSeconds=6, heartbeatSeconds=2)
    time.sleep(12)
    wait_for(lambda: ask_once(lock) and show(lock).get("state") == "frozen", f"the freeze of {lock}", 90)


def ask_once(lock):
    """Starts one more run, as the next tick would, and waits for its end."""
    ended(begin(lock, 0.2), 60)
    return True


def skipped(lock):
    at_work(lock)
    for _ in range(3):
        ask_once(lock)


def throttled():
    """DynamoDB throttles the requests of view for 10 seconds."""
    order(habit="table-away", seconds=10, function=STACK["ViewFunctionArn"].rpartition(":")[2], **{"with": "throttle"})


def slow(lock):
    """After three runs of one or two seconds, one run takes longer."""
    for _ in range(3):
        ended(begin(lock, 0.2), 60)
    at_work(lock)
    time.sleep(8)


def held_for(lock, seconds):
    """Waits until the holder has held its permit for more than `seconds`."""
    since = datetime.fromisoformat(show(lock)["holders"][0]["since"].replace("Z", "+00:00"))
    time.sleep(max(0, seconds + 1 - (datetime.now(timezone.utc) - since).total_seconds()))


def failed(lock):
    """The batch ends with exit code 3."""
    ended(start(STACK["ExclusiveRunStateMachineArn"], batch(lock, 0.2, exit_code=3)), 60)


def task_of(lock):
    """Returns the id of the task of the lock's latest run."""
    entries = json.loads(lockstep("history", lock, "--output", "json").stdout)["entries"]
    return entries[0]["taskArn"].rpartition("/")[2]


def queued(lock):
    at_work(lock)
    for number in range(3):
        begin(lock, 0.2, overlap="queue")
        wait_for(lambda: len(show(lock)["waiters"]) == number + 1, f"{number + 1} waiters of {lock}", 40)


def lost(lock):
    """A run with the policy yield loses its permit after ten seconds to the next run, and continues its work."""
    at_work(lock, stalePolicy="yield", maxRunSeconds=10, leaseSeconds=6, heartbeatSeconds=2)
    time.sleep(12)
    ask_once(lock)


def ran(lock):
    for code in ("0.2", "0.2"):
        ended(begin(lock, code), 60)


def missing(lock):
    """The last success was 26 hours ago: changes the record to that time."""
    ended(begin(lock, 0.2, expectEverySeconds=86400), 60)
    past = {"N": str(int((time.time() - 26 * 3600) * 1000))}
    client("dynamodb").update_item(
        TableName=STACK["LockTableName"], Key={"pk": {"S": lock}, "sk": {"S": "lock"}},
        UpdateExpression="SET lastSuccessAt = :past, expectFrom = :past, dueAt = :past",
        ExpressionAttributeValues={":past": past})
    reaper = client("cloudformation").describe_stack_resource(StackName="lockstep", LogicalResourceId="ReaperFunction")
    order(fire=reaper["StackResourceDetail"]["PhysicalResourceId"])
    pattern = f'{{ ($.detail.lock = "{lock}") && ($.detail-type = "Lockstep Run Missing") }}'
    pages = client("logs").get_paginator("filter_log_events")
    found = lambda: [event for page in pages.paginate(logGroupName=STACK["EventLogGroupName"], filterPattern=pattern)
                     for event in page["events"]]
    wait_for(found, f"the event about {lock}", 30)


def outage(name):
    """A rule starts a workflow every hour, and two ticks of the last hours started nothing."""
    arn, hour = account.machine(name), 3_600_000
    events = client("events")
    events.put_rule(Name=f"{name}-tick", ScheduleExpression="cron(0 * * * ? *)", State="ENABLED")
    events.put_targets(Rule=f"{name}-tick", Targets=[{"Id": "1", "Arn": arn, "RoleArn": role(), "Input": "{}"}])
    ticks = [int(time.time() * 1000) // hour * hour - back * hour for back in range(10, -1, -1)]
    account.past(arn, [(tick + 700, tick + 90_000, "SUCCEEDED") for tick in ticks[:5] + ticks[7:]])


def scheduled(lock):
    """Creates a disabled schedule, which has not started anything. Its run key has the scheduled time."""
    key = "<aws.scheduler.schedule-arn>#<aws.scheduler.scheduled-time>"
    target = {"Arn": STACK["ExclusiveRunStateMachineArn"], "RoleArn": role(), "Input": json.dumps(batch(lock, 0.2, runKey=key))}
    client("scheduler").create_schedule(Name=lock, ScheduleExpression="cron(0 2 * * ? *)", State="DISABLED",
                                        FlexibleTimeWindow={"Mode": "OFF"}, Target=target)


def idle(lock):
    """Creates a lock that nothing holds, by a run that ends at once."""
    ended(begin(lock, 0.2), 60)


def listed(*locks):
    """Waits until the index of all locks, which is eventually consistent, has these locks."""
    def all_there():
        shown = json.loads(lockstep("locks", "--output", "json").stdout)["locks"]
        return set(locks) <= {lock["lock"] for lock in shown}
    wait_for(all_there, "the index", 30)
