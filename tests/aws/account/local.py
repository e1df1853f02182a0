"""Runs the account probes on the local stack, and lists what they leave over."""
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import boto3

VERIFY = Path(__file__).resolve().parents[1] / "verify"
PREFIX = "lockstep-verify-"
OPTIONS = ["--confirm", "--subnets", "subnet-1", "--image", os.environ.get("LOCKSTEP_BATCH_IMAGE", "")]
LINE = re.compile(r"(PASS) ([a-z-]+)( \(.+\))?|(SKIPPED|FAIL) ([a-z-]+): .+")


def left_over():
    """Returns the names and ARNs of resources with the probes' prefix."""
    ecs, api = boto3.client("ecs"), boto3.client
    found = [
        *(one["name"] for one in api("stepfunctions").list_state_machines()["stateMachines"]),
        *(one["FunctionName"] for one in api("lambda").list_functions()["Functions"]),
        *api("sqs").list_queues().get("QueueUrls", []),
        *(one["Name"] for one in api("events").list_rules()["Rules"]),
        # The emulator keeps a function's log lines even if its role may not write them.
        *(one["logGroupName"] for one in api("logs").describe_log_groups()["logGroups"]
          if not one["logGroupName"].startswith("/aws/lambda/")),
        *(one["TopicArn"] for one in api("sns").list_topics()["Topics"]),
        *(one["Name"] for one in api("scheduler").list_schedules()["Schedules"]),
        *(one["RoleName"] for one in api("iam").list_roles()["Roles"]),
        *api("dynamodb").list_tables()["TableNames"],
        *ecs.list_clusters()["clusterArns"],
        *ecs.list_task_definitions(status="ACTIVE")["taskDefinitionArns"]]
    return [name for name in found if PREFIX in name]


def problems():
    """Yields a line for each problem."""
    refused = subprocess.run([VERIFY], capture_output=True, text=True)
    free = re.search(r"^(PASS|SKIPPED) definitions-are-accepted", refused.stdout, re.M)
    if refused.returncode != 2 or not free or "nothing was created" not in refused.stdout or left_over():
        yield f"without --confirm: exit code {refused.returncode}, left {left_over()}: {refused.stdout}"

    known = set(subprocess.run([VERIFY, "--list"], capture_output=True, text=True).stdout.split())
    whole = subprocess.run([VERIFY, *OPTIONS], capture_output=True, text=True)
    print(whole.stdout + whole.stderr, end="", flush=True)
    lines = [match for match in map(LINE.fullmatch, whole.stdout.splitlines()) if match]
    if sorted(match[2] or match[5] for match in lines) != sorted(known):
        yield "a probe has no line, or more than one"
    if whole.returncode:
        yield f"exit code {whole.returncode}"
    if left := left_over():
        yield f"left over: {left}"

    # Ctrl-C in the middle of the work.
    running = subprocess.Popen([VERIFY, *OPTIONS], stdout=subprocess.PIPE, text=True, start_new_session=True)
    end = time.monotonic() + 20
    while len(left_over()) < 8 and time.monotonic() < end:
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=120)
    print(output.splitlines()[-1], flush=True)
    if running.returncode != 1 or "verify: stopped" not in output:
        yield f"interrupted: exit code {running.returncode}: {output}"
    if left := left_over():
        yield f"left over after an interruption: {left}"


def main():
    found = list(problems())
    for problem in found:
        print(f"against-stack: {problem}")
    print(f"against-stack: {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
