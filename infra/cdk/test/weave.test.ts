/** The guard of ExclusiveStates is what `lockstep weave` weaves. LOCKSTEP names the command. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as path from 'node:path';
import { test } from 'node:test';
import { App, Duration, Stack } from 'aws-cdk-lib';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import * as tasks from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { CatchUp, ExclusiveStates, ExclusiveStatesProps, ExclusiveWorkflow, OverlapPolicy, PausedPolicy, QueueFullPolicy, SkipOutcome, StalePolicy } from 'lockstep-cdk';
import { Evaluator, Json, ROOT } from './cloudformation';
import { permissions } from './facts';
import { Scene, scene } from './scene';
import { synthesized } from './stacks';

const LOCKSTEP = process.env.LOCKSTEP ?? 'lockstep';
const WORK = { StartAt: 'Work', States: { Work: { Type: 'Pass', End: true } } };

function weave(flags: string[]): Json {
  const input = JSON.stringify(WORK);
  return JSON.parse(execFileSync(LOCKSTEP, ['weave', '-', ...flags], { input, encoding: 'utf8' }));
}

/** The definition of the only state machine but exclusive-run, with the functions under their construct ids. */
function definitionOf({ stack }: Scene): Json {
  const nameOf = (id: string) => id.replace(/^Lockstep(.+)[0-9A-F]{8}$/, '$1');
  const resources = Object.values(new Evaluator(synthesized(stack), {}, nameOf).resources());
  return JSON.parse(resources.find((one) => one.Properties?.DefinitionString)!.Properties.DefinitionString);
}

function pass(parts: Scene, id = 'Work'): sfn.Pass {
  return new sfn.Pass(parts.stack, id);
}

/** The woven machine in the state of ExclusiveStates, without the prefix of its states' names. */
function rendered(props: Partial<ExclusiveStatesProps>): Json {
  const parts = scene();
  new ExclusiveWorkflow(parts.stack, 'Nightly', { lockstep: parts.lockstep, lockName: 'NAME', states: pass(parts), ...props });
  const [branch] = definitionOf(parts).States.Exclusively.Branches;
  return JSON.parse(JSON.stringify(branch).replaceAll('"Exclusively: ', '"'));
}

const CASES: [string, Partial<ExclusiveStatesProps>, string[]][] = [
  ['no option', {}, []],
  ['every policy', {
    overlap: OverlapPolicy.QUEUE, permits: 3, lease: Duration.seconds(90), heartbeat: Duration.seconds(20), maxHeartbeat: Duration.minutes(10), maxRun: Duration.hours(2),
    stalePolicy: StalePolicy.YIELD, minInterval: Duration.minutes(10), maxQueue: 12, whenQueueFull: QueueFullPolicy.SKIP, maxWait: Duration.minutes(10), onSkip: SkipOutcome.FAIL,
  }, ['--overlap', 'queue', '--permits', '3', '--lease-seconds', '90', '--heartbeat-seconds', '20', '--max-heartbeat-seconds', '600', '--max-run-seconds', '7200',
    '--stale-policy', 'yield', '--min-interval-seconds', '600', '--max-queue', '12', '--when-queue-full', 'skip', '--wait-seconds', '600', '--on-skip', 'fail']],
  ['replace', { overlap: OverlapPolicy.REPLACE, runKey: '{% $states.input.day %}' }, ['--overlap', 'replace', '--run-key', '{% $states.input.day %}']],
  ['a wait for the resume', { onPaused: PausedPolicy.WAIT, maxWait: Duration.hours(1) }, ['--on-paused', 'wait', '--wait-seconds', '3600']],
  ['one run that catches up', { catchUp: CatchUp.ONCE }, ['--catch-up', 'once']],
  ['a lock by the input', { lockName: '{% $states.input.region %}' }, ['--lock', '{% $states.input.region %}']],
];

for (const [name, props, flags] of CASES) {
  test(`the guard with ${name} is that of lockstep weave`, () => {
    const functions = ['AcquireLock', 'Heartbeat', 'ReleaseLock'].flatMap((one) => ['--set', `${one}FunctionArn=<${one}Function.Arn>`]);
    const lock = flags.includes('--lock') ? [] : ['--lock', 'NAME'];
    const woven = weave([...lock, ...flags, ...functions, '--set', 'Partition=<AWS::Partition>']);
    delete woven.States['Request Lock'].Comment;
    assert.deepEqual(rendered(props), woven);
  });
}

test('guard.asl.json is as this version weaves it', () => {
  execFileSync(LOCKSTEP, ['weave', '--check', path.join(ROOT, 'infra', 'cdk', 'lib', 'guard.asl.json')]);
});

test('the role of the state machine may do what the states and the guard do', () => {
  const parts = scene();
  const purge = new tasks.CallAwsService(parts.stack, 'Purge', {
    service: 'sqs', action: 'purgeQueue', parameters: { QueueUrl: 'q' }, iamResources: ['arn:aws:sqs:eu-west-1:111122223333:q'],
  });
  new ExclusiveWorkflow(parts.stack, 'Nightly', { lockstep: parts.lockstep, lockName: 'NAME', states: purge.next(pass(parts)) });
  const policies = Object.entries<Json>(synthesized(parts.stack).Resources).filter(([id]) => id.startsWith('NightlyStateMachineRoleDefaultPolicy'));
  const lines = permissions(policies[0][1].Properties.PolicyDocument.Statement.map((one: Json) => JSON.parse(JSON.stringify(one))));
  const actions = lines.map((line) => JSON.parse(line)[2]).filter((action) => !action.startsWith('logs:'));
  assert.deepEqual(actions, ['lambda:InvokeFunction', 'lambda:InvokeFunction', 'lambda:InvokeFunction', 'sqs:purgeQueue']);
});

/** The names of all states, at any depth. */
function stateNames(node: Json): string[] {
  if (node === null || typeof node !== 'object') {
    return [];
  }
  return [...Object.keys(Array.isArray(node) ? {} : node.States ?? {}), ...Object.values(node).flatMap(stateNames)];
}

test('two locks after each other have states of different names, and a skip of the first fails', () => {
  const parts = scene();
  const { stack, lockstep } = parts;
  const first = new ExclusiveStates(stack, 'First', { lockstep, lockName: 'a', states: pass(parts, 'A') });
  const second = new ExclusiveStates(stack, 'Second', { lockstep, lockName: 'b', states: pass(parts, 'B') });
  new sfn.StateMachine(stack, 'Both', { definitionBody: sfn.DefinitionBody.fromChainable(first.next(second)) });
  const { States } = definitionOf(parts);
  const names = stateNames({ States });
  assert.equal(new Set(names).size, names.length);
  assert.equal(States.First.Next, 'Second');
  const onSkip = (name: string) => States[name].Branches[0].States[`${name}: Request Lock`].Assign.lockstepRequest.onSkip;
  assert.deepEqual([onSkip('First'), onSkip('Second')], ['fail', 'succeed']);
});

test('a lock within a lock has variables of its own', () => {
  const parts = scene();
  const { stack, lockstep } = parts;
  const inner = new ExclusiveStates(stack, 'Inner', { lockstep, lockName: 'inner', states: pass(parts) });
  new ExclusiveWorkflow(stack, 'Outer', { lockstep, lockName: 'outer', states: inner });
  const text = JSON.stringify(definitionOf(parts));
  assert.match(text, /"lockstepAsk":\{"lock":"inner"/);
  assert.match(text, /"lockstep2Ask":\{"lock":"outer"/);
});

test('a stack of the same app uses the Lockstep of another', () => {
  const parts = scene();
  const other = new Stack(parts.stack.node.scope as App, 'Other');
  new ExclusiveWorkflow(other, 'Nightly', { lockstep: parts.lockstep, lockName: 'NAME', states: new sfn.Pass(other, 'Work') });
  const machine = Object.values<Json>(synthesized(other).Resources).find((one) => one.Type === 'AWS::StepFunctions::StateMachine')!;
  assert.match(machine.Properties.StateMachineName, /^Test-team-Other-Nightly-/);
  assert.match(JSON.stringify(machine.Properties.DefinitionString), /Fn::ImportValue.*Test:.*AcquireLockFunction/);
});

test('states report no progress, and leave room for the names of the guard', () => {
  const parts = scene();
  const { stack, lockstep } = parts;
  const make = (id: string, props: Partial<ExclusiveStatesProps>) => () =>
    new ExclusiveStates(stack, id, { lockstep, lockName: 'NAME', states: pass(parts, `Work of ${id}`), ...props });
  assert.throws(make('Hung', { noProgress: Duration.minutes(5) }), {
    message: 'Test/Hung: prop noProgress is 5 minutes, but must be left out: states report no progress',
  });
  assert.throws(make('Long', { stateName: 'x'.repeat(58) }), /^Error: Test\/Long: prop stateName is "x+", but must have at most 57 characters/);
});
