"""The example of infra/cdk, deployed by the CDK: its batch and its workflow never overlap with themselves."""
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


def cdk(*arguments, folder=CDK):
    """Output of a command of the CDK, which fails with what it wrote."""
    command = [CDK / "node_modules" / ".bin" / "cdk", *arguments]
    environment = {**os.environ, "CDK_DISABLE_CLI_TELEMETRY": "true", "CI": "true"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"cdk: {' '.join(arguments)} failed\n{done.stdout}{done.stderr}")
    return done.stdout


def deploy(folder):
    # In a folder without cdk.json, so that no app is synthesized.
    template = yaml.safe_load(cdk("bootstrap", "--show-template", folder=folder))
    # It denies requests without TLS, and the emulator has none.
    del template["Resources"]["StagingBucketPolicy"]
    path = Path(folder) / "bootstrap.json"
    path.write_text(json.dumps(template, default=str))
    cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}", "--template", str(path), folder=folder)
    image = os.environ["LOCKSTEP_BATCH_IMAGE"]
    cdk("deploy", STACK, "--require-approval", "never", "--context", f"image={image}", "--output", f"{folder}/cdk.out")


def machine(part):
    """The state machine of a construct. Its name begins as those that the functions may stop."""
    machines = client("stepfunctions").list_state_machines()["stateMachines"]
    found = [one["stateMachineArn"] for one in machines if one["name"].startswith(f"{STACK}-team-") and part in one["name"]]
    assert len(found) == 1, f"{part}: {found}"
    return found[0]


def scheduled():
    """Input of the batch as its schedule has it, with a run key of its own."""
    schedules = client("scheduler").list_schedules()["Schedules"]
    [schedule] = [one for one in schedules if one["Name"].startswith(STACK)]
    target = client("scheduler").get_schedule(Name=schedule["Name"])["Target"]["Input"]
    return {**json.loads(target), "runKey": unique("tick")}


def started(executions):
    """Tasks that an execution started, by its history."""
    for execution in executions:
        events = client("stepfunctions").get_execution_history(executionArn=execution["executionArn"])["events"]
        yield from (event for event in events if event["type"] == "TaskScheduled"
                    and event["taskScheduledEventDetails"]["resource"].endswith("runTask.sync"))


def outcomes(executions):
    """Outputs of executions, those that were skipped first. All have to succeed."""
    failed = [one for one in executions if one["status"] != "SUCCEEDED"]
    assert not failed, failed
    outputs = [json.loads(one["output"]) for one in executions]
    return sorted(outputs, key=lambda output: output.get("status") != "skipped")


def one_of_two(name, arn, first, second, ran):
    """Two starts at once: one of them does the work, and the other is skipped."""
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
        yield f"a run that replaces another has not run: {successor}"
    if ended(holder)["status"] != "ABORTED":
        yield f"a run that is replaced was not stopped: {ended(holder)}"


def freed(arn):
    """A run that is stopped from outside frees its lock when its task has stopped, which the next run waits for."""
    holder = start(arn, scheduled())
    wait_for(lambda: list(started([{"executionArn": holder}])), "the task of the holder", 30)
    client("stepfunctions").stop_execution(executionArn=holder)
    # The reaper looks again after 30 s when the task has not stopped by the time of the event.
    following = wait_for(lambda: not_skipped(ended(start(arn, scheduled()), 60)), "a run that is not skipped", 90)
    if following["status"] != "SUCCEEDED" or "StopCode" not in json.loads(following["output"]):
        yield f"a run after one that was stopped has not run: {following}"


def not_skipped(execution):
    """The execution, unless it came before the event that the holder was stopped, and was skipped."""
    return None if '"skipped"' in execution.get("output", "") else execution


def other_lock(arn):
    """The state machine of a batch takes the batch's lock and no other."""
    refused = ended(start(arn, {**scheduled(), "lock": "orders"}))
    if (refused["status"], refused.get("error")) != ("FAILED", "Lockstep.InvalidRequest"):
        yield f"another lock was not refused: {refused}"


def in_a_workflow():
    """A workflow runs the batch as one of its states, then others under a lock, and goes on."""
    machines = client("stepfunctions").list_state_machines()["stateMachines"]
    [arn] = [one["stateMachineArn"] for one in machines if "MonthEnd" in one["name"]]
    run = ended(start(arn, {}), 60)
    if (run["status"], run.get("output")) != ("SUCCEEDED", '{"report": "SUCCEEDED"}'):
        yield f"a workflow around the batch and guarded states has failed: {run}"


def for_operators():
    """The lockstep command finds the functions of the stack, which are of its own version, and the locks of the runs above."""
    command = ROOT / "target" / "static" / f"{'aarch64' if architecture() == 'arm64' else 'x86_64'}-unknown-linux-gnu/local/lockstep"
    environment = {**os.environ, "AWS_REGION": REGION}
    for words, expected in ((["locks"], "succeeded"), (["doctor"], "ok      versions")):
        asked = subprocess.run([command, *words, "--stack", STACK], env=environment, capture_output=True, text=True, timeout=90)
        if expected not in asked.stdout.lower() or asked.returncode == 64:
            yield f"lockstep {words[0]} of the stack: {asked.returncode}: {asked.stdout}{asked.stderr}"


def main():
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        deploy(folder)
    print(f"cdk: deployed in {time.monotonic() - begin:.0f} s", flush=True)
    batch, workflow = machine("NightlyReport"), machine("RegionalReport")
    wrong = [
        *one_of_two("batch", batch, scheduled(), scheduled(), lambda output: "StopCode" in output),
        *one_of_two("workflow", workflow, {}, {}, lambda output: output == {"report": "done"}),
        *other_lock(batch),
        *replaced(batch),
        *freed(batch),
        *in_a_workflow(),
        *for_operators(),
    ]
    for line in wrong:
        print(f"cdk: WRONG: {line}")
    print(f"cdk: {len(wrong)} wrong, in {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
