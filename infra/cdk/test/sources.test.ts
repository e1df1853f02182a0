/** What the constructs repeat of other sources of the project is what those have. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { Duration } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as ecs from 'aws-cdk-lib/aws-ecs';
import * as iam from 'aws-cdk-lib/aws-iam';
import {
  CatchUp, ExclusiveEcsBatch, ExclusiveRun, LockMetrics, LockOptions, LockstepAlerts, OverlapPolicy, PausedPolicy, SkipOutcome, StalePolicy,
} from 'lockstep-cdk';
import { Evaluator, Json, readTemplate, ROOT } from './cloudformation';
import { message } from './facts';
import { DAILY, EVERY_LOCK_OPTION, scene } from './scene';
import { synthesized } from './stacks';

const text = (file: string) => fs.readFileSync(path.join(ROOT, file), 'utf8');

function resources(stackProps: Parameters<typeof synthesized>[0]): Json[] {
  return Object.values(new Evaluator(synthesized(stackProps), {}).resources());
}

function accepts(props: Partial<LockOptions>): boolean {
  const { stack, lockstep, stateMachine } = scene();
  try {
    new ExclusiveRun(stack, 'Run', { lockstep, stateMachine, lockName: 'nightly-report', ...props });
    return true;
  } catch (error) {
    assert.match(String(error), /^Error: Test\/Run: prop \w+ is .*, but must be .+/);
    return false;
  }
}

/** The input of exclusive-run, as its schema has it. */
const INPUT: Json = JSON.parse(text('shared/schemas/exclusive-run.input.json'));

/** Fields of the input that are no prop of a lock: what a start brings, the work, and a time that has its default. */
const NO_PROP = ['runKey', 'notBefore', 'AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID', 'work', 'waitIntervalSeconds'];

/** The props that make a field a number, with those that it needs. */
function propsOf(field: string, value: number): Partial<LockOptions> {
  const prop = field === 'waitSeconds' ? 'maxWait' : field.replace(/Seconds$/, '');
  const needs: { [field: string]: Partial<LockOptions> } = {
    heartbeatSeconds: { lease: Duration.days(1) },
    maxQueue: { overlap: OverlapPolicy.QUEUE },
    waitSeconds: { overlap: OverlapPolicy.QUEUE },
  };
  return { ...needs[field], [prop]: field.endsWith('Seconds') ? Duration.seconds(value) : value };
}

test('numbers have the ranges of the input schema', () => {
  const numbers = Object.entries<Json>(INPUT.properties).filter(([name, field]) => 'maximum' in field && !NO_PROP.includes(name));
  assert.ok(numbers.length > 9, `${numbers.length}`);
  for (const [name, { minimum, maximum }] of numbers) {
    const values = [minimum - 1, minimum, maximum, maximum + 1];
    assert.deepEqual(values.map((value) => accepts(propsOf(name, value))), [false, true, true, false], name);
  }
});

test('policies have the words of the input schema', () => {
  const words = (type: string) => INPUT.$defs[type].oneOf.map((word: Json) => word.const);
  for (const [type, policy] of Object.entries({ Overlap: OverlapPolicy, OnPaused: PausedPolicy, CatchUp, Stale: StalePolicy, OnSkip: SkipOutcome })) {
    assert.deepEqual(Object.values(policy), words(type), type);
  }
});

test('metrics have the names, the namespace and the units of telemetry', () => {
  const source = text('shared/src/telemetry/metric.rs');
  const names = [...source.matchAll(/Self::\w+ => "(\w+)",/g)].map(([, name]) => name)
    .filter((name) => name !== 'Seconds' && name !== 'Count');
  const metrics: Json = new LockMetrics();
  const methods = Object.getOwnPropertyNames(LockMetrics.prototype).filter((name) => /^metric[A-Z]/.test(name));
  assert.deepEqual(methods.sort(), names.map((name) => `metric${name}`).sort());
  for (const name of names) {
    const { namespace, metricName, unit } = metrics[`metric${name}`]();
    assert.equal(metricName, name);
    assert.equal(namespace, /NAMESPACE: &str = "(\w+)"/.exec(source)![1]);
    assert.equal(unit, name.endsWith('Seconds') ? 'Seconds' : 'Count');
  }
});

test('a lock has metrics of its own only if Lockstep has them', () => {
  const dimension = /directive\(&\[&\["(\w+)"\]\], &per_lock\)/.exec(text('shared/src/telemetry/emf.rs'))![1];
  for (const metricsPerLock of [true, false]) {
    const { stack, lockstep, stateMachine } = scene({ metricsPerLock });
    const run = new ExclusiveRun(stack, 'Run', { lockstep, stateMachine, lockName: 'nightly-report' });
    const expected = metricsPerLock ? { [dimension]: 'nightly-report' } : { table: lockstep.table.tableName };
    assert.deepEqual(run.metrics.metricSkipped().dimensions, expected);
  }
  assert.equal(new LockMetrics().metricSkipped().dimensions, undefined);
});

test('the metrics of a lock are those that telemetry has for each lock', () => {
  const body = /fn is_per_lock.*?matches!\(self, (.*?)\)/s.exec(text('shared/src/telemetry/metric.rs'))![1];
  const expected = [...body.matchAll(/Self::(\w+)/g)].map(([, name]) => name);
  const metrics: Json = new LockMetrics('nightly');
  const methods = Object.getOwnPropertyNames(LockMetrics.prototype).filter((name) => /^metric[A-Z]/.test(name));
  for (const name of methods.map((method) => method.slice('metric'.length))) {
    if (expected.includes(name)) {
      assert.deepEqual(metrics[`metric${name}`]().dimensions, { lock: 'nightly' });
    } else {
      assert.throws(metrics[`metric${name}`].bind(metrics), new RegExp(`^Error: ${name} is not counted for each lock: only Failed, `));
    }
  }
});

/** The detail of a pattern, with the same name for the lock table of any stack. */
function ofItsTable({ table: [name, ...others], message }: Json): Json {
  assert.match(name, /^<\w*LockTable\w*>$/);
  return { table: ['<LockTable>', ...others], message };
}

test('alerts for another topic are those of the template', () => {
  const template = new Evaluator(readTemplate('infra/template.yaml'), {}).resources();
  const sends = ({ Properties: { EventPattern: pattern, Targets: [target] } }: Json) => JSON.stringify({
    pattern: { ...pattern, 'detail-type': [...pattern['detail-type']].sort(), detail: ofItsTable(pattern.detail) },
    input: target.InputPath ?? message(target.InputTransformer),
  });
  const own = [template.EventMessages, template.EventMessagesOfOlderCommands].map(sends);
  const { stack, lockstep, topic } = scene();
  new LockstepAlerts(stack, 'Alerts', { lockstep, topic });
  const rules = resources(stack).filter((one) => one.Type === 'AWS::Events::Rule' && one.Properties.EventPattern?.detail?.message);
  assert.deepEqual(rules.map(sends).sort(), [...own, ...own].sort());
});

test('alerts of failed runs alone do not send what a Run Failed repeats', () => {
  const { stack, lockstep, topic } = scene();
  new LockstepAlerts(stack, 'Alerts', { lockstep, topic, detailTypes: ['Lockstep Run Failed'] });
  const patterns = resources(stack).filter((one) => one.Type === 'AWS::Events::Rule').map((one) => one.Properties.EventPattern);
  const failed = patterns.filter((pattern) => pattern?.['detail-type']?.join() === 'Lockstep Run Failed');
  assert.deepEqual(failed.map((pattern) => ofItsTable(pattern.detail)), [{ table: ['<LockTable>', { exists: false }], message: { source: ['custom'] } }]);
});

test('a task goes by its family, so that a run that waits starts the revision that is deployed meanwhile', () => {
  const { stack, lockstep, taskDefinition, cluster } = scene();
  new ExclusiveRun(stack, 'Run', { lockstep, taskDefinition, cluster, lockName: 'report' });
  assert.equal(new ExclusiveRun(stack, 'Other', { lockstep, taskDefinition, cluster, lockName: 'other' }).input().work.runTask.TaskDefinition, taskDefinition.family);
  const allowed = (resources: Json[]) => resources.filter((one) => one.Type === 'AWS::IAM::Policy')
    .flatMap((one) => one.Properties.PolicyDocument.Statement).filter((one: Json) => one.Action === 'ecs:RunTask').map((one: Json) => one.Resource);
  const every = `arn:<AWS::Partition>:ecs:<AWS::Region>:<AWS::AccountId>:task-definition/${taskDefinition.family}:*`;
  assert.deepEqual(allowed(resources(stack)), [every, every]);
});

for (const [kind, arn, allowed] of [
  ['without a revision', 'report', 'report:*'], ['with a revision', 'report:7', 'report:7'],
] as const) {
  test(`an imported task definition ${kind} is started as it is named`, () => {
    const { stack, lockstep, cluster } = scene();
    const definition = (name: string) => `arn:aws:ecs:eu-west-1:111122223333:task-definition/${name}`;
    const taskDefinition = ecs.FargateTaskDefinition.fromFargateTaskDefinitionAttributes(stack, 'Imported', {
      taskDefinitionArn: definition(arn), networkMode: ecs.NetworkMode.AWS_VPC,
      taskRole: iam.Role.fromRoleName(stack, 'ImportedRole', 'report-task'),
    });
    const run = new ExclusiveRun(stack, 'Run', { lockstep, taskDefinition, cluster, lockName: 'report' });
    assert.equal(run.input().work.runTask.TaskDefinition, definition(arn));
    assert.ok(JSON.stringify(resources(stack)).includes(`"${definition(allowed)}"`));
  });
}

test('a batch on a schedule is that of schedule.yaml', () => {
  const { stack, lockstep, taskDefinition, cluster } = scene();
  const group = ec2.SecurityGroup.fromSecurityGroupId(stack, 'Group', 'sg-1');
  new ExclusiveEcsBatch(stack, 'Batch', {
    lockstep, taskDefinition, cluster, schedule: DAILY, lockName: 'hourly-report', maxRun: Duration.hours(2), securityGroups: [group],
  });
  const made = resources(stack).find((one) => one.Type === 'AWS::Scheduler::Schedule')!.Properties.Target;
  const input = JSON.parse(made.Input);
  const example = new Evaluator(readTemplate('infra/examples/schedule.yaml'), {
    ClusterArn: input.work.runTask.Cluster, TaskDefinitionArn: input.work.runTask.TaskDefinition, ContainerName: 'app',
    SubnetIds: ['subnet-private'], SecurityGroupIds: ['sg-1'],
  }).resources().HourlyBatch.Properties.Target;
  assert.deepEqual(input, JSON.parse(example.Input));
  assert.deepEqual(made.RetryPolicy, example.RetryPolicy);
});

test('every option of a lock is a prop, and a field of the input', () => {
  const { stack, lockstep, stateMachine } = scene();
  const run = new ExclusiveRun(stack, 'Run', { lockstep, stateMachine, ...EVERY_LOCK_OPTION });
  const fields = Object.keys(INPUT.properties).filter((name) => !NO_PROP.includes(name));
  assert.deepEqual(Object.keys(run.input()).filter((name) => name !== 'work').sort(), fields.sort());
  assert.equal(fields.length, Object.keys(EVERY_LOCK_OPTION).length);
});
