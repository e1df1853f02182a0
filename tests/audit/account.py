"""Creates state machines with past runs in the local stack: runs that overlap, start twice, or keep apart."""
import concurrent.futures
import json
import os
import random
import time
import urllib.request

from probes.support import client, role

DAY = 86_400_000
PASS = {"StartAt": "Work", "States": {"Work": {"Type": "Pass", "End": True}}}
# Executions in one request to the stack.
CHUNK = 5_000


def runs_of(dice, kind, count, until):
    """Returns the runs of 29 days as (start, stop, status), in milliseconds.

    The kinds of runs:
    apart       each ends before the next one starts
    at times    5 % of the runs outlast their interval
    always      all runs outlast their interval
    twice       3 % of the runs are started twice within a second
    by chance   the times of the starts are random
    """
    since = until - 29 * DAY
    step = (until - since) // count
    runs = []
    for n in range(count):
        start = since + n * step
        length = dice.randint(step // 10, step // 2)
        if kind == "at times" and dice.random() < 0.05:
            length = step * dice.randint(2, 4)
        if kind == "always":
            length = step + step * dice.randint(5, 30) // 100
        if kind == "by chance":
            start = since + dice.randrange(until - since)
        status = dice.choices(["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"], [94, 4, 1, 1])[0]
        runs.append((start, min(start + length, until - 1_000), status))
        if kind == "twice" and dice.random() < 0.03:
            runs.append((start + dice.randint(0, 900), start + length, "SUCCEEDED"))
    return [run for run in sorted(runs) if run[1] > run[0]]


def make(plan, until, seed=1):
    """Creates the state machines of the plan, (name, kind, runs, schedule or None), with their runs. Returns the runs by name."""
    dice = random.Random(seed)
    made = {name: runs_of(dice, kind, count, until) for name, kind, count, _ in plan}
    role()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda row: put(row[0], made[row[0]], row[3]), plan))
    return made


def put(name, runs, schedule):
    arn = machine(name)
    if schedule:
        client("scheduler").create_schedule(
            Name=f"{name}-tick", ScheduleExpression=schedule, State="DISABLED" if "minute" in schedule else "ENABLED",
            FlexibleTimeWindow={"Mode": "OFF"}, Target={"Arn": arn, "RoleArn": role(), "Input": "{}"})
    past(arn, runs)


def past(arn, runs):
    """Adds past runs, (start, stop, status) in milliseconds, to a state machine."""
    for first in range(0, len(runs), CHUNK):
        part = runs[first:first + CHUNK]
        order = {"stateMachineArn": arn, "executions": [
            [f"run-{first + n}", moment(start), moment(stop), status] for n, (start, stop, status) in enumerate(part)]}
        request = urllib.request.Request(f"{os.environ['AWS_ENDPOINT_URL']}/_lockstack/executions",
                                         data=json.dumps(order).encode(), method="POST")
        urllib.request.urlopen(request, timeout=60).read()


def machine(name, kind="STANDARD"):
    made = client("stepfunctions").create_state_machine(name=name, definition=json.dumps(PASS), roleArn=role(), type=kind)
    return made["stateMachineArn"]


def moment(millis):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(millis // 1000)) + f".{millis % 1000:03d}Z"
