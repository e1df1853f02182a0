"""Deploys the example of infra/cdk by the CDK, and checks that neither its batch nor its workflow overlaps with itself."""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from probes.support import client, ended, start, unique, wait_for
from stackctl.settings import ACCOUNT, REGION, ROOT, architecture

CDK = ROOT / "infra" / "cdk"
STACK = "batches"
COMMAND = ROOT / "target" / f"{'aarch64' if architecture() == 'arm64' else 'x86_64'}-unknown-linux-gnu/debug/lockstep"


def cdk(*arguments, folder=CDK):
    """Runs a command of the CDK, and returns its output. Exits with the output if the command fails."""
    command = [CDK / "node_modules" / ".bin" / "cdk", *arguments]
    environment = {**os.environ, "CDK_DISABLE_CLI_TELEMETRY": "true", "CI": "true"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"cdk: {' '.join(arguments)} failed\n{done.stdout}{done.stderr}")
    return done.stdout


def without_tls(template):
    """The template of an account's bootstrap without the policy that denies requests without TLS: the emulator has no TLS."""
    resources = yaml.safe_load(template)
    del resources["Resources"]["StagingBucketPolicy"]
    return json.dumps(resources, default=str)


def bootstrap(folder):
    # Runs in a folder without cdk.json, so that the CDK synthesizes no app.
    path = Path(folder) / "bootstrap.json"
    path.write_text(without_tls(cdk("bootstrap", "--show-template", folder=folder)))
    cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}", "--template", str(path), folder=folder)


def deploy(folder):
    bootstrap(folder)
    update(folder)


def update(folder, **context):
    values = {"image": os.environ["LOCKSTEP_BATCH_IMAGE"], **context}
    given = [word for name, value in values.items() for word in ("--context", f"{name}={value}")]
    cdk("deploy", STACK, "--require-approval", "never", *given, "--output", f"{folder}/cdk.out")


def machine(part):
    """Returns the ARN of a construct's state machine. Its name has the prefix of those that the functions may stop."""
    machines = client("stepfunctions").list_state_machines()["stateMachines"]
    found = [one["stateMachineArn"] for one in machines if one["name"].startswith(f"{STACK}-team-") and part in one["name"]]
    assert len(found) == 1, f"{part}: {found}"
    return found[0]


def scheduled():
    """Returns the input in the batch's schedule, with a new run key."""
    schedules = client("scheduler").list_schedules()["Schedules"]
    [schedule] = [one for one in schedules if one["Name"].startswith(STACK)]
    target = client("scheduler").get_schedule(Name=schedule["Name"])["Target"]["Input"]
    return {**json.loads(target), "runKey": unique("tick")}


def started(executions):
    """Yields the event of each task that the executions started, from their histories."""
    for execution in executions:
        events = client("stepfunctions").get_execution_history(executionArn=execution["executionArn"])["events"]
        yield from (event for event in events if event["type"] == "TaskScheduled"
                    and event["taskScheduledEventDetails"]["resource"].endswith("runTask.sync"))


def outcomes(executions):
    """Returns the outputs of executions, those of skipped runs first. All executions have to succeed."""
    failed = [one for one in executions if one["status"] != "SUCCEEDED"]
    assert not failed, failed
    outputs = [json.loads(one["output"]) for one in executions]
    return sorted(outputs, key=lambda output: output.get("status") != "skipped")


def one_of_two(name, arn, first, second, ran):
    """Starts two runs at once: one does the work, and the other is skipped."""
    executions = [ended(one, 60) for one in [start(arn, first), start(arn, second)]]
    skipped, output = outcomes(executions)
    if skipped.get("status") != "skipped" or not ran(output):
        yield f"{name}: not one run and one skip: {skipped}, {output}"
    tasks = list(started(executions))
    if len(tasks) != 1:
        yield f"{name}: {len(tasks)} tasks were started, not one"


def replaced(arn):
    """The functions may stop a run of the construct because of its name."""
    slow = scheduled()
    own = {"Name": slow["work"]["container"], "Environment": [{"Name": "BATCH_SECONDS", "Value": "60"}]}
    slow["work"]["runTask"]["Overrides"] = {"ContainerOverrides": [own]}
    holder = start(arn, slow)
    wait_for(lambda: list(started([{"executionArn": holder}])), "the task of the holder", 30)
    successor = ended(start(arn, {**scheduled(), "overlap": "replace"}), 60)
    if successor["status"] != "SUCCEEDED" or "StopCode" not in json.loads(successor["output"]):
        yield f"the run that replaces another did not run: {successor}"
    if ended(holder)["status"] != "ABORTED":
        yield f"the replaced run was not stopped: {ended(holder)}"


def freed(arn):
    """A run that is stopped from outside frees its lock once its task has stopped. The next run waits for that."""
    holder = start(arn, scheduled())
    wait_for(lambda: list(started([{"executionArn": holder}])), "the task of the holder", 30)
    client("stepfunctions").stop_execution(executionArn=holder)
    # If the task has not stopped when the event comes, the reaper checks again after 30 s.
    following = wait_for(lambda: not_skipped(ended(start(arn, scheduled()), 60)), "a run that is not skipped", 90)
    if following["status"] != "SUCCEEDED" or "StopCode" not in json.loads(following["output"]):
        yield f"the run after the stopped one did not run: {following}"


def not_skipped(execution):
    """Returns the execution, or None if it was skipped because the reaper did not yet know of the holder's stop."""
    return None if '"skipped"' in execution.get("output", "") else execution


def other_lock(arn):
    """The state machine of a batch refuses any lock but the batch's own."""
    refused = ended(start(arn, {**scheduled(), "lock": "orders"}))
    if (refused["status"], refused.get("error")) != ("FAILED", "Lockstep.InvalidRequest"):
        yield f"another lock was not refused: {refused}"


def over_a_deploy(arn, folder):
    """Runs that wait during the deployment of a new revision all run on the new revision."""
    family = scheduled()["work"]["runTask"]["TaskDefinition"]
    revision = lambda: client("ecs").describe_task_definition(taskDefinition=family)["taskDefinition"]["taskDefinitionArn"]
    before = revision()
    operate("pause", "nightly-report", "--note", "a deploy")
    waiting = [start(arn, {**scheduled(), "overlap": "queue", "onPaused": "wait"}) for _ in range(10)]
    update(folder, logLevel="debug")
    after = revision()
    if after == before:
        yield f"the deploy made no new revision: {after}"
    operate("resume", "nightly-report", "--note", "deployed")
    executions = [ended(one, 240) for one in waiting]
    failed = [one.get("cause", one["status"]) for one in executions if one["status"] != "SUCCEEDED"]
    ran = [json.loads(one["output"]).get("TaskDefinitionArn") for one in executions if one["status"] == "SUCCEEDED"]
    if failed or ran != [after] * 10:
        yield f"of ten runs that waited during the deployment of {after}, {len(ran)} ran, on {set(ran)}: {failed}"
    print(f"cdk: {len(ran)} runs that were queued under {before.rpartition('/')[2]} ran on {after.rpartition('/')[2]}")


def operate(*words):
    environment = {**os.environ, "AWS_REGION": REGION, "LOCKSTEP_ACTOR": "tests"}
    subprocess.run([COMMAND, *words, "--stack", STACK], env=environment, check=True, capture_output=True, timeout=90)


def silent_topics():
    """The policy of each topic allows CloudWatch and EventBridge to publish: alarms and events of a batch share a topic."""
    listed = client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=STACK)
    found = [one for page in listed for one in page["StackResourceSummaries"]]
    named = lambda kind: {one["PhysicalResourceId"] for one in found if one["ResourceType"] == kind}
    actions = {}
    for alarm in client("cloudwatch").describe_alarms()["MetricAlarms"]:
        if alarm["AlarmName"] in named("AWS::CloudWatch::Alarm"):
            for topic in alarm["AlarmActions"]:
                actions.setdefault(topic, set()).add("cloudwatch.amazonaws.com")
    for rule in named("AWS::Events::Rule"):
        for target in client("events").list_targets_by_rule(Rule=rule.rpartition("/")[2])["Targets"]:
            if ":sns:" in target["Arn"]:
                actions.setdefault(target["Arn"], set()).add("events.amazonaws.com")
    if len(actions) != 2 or any(len(services) != 2 for services in actions.values()):
        yield f"there must be two topics with both alarms and events, not {actions}"
    for topic, services in actions.items():
        policy = json.loads(client("sns").get_topic_attributes(TopicArn=topic)["Attributes"]["Policy"])
        allowed = {one["Principal"].get("Service") for one in policy["Statement"] if one["Action"] in ("sns:Publish", ["sns:Publish"])
                   and one["Effect"] == "Allow"}
        if not services <= allowed:
            yield f"{topic} refuses {services - allowed}"


def in_a_workflow():
    """A workflow runs the batch as one state, then other states under a lock, and continues."""
    machines = client("stepfunctions").list_state_machines()["stateMachines"]
    [arn] = [one["stateMachineArn"] for one in machines if "MonthEnd" in one["name"]]
    run = ended(start(arn, {}), 60)
    if (run["status"], json.loads(run.get("output", "null"))) != ("SUCCEEDED", {"report": "SUCCEEDED"}):
        yield f"the workflow with the batch and the guarded states failed: {run}"


def for_operators():
    """The `lockstep` command lists the locks of these runs, and finds that the functions have its own version."""
    environment = {**os.environ, "AWS_REGION": REGION}
    for words, expected in ((["locks"], "succeeded"), (["doctor"], "ok      versions")):
        asked = subprocess.run([COMMAND, *words, "--stack", STACK], env=environment, capture_output=True, text=True, timeout=90)
        if expected not in asked.stdout.lower() or asked.returncode == 64:
            yield f"lockstep {words[0]} of the stack: {asked.returncode}: {asked.stdout}{asked.stderr}"


def main():
    begin = time.monotonic()
    folder = tempfile.TemporaryDirectory()
    deploy(folder.name)
    print(f"cdk: deployed in {time.monotonic() - begin:.0f} s", flush=True)
    batch, workflow = machine("NightlyReport"), machine("RegionalReport")
    wrong = [
        *silent_topics(),
        *one_of_two("batch", batch, scheduled(), scheduled(), lambda output: "StopCode" in output),
        *one_of_two("workflow", workflow, {}, {}, lambda output: output == {"report": "done"}),
        *other_lock(batch),
        *replaced(batch),
        *freed(batch),
        *in_a_workflow(),
        *for_operators(),
        *over_a_deploy(batch, folder.name),
    ]
    folder.cleanup()
    for line in wrong:
        print(f"cdk: WRONG: {line}")
    print(f"cdk: {len(wrong)} wrong, in {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
