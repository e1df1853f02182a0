"""An adopter's first lock: `lockstep init`, the commands that it prints, and what `lockstep doctor` says of a fresh stack.

The commands are run by a shell as they are printed. Then the stack gets each fault that a first deploy has, and the doctor
has to name the fault and nothing else.
"""
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import stacks
from probes.support import client, unique, wait_for
from stackctl.settings import ACCOUNT, TOOLS_BIN, FIXTURE_CLUSTER, REGION, ROOT, architecture

STACK, LOCK, FAMILY = "adopter", "first-report", "adopter-report"
SCHEDULE = f"{STACK}-{LOCK}"
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


def shell(command, folder, typed=""):
    """What a command prints, as a shell in the adopter's repository runs it. The adopter types `typed`."""
    path = f"{BUILT}{os.pathsep}{TOOLS_BIN}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "AWS_REGION": REGION, "LOCKSTEP_ACTOR": "jo@example.com"}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, input=typed,
                          capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def must(command, folder, typed=""):
    code, out, err = shell(command, folder, typed)
    if code:
        sys.exit(f"adopter: {command} ends with {code}\n{out}\n{err}")
    return out


def again(folder, lock, family, every, *flags, stack=STACK, email="oncall@example.com"):
    """`lockstep init` for a lock. Returns its exit code and its output."""
    return shell(f"lockstep init --template {ROOT / 'infra'} --stack {stack} --cluster {FIXTURE_CLUSTER} --task-definition {family} "
                 f"--lock {lock} --subnets subnet-1 --security-groups sg-1 --schedule '{every}' --max-run 5m "
                 f"--email {email} {' '.join(flags)}", folder)


def init(folder):
    """The commands that `lockstep init` prints, in their order."""
    code, out, err = again(folder, LOCK, FAMILY, "rate(1 day)")
    assert code == 0, err
    commands = [line for line in out.splitlines() if line.startswith(("sam deploy ", "lockstep "))]
    assert len(commands) == 5 and f"export AWS_REGION={REGION}" in out.splitlines(), out
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


class Uncalled:
    """A function that takes no call, as after step 1 of a restore from a backup."""

    def __enter__(self):
        self.arn = output("AcquireLockFunctionArn")
        client("lambda").put_function_concurrency(FunctionName=self.arn, ReservedConcurrentExecutions=0)

    def __exit__(self, *_):
        client("lambda").delete_function_concurrency(FunctionName=self.arn)


class Unswept:
    """A sweep that somebody has disabled."""

    def __enter__(self):
        rules = client("events").list_rules(NamePrefix=f"{STACK}-Sweep")["Rules"]
        self.name = rules[0]["Name"]
        client("events").disable_rule(Name=self.name)

    def __exit__(self, *_):
        client("events").enable_rule(Name=self.name)


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
    ("acquire-lock takes no call", Uncalled(), {"reserved concurrency": "AcquireLock"}),
    ("no sweep runs", Unswept(), {"rules": f"disabled: {STACK}-Sweep"}),
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
    code, out, err = shell(f"AWS_REGION=ap-southeast-2 lockstep doctor --stack {STACK}", folder)
    if code != 64 or "in ap-southeast-2" not in err or "AWS_REGION" not in err:
        yield f"another Region: {code}: {out}{err}"
    client("ecs").deregister_task_definition(taskDefinition=f"{ARN}:1")
    for check, flag in (("task definition", f"--task-definition {FAMILY}:1"), ("cluster", f"--task-definition {FAMILY} --cluster none")):
        one = checks(folder, flag)[check]
        if one["status"] != "failed":
            yield f"{flag}: the doctor says {one}"
    code, out, err = again(folder, LOCK, f"{FAMILY}:1", "rate(1 day)", "--force")
    if code != 64 or "INACTIVE" not in err:
        yield f"init of an inactive revision: {code}: {out}{err}"


def gone():
    """Deletes parts of the stack, each with the checks that have to say so."""
    yield "exclusive-run", {"log of exclusive-run"}, lambda: client("stepfunctions").delete_state_machine(
        stateMachineArn=output("ExclusiveRunStateMachineArn"))
    yield "the topic of mails", {"mails"}, lambda: client("sns").delete_topic(TopicArn=output("MailTopicArn"))
    yield "the queue of dead letters", {"dead letters of the reaper"}, lambda: client("sqs").delete_queue(
        QueueUrl=output("RecoveryDeadLettersUrl"))
    yield "a function", {"function Heartbeat", "reserved concurrency"}, lambda: client("lambda").delete_function(
        FunctionName=output("HeartbeatFunctionArn"))
    yield "the table", {"locks"}, delete_table
    yield "a view that starts", {"versions"}, crash_view
    yield "view", {"function View", "versions"}, lambda: client("lambda").delete_function(FunctionName=output("ViewFunctionArn"))


def crash_view():
    """The program of view is one that ends at its start, as one for another processor does."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        program = zipfile.ZipInfo("bootstrap")
        program.external_attr = 0o755 << 16
        archive.writestr(program, "#!/bin/sh\nexit 1\n")
    name, api = output("ViewFunctionArn"), client("lambda")
    api.update_function_code(FunctionName=name, ZipFile=packed.getvalue())
    wait_for(lambda: api.get_function_configuration(FunctionName=name)["LastUpdateStatus"] != "InProgress", "end of the update of view", 30)


def delete_table():
    table = output("LockTableName")
    client("dynamodb").update_table(TableName=table, DeletionProtectionEnabled=False)
    client("dynamodb").delete_table(TableName=table)


def missing(folder):
    """What is not there is said to be missing, and is no matter of permissions. The stack is of no use after it."""
    update(AlarmEmail="oncall@example.com")
    expected = set()
    for name, new, delete in gone():
        delete()
        expected |= new
        found = checks(folder)
        failed = {check for check, one in found.items() if one["status"] == "failed"}
        unknown = {check: one for check, one in found.items() if one["status"] == "unknown"}
        if failed != expected or unknown:
            yield f"without {name} the doctor names {sorted(failed)}, not {sorted(expected)}, and does not know {unknown}"
        print(f"adopter: without {name}: {', '.join(sorted(new))}", flush=True)


def changed(folder, stack, schedule):
    """An answer that was wrong: docs/first-lock.md, "When it fails"."""
    code, out, err = again(folder, LOCK, FAMILY, "rate(2 days)", "--force", email="none")
    assert code == 0, err
    must(schedule, folder, "y\n")
    must(stack, folder)
    found = client("scheduler").get_schedule(Name=SCHEDULE)["ScheduleExpression"]
    if found != "rate(2 days)":
        yield f"the schedule has {found} after init --force with rate(2 days), and a deploy that succeeded"
    if parameters()["AlarmEmail"]:
        yield f"the stack mails to {parameters()['AlarmEmail']} after init --force --email none, and a deploy that succeeded"


def second(folder, stack):
    """A second lock on the same stack, in the same repository and in another one. The runs of the first one go on."""
    families = (FAMILY, f"{FAMILY}-b")
    client("ecs").register_task_definition(
        family=families[1], requiresCompatibilities=["FARGATE"], networkMode="awsvpc", cpu="256", memory="512",
        containerDefinitions=[{"name": "app", "image": "app", "essential": True}])
    code, out, err = again(folder, "second-report", families[1], "rate(1 day)", email="none")
    assert code == 0, err
    must(stack, folder)
    let = parameters()["TaskDefinitionArns"]
    if any(f"task-definition/{family}:*" not in let for family in families):
        yield f"with a second lock, exclusive-run may start {let}"
    other = Path(tempfile.mkdtemp(prefix="adopter-other-"))
    try:
        client("ecs").register_task_definition(
            family=f"{FAMILY}-c", requiresCompatibilities=["FARGATE"], networkMode="awsvpc", cpu="256", memory="512",
            containerDefinitions=[{"name": "app", "image": "app", "essential": True}])
        code, out, err = again(other, "third-report", f"{FAMILY}-c", "rate(1 day)", email="none")
        assert code == 0, err
        text = (other / "lockstep" / "samconfig.toml").read_text()
        if any(f"task-definition/{family}:*" not in text for family in (*families, f"{FAMILY}-c")):
            yield f"in another repository, the answers take rights away that the stack has: {text}"
    finally:
        shutil.rmtree(other)


def taken(folder):
    """Stacks of the adopter's own: one has the name of a lock, one the name of a schedule. No printed deploy touches them."""
    lock = unique("own")
    names = (lock, f"{STACK}-{lock}-b")
    api = client("cloudformation")
    for name in names:
        api.create_stack(StackName=name, TemplateBody=json.dumps({"Resources": {"Inbox": {"Type": "AWS::SQS::Queue"}}}))
        wait_for(lambda: api.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE", f"stack {name}", 30)
    code, out, err = again(folder, lock, FAMILY, "rate(1 day)", email="none")
    assert code == 0, err
    [deploy] = [line for line in out.splitlines() if line.startswith("sam deploy ") and f"{lock}.yaml" in line]
    must(deploy, folder, "y\n")
    for what, refused, part in (
            ("a lock", again(folder, f"{lock}-b", FAMILY, "rate(1 day)", email="none"), f"the stack {names[1]} is not the schedule"),
            ("a name", again(folder, lock, FAMILY, "rate(1 day)", f"--name {lock}-b", email="none"), f"the stack {names[1]} is not the schedule"),
            ("--stack", again(folder, lock, FAMILY, "rate(1 day)", stack=lock), "must be a stack of the template of Lockstep"),
            ("the doctor", shell(f"lockstep doctor --stack {lock}", folder), "is no stack of Lockstep")):
        code, out, err = refused
        if code != 64 or part not in err or err.count("\n") != 1:
            yield f"{what} that names a stack of the adopter's own: {code}: {out}{err}"
    for name in names:
        left = [one["LogicalResourceId"] for one in api.describe_stack_resources(StackName=name)["StackResources"]]
        if left != ["Inbox"]:
            yield f"the adopter's own stack {name} has {left}"


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
        must(schedule, folder, "y\n")
        must(stack, folder)
        wrong += guarded(folder, start, history)
        wrong += [*changed(folder, stack, schedule), *second(folder, stack), *taken(folder), *missing(folder)]
    finally:
        shutil.rmtree(folder)
    for line in wrong:
        print(f"adopter: WRONG: {line}")
    print(f"adopter: {len(FAULTS)} faults, {len(wrong)} wrong, in {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
