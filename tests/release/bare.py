"""A guarded run from dist/, on a machine with no compiler and nothing of this project, by the commands of the pages, in seconds.

What the account has before: a cluster, a task definition and the bootstrap of the CDK. What the machine has before: sam, node,
the CDK, and the code of an app.
"""
import json
import time

import prove as cdk
from lib import context
from machine import Machine
from probes.support import client, wait_for
from stackctl.deploy import stack_outputs
from stackctl.settings import ACCOUNT, REGION, architecture, read_env
from typed import BATCH, CHECK, CONSTRUCTS, DEPLOY, OWN, STACK, STARTS, UNPACK

# Seconds that the task works.
WORK = 5
APP = """\
const { App, CfnOutput, Duration, Stack, TimeZone } = require('aws-cdk-lib');
const ec2 = require('aws-cdk-lib/aws-ec2');
const ecs = require('aws-cdk-lib/aws-ecs');
const lambda = require('aws-cdk-lib/aws-lambda');
const scheduler = require('aws-cdk-lib/aws-scheduler');
const sns = require('aws-cdk-lib/aws-sns');
const { ExclusiveEcsBatch, Lockstep } = require('lockstep-cdk');

class Batches extends Stack {
  constructor(scope, id) {
    super(scope, id);
    const architecture = process.arch === 'arm64' ? lambda.Architecture.ARM_64 : lambda.Architecture.X86_64;
    const vpc = new ec2.Vpc(this, 'Vpc', { maxAzs: 1, natGateways: 0 });
    const cluster = new ecs.Cluster(this, 'Cluster', { vpc });
    const taskDefinition = new ecs.FargateTaskDefinition(this, 'Report');
    const image = ecs.ContainerImage.fromRegistry('%(image)s');
    taskDefinition.addContainer('app', { image, environment: { BATCH_SECONDS: '%(work)s' } });
    const alerts = new sns.Topic(this, 'Alerts');
    %(lockstep)s
    %(nightly)s
    new CfnOutput(this, 'Schedule', { value: nightly.schedule.scheduleName });
  }
}
new Batches(new App(), 'batches');
"""


class Clock:
    """Prints the seconds of each step of a reader, and those of all of them."""

    def __init__(self, reader):
        self.reader, self.begin = reader, time.monotonic()

    def step(self, name, call, *arguments, **options):
        begin = time.monotonic()
        answer = call(*arguments, **options)
        print(f"bare: {self.reader}: {name}: {time.monotonic() - begin:.1f} s", flush=True)
        return answer

    def end(self):
        print(f"bare: {self.reader}: {time.monotonic() - self.begin:.1f} s to the end of a guarded run, whose task worked {WORK} s", flush=True)


def account():
    """The cluster and the task definition that docs/first-lock.md names."""
    trust = {"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ecs-tasks.amazonaws.com"}}]}
    task, execution = (client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
                       for name in ("report-task", "report-execution"))
    client("ecs").create_cluster(clusterName="batch")
    client("ecs").register_task_definition(
        family="report", requiresCompatibilities=["FARGATE"], networkMode="awsvpc", cpu="256", memory="512", taskRoleArn=task,
        executionRoleArn=execution, containerDefinitions=[{
            "name": "app", "image": read_env()["LOCKSTEP_BATCH_IMAGE"], "essential": True,
            "environment": [{"name": "BATCH_SECONDS", "value": str(WORK)}]}])


def guarded(machine, clock, lock, starts, stack):
    """Two starts, the second one while the first run works: it is skipped."""
    def outcomes():
        entries = json.loads(machine.types(f"lockstep history {lock} --stack {stack} --output json"))["entries"]
        found = sorted(one["outcome"] for one in entries if one["outcome"] in ("succeeded", "skipped", "failed"))
        return found if len(found) == len(starts) else None

    for start in starts:
        clock.step("start a run", machine.types, start, "repository")
        # Starts of one second are one tick.
        time.sleep(1)
    found = clock.step("wait until both have ended", wait_for, outcomes, f"{len(starts)} outcomes of {lock}", 60)
    assert found == ["skipped", "succeeded"], found
    clock.end()
    print(machine.types(f"lockstep show {lock} --stack {stack}"), end="", flush=True)


def application(machine):
    """A reader of docs/first-lock.md, with the archives of a release."""
    account()
    machine.gets("SHA256SUMS", f"{context.named('sam', architecture())}.tar.gz", f"{context.named(OWN)}.tar.gz")
    clock = Clock("sam")
    for steps, folder in ((UNPACK, "."), (DEPLOY, "repository")):
        for name, one, answers in steps:
            clock.step(name, machine.types, one.here(architecture()), folder, answers)
    guarded(machine, clock, "hourly-report", [one.text() for one in STARTS], "lockstep")


def app():
    """The code of an app: a task, and what docs/ways/cdk.md adds. The functions come from the package, which needs no path."""
    lines = [line for line in STACK.text().splitlines() if not line.startswith("  functionsPath:")]
    return APP % {"image": read_env()["LOCKSTEP_BATCH_IMAGE"], "work": WORK, "lockstep": "\n".join(lines), "nightly": BATCH.text()}


def constructs(machine):
    """A reader of docs/ways/cdk.md, with the package of a release and the command that the other reader has installed."""
    machine.writes("bootstrap.json", cdk.without_tls(machine.types("cdk bootstrap --show-template")))
    machine.types(f"cdk bootstrap aws://{ACCOUNT}/{REGION} --template bootstrap.json")
    machine.writes("app/package.json", '{"name": "app", "private": true}')
    machine.writes("app/app.js", app())
    machine.gets("SHA256SUMS", f"lockstep-cdk-{context.version()}.tgz", folder="app")
    pinned = json.loads((context.ROOT / "infra" / "cdk" / "package.json").read_text())["devDependencies"]
    clock = Clock("cdk")
    clock.step("check the sums", machine.types, CHECK.text(), "app")
    clock.step("install the packages of the CDK", machine.types,
               "npm install " + " ".join(f"{name}@{pinned[name]}" for name in ("aws-cdk-lib", "constructs")), "app")
    clock.step("install the constructs", machine.types, CONSTRUCTS.here(architecture()), "app")
    clock.step("deploy the app", machine.types, "cdk deploy --app 'node app.js' --require-approval never", "app")
    schedule = stack_outputs("batches")["Schedule"]
    starts = [f"lockstep start nightly-report --schedule {schedule} --stack batches --yes --note {note}" for note in ("first", "second")]
    guarded(machine, clock, "nightly-report", starts, "batches")


def main():
    with Machine() as machine:
        machine.must_be_bare()
        application(machine)
        constructs(machine)


context.main(main)
