"""An adopter's first lock: `lockstep init`, the commands that it prints, and what `lockstep doctor` says of a fresh stack.

The commands are run by a shell as they are printed. Then the stack gets each fault that a first deploy has, and the doctor
has to name the fault and nothing else.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import stacks
from probes.support import client, unique, wait_for
from stackctl.settings import ACCOUNT, TOOLS_BIN, FIXTURE_CLUSTER, REGION, ROOT, architecture

STACK, LOCK, FAMILY = "adopter", "first-report", "adopter-report"
BUILT = ROOT / "target" / f"{'aarch64' if architecture() == 'arm64' else 'x86_64'}-unknown-linux-gnu/debug"
ARN = f"arn:aws:ecs:{REGION}:{ACCOUNT}:task-definition/{FAMILY}"
ROLES = [f"arn:aws:iam::{ACCOUNT}:role/lockstep-fixture-{name}" for name in ("task", "task-execution")]
OK = "ok"


def register():
    """A revision of the adopter's task definition, which works for some seconds."""
    made = client("ecs").register_task_definition(
        family=FAMILY, requiresCompatibilities=["FARGATE"], networkMode="awsvpc", cpu="256", memory="512",
        taskRoleArn=ROLES[0], executionRoleArn=ROLES[1], containerDefinitions=[{
            "name": "app", "image": os.environ["LOCKSTEP_BATCH_IMAGE"], "essential": True,
            "environment": [{"name": "BATCH_SECONDS", "value": "8"}]}])
    return made["taskDefinition"]["taskDefinitionArn"]


def shell(command, folder):
    """What a command prints, as a shell in the adopter's repository runs it."""
    path = f"{BUILT}{os.pathsep}{TOOLS_BIN}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "AWS_REGION": REGION, "LOCKSTEP_ACTOR": "jo@example.com"}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def must(command, folder):
    code, out, err = shell(command, folder)
    if code:
        sys.exit(f"adopter: {command} ends with {code}\n{out}\n{err}")
    return out


def init(folder):
    """The commands that `lockstep init` prints, in their order."""
    out = must(f"lockstep init --template {ROOT / 'infra'} --stack {STACK} --cluster {FIXTURE_CLUSTER} --task-definition {FAMILY} "
               f"--lock {LOCK} --subnets subnet-1 --security-groups sg-1 --schedule 'rate(1 day)' --max-run 5m "
               "--email oncall@example.com", folder)
    commands = [line for line in out.splitlines() if line.startswith(("sam deploy ", "lockstep "))]
    assert len(commands) == 5, out
    # The functions of the local stack are for this machine, as a page says for x86.
    config = folder / "lockstep" / "samconfig.toml"
    text = config.read_text()
    config.write_text(text.replace("parameter_overrides = [\n", f'parameter_overrides = [\n    "Architecture={architecture()}",\n'))
    return commands


def checks(folder, *flags):
    """The status and the text of each check of the doctor, by its name."""
    code, out, err = shell(f"lockstep doctor --stack {STACK} --output json {' '.join(flags)}", folder)
    assert out, err
    found = {one["name"]: one for one in json.loads(out)["checks"]}
    assert (code == 0) == all(one["status"] == OK for one in found.values()), (code, found)
    return found


def parameters():
    described = client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]
    return {one["ParameterKey"]: one["ParameterValue"] for one in described["Parameters"]}


def update(**changed):
    """Changes parameters of the stack. Returns what puts them back."""
    before = parameters()
    given = [{"ParameterKey": key, "ParameterValue": value} for key, value in {**before, **changed}.items()]
    api = client("cloudformation")
    api.update_stack(StackName=STACK, UsePreviousTemplate=True, Parameters=given, Capabilities=stacks.CAPABILITIES)

    def settled():
        status = api.describe_stacks(StackName=STACK)["Stacks"][0]["StackStatus"]
        return None if status.endswith("_IN_PROGRESS") else status
    status = wait_for(settled, f"end of the update of {STACK}", 120)
    assert status == "UPDATE_COMPLETE", status
    return {key: before.get(key, "") for key in changed}


def output(name):
    described = client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]
    return next(one["OutputValue"] for one in described["Outputs"] if one["OutputKey"] == name)


class Parameter:
    """A fault in parameters of the stack."""

    def __init__(self, **changed):
        self.changed = changed

    def __enter__(self):
        self.before = update(**self.changed)

    def __exit__(self, *_):
        update(**self.before)


class Unconfirmed:
    """A subscriber who has not confirmed. The emulator takes each address of a mail for confirmed, so this one is of HTTP."""

    ENDPOINT = "http://127.0.0.1:9/mails"

    def __enter__(self):
        self.topic = output("MailTopicArn")
        client("sns").subscribe(TopicArn=self.topic, Protocol="http", Endpoint=self.ENDPOINT)

    def __exit__(self, *_):
        all_of_topic = client("sns").list_subscriptions_by_topic(TopicArn=self.topic)["Subscriptions"]
        [own] = [one for one in all_of_topic if one["Endpoint"] == self.ENDPOINT]
        client("sns").unsubscribe(SubscriptionArn=own["SubscriptionArn"])


class Skew:
    """A definition of exclusive-run that is newer than the functions that it calls."""

    def __enter__(self):
        self.arn = output("ExclusiveRunStateMachineArn")
        self.before = client("stepfunctions").describe_state_machine(stateMachineArn=self.arn)["definition"]
        definition = json.loads(self.before)
        assert definition["Comment"].startswith("Lockstep "), definition["Comment"]
        definition["Comment"] = "Lockstep 9.0.0. " + definition["Comment"].split(". ", 1)[1]
        self.set(json.dumps(definition))

    def set(self, definition):
        client("stepfunctions").update_state_machine(stateMachineArn=self.arn, definition=definition)

    def __exit__(self, *_):
        self.set(self.before)


class Unlogged:
    """A log group of events without its policy."""

    def __enter__(self):
        self.arn = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{output('EventLogGroupName')}"
        self.document = self.own()["policyDocument"]
        self.put(self.document.replace("events.amazonaws.com", "es.amazonaws.com"))

    def own(self):
        return client("logs").describe_resource_policies(policyScope="RESOURCE", resourceArn=self.arn)["resourcePolicies"][0]

    def put(self, document):
        client("logs").put_resource_policy(resourceArn=self.arn, policyDocument=document, expectedRevisionId=self.own()["revisionId"])

    def __exit__(self, *_):
        self.put(self.document)


# A fault of a stack, the checks that name it, and a part of what each says.
FAULTS = [
    ("no task definition", Parameter(TaskDefinitionArns="", TaskRoleArns=""),
     {"what may run": "exclusive-run may start no task", "task definition": "matches no entry of TaskDefinitionArns",
      "roles of the task": "matches no entry of TaskRoleArns"}),
    ("an entry without :*", Parameter(TaskDefinitionArns=f"{ARN}:1"), {"task definition": f"{ARN}:2 matches no entry of TaskDefinitionArns"}),
    ("a role is missing", Parameter(TaskRoleArns=ROLES[0]), {"roles of the task": f"{ROLES[1]} matches no entry of TaskRoleArns"}),
    ("another cluster", Parameter(ClusterArns=f"arn:aws:ecs:{REGION}:{ACCOUNT}:cluster/other"), {"cluster": "matches no entry of ClusterArns"}),
    ("another Region", Parameter(WorkflowArns=f"arn:aws:states:eu-west-1:{ACCOUNT}:stateMachine:a"),
     {"ARNs of the parameters": "has the Region eu-west-1"}),
    ("a subscription that is not confirmed", Unconfirmed(), {"mails": "not confirmed: 1"}),
    ("a definition that is newer than the functions", Skew(), {"versions": "definition 9.0.0"}),
    ("a log of events that EventBridge may not write", Unlogged(), {"log of events": "events are lost"}),
]


def faults(folder):
    flags = ("--task-definition", FAMILY, "--cluster", FIXTURE_CLUSTER)
    for name, fault, expected in FAULTS:
        with fault:
            found = checks(folder, *flags)
        failed = {check for check, one in found.items() if one["status"] != OK}
        if failed != set(expected):
            yield f"{name}: the doctor names {sorted(failed)}, not {sorted(expected)}: {found}"
        for check, part in expected.items():
            one = found.get(check, {})
            if part not in one.get("found", "") or not one.get("advice"):
                yield f"{name}: {check} says {one}"
        print(f"adopter: {name}: {', '.join(sorted(failed))}", flush=True)
    healthy = checks(folder, *flags)
    if any(one["status"] != OK for one in healthy.values()):
        yield f"the doctor names a fault of a healthy stack: {healthy}"
    code, out, err = shell("lockstep doctor --stack nothing-of-that-name", folder)
    if code != 64 or "lockstep init" not in err:
        yield f"no stack: {code}: {out}{err}"


def guarded(folder, start, history):
    """Two starts: the first one works, the second one is skipped. They are two ticks, so not of one second."""
    must(start, folder)
    time.sleep(2)
    must(start, folder)

    def outcomes():
        entries = json.loads(must(f"{history} --output json", folder))["entries"]
        found = sorted(entry["outcome"] for entry in entries if entry["outcome"] in ("succeeded", "skipped", "failed"))
        return found if len(found) == 2 else None
    found = wait_for(outcomes, "two outcomes", 60)
    if found != ["skipped", "succeeded"]:
        yield f"two starts of the schedule ended as {found}"


def main():
    begin = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="adopter-"))
    register(), register()
    stack, doctor, schedule, start, history = init(folder)
    try:
        must(stack, folder)
        print(f"adopter: deployed in {time.monotonic() - begin:.0f} s", flush=True)
        wrong = list(faults(folder))
        code, out, err = shell(doctor, folder)
        if code:
            wrong.append(f"the printed doctor finds: {out}{err}")
        must(schedule, folder)
        must(stack, folder)
        wrong += guarded(folder, start, history)
    finally:
        shutil.rmtree(folder)
    for line in wrong:
        print(f"adopter: WRONG: {line}")
    print(f"adopter: {len(FAULTS)} faults, {len(wrong)} wrong, in {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
