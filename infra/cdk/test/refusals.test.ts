/** A prop that breaks a rule is refused with one error, which names the construct, the prop, the value and the rule. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { App, Duration, NestedStack, Stack } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as ecs from 'aws-cdk-lib/aws-ecs';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { CatchUp, ExclusiveRun, ExclusiveRunProps, Lockstep, LockstepProps, LockstepSlackChannel, OverlapPolicy } from 'lockstep-cdk';
import { Scene, scene } from './scene';
import { lockstepIn, newStack } from './stacks';

const LOCKSTEP: [Partial<LockstepProps>, string][] = [
  [{ functionsPath: '/nowhere' }, 'prop functionsPath is "/nowhere", but must have acquire-lock/bootstrap.zip or acquire-lock/bootstrap, from cargo lambda build'],
  [{ functionsPath: undefined }, 'prop functionsPath is missing, but must be given: this package has no functions for arm64'],
  [{ runRetention: Duration.hours(36) }, 'prop runRetention is 1 day 12 hours, but must be whole days from 1 to 365'],
  [{ runRetention: Duration.days(366) }, 'prop runRetention is 366 days, but must be whole days from 1 to 365'],
  [{ runKeyRetention: Duration.days(366) }, 'prop runKeyRetention is 366 days, but must be whole days from 1 to 365'],
  [{ clusterArns: ['batches'] }, 'prop clusterArns is "batches", but must be the ARN of an ECS cluster'],
  [{ taskDefinitionArns: ['arn:aws:ecs:eu-west-1:111122223333:task-definition/report'] },
    'prop taskDefinitionArns is "arn:aws:ecs:eu-west-1:111122223333:task-definition/report", but must be the ARN of a task definition that ends with a revision or with *'],
  [{ taskRoleArns: ['report'] }, 'prop taskRoleArns is "report", but must be the ARN of an IAM role'],
  [{ guardedWorkflowArns: ['etl'] }, 'prop guardedWorkflowArns is "etl", but must be the ARN of a state machine'],
  [{ rolePath: 'batches' }, 'prop rolePath is "batches", but must begin and end with a slash'],
  [{ securityGroups: [] }, 'prop securityGroups is given, but must be left out without vpc'],
  [{ runbookUrl: 'http://wiki' },
    'prop runbookUrl is "http://wiki", but must begin with https://, have at most 512 characters, no spaces, and braces in {lock} only'],
  [{ runbookUrl: 'https://wiki/{name}' },
    'prop runbookUrl is "https://wiki/{name}", but must begin with https://, have at most 512 characters, no spaces, and braces in {lock} only'],
  [{ skippedRunsPerHour: 0 }, 'prop skippedRunsPerHour is 0, but must be a whole number from 1 to 100000'],
  [{ workflowArns: ['etl'] }, 'prop workflowArns is "etl", but must be the ARN of a state machine'],
  [{ clusterArns: Array(9).fill('arn:aws:ecs:eu-west-1:111122223333:cluster/a-cluster-of-a-long-name') },
    'prop clusterArns is 611 characters long, joined by commas, but must be at most 512: a * stands for any characters'],
];

for (const [props, message] of LOCKSTEP) {
  test(`Lockstep: ${message.slice(0, 60)}`, () => {
    assert.throws(() => lockstepIn(newStack(), props), { message: `Test/Lockstep: ${message}` });
  });
}

const RUN: [(scene: Scene) => Partial<ExclusiveRunProps>, string][] = [
  [() => ({ lockName: 'nightly report' }), 'prop lockName is "nightly report", but must be 1 to 128 of A-Z a-z 0-9 . _ - / :'],
  [() => ({ permits: 1.5 }), 'prop permits is 1.5, but must be a whole number from 1 to 100'],
  [() => ({ lease: Duration.millis(3500) }), 'prop lease is 3 seconds 500 millis, but must be whole seconds from 3 to 86400'],
  [() => ({ heartbeat: Duration.seconds(59) }), 'prop heartbeat is 59 seconds, but must be at most 58 seconds, two seconds shorter than the lease'],
  [() => ({ maxQueue: 5 }), 'prop maxQueue is 5, but must be left out without OverlapPolicy.QUEUE'],
  [() => ({ maxWait: Duration.hours(1), overlap: OverlapPolicy.FAIL }), 'prop maxWait is 1 hour, but must be left out without OverlapPolicy.QUEUE or REPLACE, PausedPolicy.WAIT or CatchUp.ONCE'],
  [() => ({ catchUp: CatchUp.ONCE, overlap: OverlapPolicy.REPLACE }), 'prop catchUp is "once", but must be left out without PausedPolicy.SKIP or WAIT'],
  [() => ({ stateMachine: undefined }), 'prop taskDefinition is missing, but must be given, or stateMachine'],
  [({ taskDefinition }) => ({ taskDefinition }), 'prop taskDefinition is given, but must be left out with stateMachine'],
  [({ cluster }) => ({ cluster }), 'prop cluster is given, but must be left out with stateMachine'],
  [({ taskDefinition }) => ({ taskDefinition, stateMachine: undefined }), 'prop cluster is missing, but must be given with taskDefinition'],
  [() => ({ containerName: 'app' }), 'prop containerName is "app", but must be left out with stateMachine'],
  [({ taskDefinition, cluster }) => ({ taskDefinition, cluster, stateMachine: undefined, grantField: 'lockstep' }), 'prop grantField is "lockstep", but must be left out with taskDefinition'],
  [({ stack, cluster }) => ({ taskDefinition: new ecs.Ec2TaskDefinition(stack, 'Bridge'), cluster, stateMachine: undefined, vpcSubnets: { subnetType: ec2.SubnetType.PUBLIC } }),
    'prop vpcSubnets is given, but must be left out with the network mode bridge: it needs awsvpc'],
  [({ stack, cluster }) => ({ taskDefinition: new ecs.Ec2TaskDefinition(stack, 'Empty'), cluster, stateMachine: undefined, command: ['report'] }),
    'prop containerName is missing, but must name the container of command and environment'],
];

for (const [props, message] of RUN) {
  test(`ExclusiveRun: ${message.slice(0, 60)}`, () => {
    const given = scene();
    const run = () => new ExclusiveRun(given.stack, 'Run', {
      lockstep: given.lockstep, stateMachine: given.stateMachine, lockName: 'nightly-report', ...props(given),
    });
    assert.throws(run, { message: `Test/Run: ${message}` });
  });
}

test('a target takes no input', () => {
  const { stack, lockstep, stateMachine } = scene();
  const run = new ExclusiveRun(stack, 'Run', { lockstep, stateMachine, lockName: 'etl' });
  const input = scheduler.ScheduleTargetInput.fromText('{}');
  assert.throws(() => run.scheduleTarget({ input }), { message: 'Test/Run: prop input is given, but must be left out: it is the input of the run' });
});

test('a prefix of containers is the beginning of a lock name', () => {
  const { lockstep, taskDefinition } = scene();
  assert.throws(() => lockstep.grantContainer(taskDefinition.taskRole, '#'), {
    message: 'Test/Lockstep: prop lockPrefix is "#", but must be 1 to 128 of A-Z a-z 0-9 . _ - / :',
  });
});

test('a stack has one Lockstep, and a name of its own', () => {
  const { stack } = scene();
  const inside = (parent: Stack) => () => new Lockstep(parent, 'Second', { functionsPath: '/nowhere' });
  assert.throws(inside(stack), { message: 'Test/Second: the stack already has a Lockstep, Test/Lockstep, but must have one at most' });
  assert.throws(inside(new NestedStack(stack, 'Nested')), {
    message: 'Test/Nested/Second: the stack has a name that is made at deploy time, but must have one of its own: no nested stack',
  });
});

test('the name of a state machine has room for that of the stack', () => {
  const named = (length: number) => {
    const stack = new Stack(new App(), 'S'.repeat(length));
    const stateMachine = sfn.StateMachine.fromStateMachineName(stack, 'Etl', 'etl');
    return new ExclusiveRun(stack, 'Run', { lockstep: lockstepIn(stack), stateMachine, lockName: 'etl' });
  };
  named(41);
  assert.throws(() => named(42), /: the name of the stack of Lockstep is "S+", but must have at most 41 characters/);
});

test('LockstepSlackChannel: the name of a channel is no id', () => {
  const { stack, lockstep } = scene();
  const channel = (workspaceId: string, channelId: string) => () => new LockstepSlackChannel(stack, 'Slack', { lockstep, workspaceId, channelId });
  assert.throws(channel('T1', '#ops'), { message: 'Test/Slack: prop channelId is "#ops", but must be the id of a Slack channel, such as C012ABCDEFG' });
  stack.node.tryRemoveChild('Slack');
  assert.throws(channel('team', 'C1'), { message: 'Test/Slack: prop workspaceId is "team", but must be the id of a Slack workspace, such as T012ABCDEFG' });
});
