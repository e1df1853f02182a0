import assert from 'node:assert/strict';
import { test } from 'node:test';
import { App, Duration, Stack } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as events from 'aws-cdk-lib/aws-events';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { LockstepProps, LockstepSlackChannel, LogLevel } from 'lockstep-cdk';
import { Evaluator, Json, readTemplate } from './cloudformation';
import { everythingStack, minimalStack } from './everything';
import { facts } from './facts';
import { lockstepIn, newStack, synthesized } from './stacks';

const SAM = readTemplate('infra/template.yaml');

const CLUSTERS = ['arn:aws:ecs:eu-west-1:111122223333:cluster/batch-*', 'arn:aws:ecs:eu-west-1:111122223333:cluster/etl'];
const WORKFLOWS = ['arn:aws:states:eu-west-1:111122223333:stateMachine:etl-*', 'arn:aws:states:eu-west-1:111122223333:stateMachine:report'];
const TASKS = ['arn:aws:ecs:eu-west-1:111122223333:task-definition/report:*'];
const ROLES = ['arn:aws:iam::111122223333:role/batches/*'];
const KEY = 'arn:aws:kms:eu-west-1:111122223333:key/11112222-3333-4444-5555-666677778888';
const WORKFLOW_KEYS = [1, 2].map((number) => KEY.replace(/8$/, `${number}`));
const BOUNDARY = 'arn:aws:iam::111122223333:policy/boundary';
const GUARDED = ['arn:aws:states:eu-west-1:111122223333:stateMachine:nightly-*'];

/** Each parameter with a value that is not its default, and the same as props. */
const PARAMETERS: { [name: string]: [string, (stack: Stack) => Partial<LockstepProps>] } = {
  TaskDefinitionArns: [TASKS.join(), () => ({ taskDefinitionArns: TASKS })],
  TaskRoleArns: [ROLES.join(), () => ({ taskRoleArns: ROLES })],
  ClusterArns: [CLUSTERS.join(), () => ({ clusterArns: CLUSTERS })],
  GuardedWorkflowArns: [GUARDED.join(), () => ({ guardedWorkflowArns: GUARDED })],
  WorkflowArns: [WORKFLOWS.join(), () => ({ workflowArns: WORKFLOWS })],
  Architecture: ['x86_64', () => ({ architecture: lambda.Architecture.X86_64 })],
  LogLevel: ['debug', () => ({ logLevel: LogLevel.DEBUG })],
  MetricsPerLock: ['true', () => ({ metricsPerLock: true })],
  EventBusName: ['batches', (stack) => ({ eventBus: events.EventBus.fromEventBusName(stack, 'Bus', 'batches') })],
  RunEvents: ['true', () => ({ runEvents: true })],
  RunRetentionDays: ['365', () => ({ runRetention: Duration.days(365) })],
  RunKeyRetentionDays: ['2', () => ({ runKeyRetention: Duration.days(2) })],
  LogRetentionDays: ['90', () => ({ logRetention: logs.RetentionDays.THREE_MONTHS })],
  EventRetentionDays: ['7', () => ({ eventRetention: logs.RetentionDays.ONE_WEEK })],
  Alarms: ['false', () => ({ alarms: false })],
  AlarmEmail: ['oncall@example.com', () => ({ alarmEmail: 'oncall@example.com' })],
  AlarmKmsKeyArn: [KEY, (stack) => ({ alarmKey: kms.Key.fromKeyArn(stack, 'Key', KEY) })],
  RunbookUrl: ['https://wiki.example.com/{lock}', () => ({ runbookUrl: 'https://wiki.example.com/{lock}' })],
  SkippedRunsPerHour: ['12', () => ({ skippedRunsPerHour: 12 })],
  WorkflowKmsKeyArns: [WORKFLOW_KEYS.join(), (stack) => ({
    workflowKeys: WORKFLOW_KEYS.map((arn, number) => kms.Key.fromKeyArn(stack, `WorkflowKey${number}`, arn)),
  })],
  PermissionsBoundaryArn: [BOUNDARY, (stack) => ({ permissionsBoundary: iam.ManagedPolicy.fromManagedPolicyArn(stack, 'Boundary', BOUNDARY) })],
  RolePath: ['/batches/', () => ({ rolePath: '/batches/' })],
  KmsKeyArn: [KEY.replace(/8$/, '9'), (stack) => ({ key: kms.Key.fromKeyArn(stack, 'OwnKey', KEY.replace(/8$/, '9')) })],
  ...network(),
};

/** Two parameters that belong together: without one of them there is no network. */
function network(): { [name: string]: [string, (stack: Stack) => Partial<LockstepProps>] } {
  const props = (stack: Stack) => ({
    vpc: ec2.Vpc.fromVpcAttributes(stack, 'Vpc', { vpcId: 'vpc-1', availabilityZones: ['a', 'b'], privateSubnetIds: ['subnet-0a1b2c3d', 'subnet-1a2b3c4d'] }),
    securityGroups: [ec2.SecurityGroup.fromSecurityGroupId(stack, 'Group', 'sg-0a1b2c3d', { mutable: false })],
  });
  return { SubnetIds: ['subnet-0a1b2c3d,subnet-1a2b3c4d', props], SecurityGroupIds: ['sg-0a1b2c3d', () => ({})] };
}

/** `Lockstep` followed by the id and eight digits: construct ids are the logical ids of the SAM template. */
function nameOf(logicalId: string): string {
  return logicalId.replace(/^Lockstep(.+)[0-9A-F]{8}$/, '$1');
}

function ofSam(parameters: { [name: string]: string }): [Json, Json] {
  const evaluator = new Evaluator(SAM, { 'AWS::StackName': 'Test', ...parameters });
  return [facts(evaluator.resources(), evaluator.value(SAM.Globals.Function)), evaluator.exports()];
}

function ofCdk(props: (stack: Stack) => Partial<LockstepProps>): [Json, Json] {
  const stack = newStack();
  lockstepIn(stack, props(stack));
  const evaluator = new Evaluator(synthesized(stack), { 'AWS::StackName': 'Test' }, nameOf);
  return [facts(evaluator.resources(), {}, App.of(stack)!.outdir), evaluator.exports()];
}

test('the constructs have the version of the template', () => {
  const stack = newStack();
  lockstepIn(stack, {});
  assert.equal(synthesized(stack).Outputs.LockstepVersion.Value, SAM.Outputs.LockstepVersion.Value);
});

/** A region has ten for everything in an account, so a stack must not need one. */
test('no stack has a log policy of the account', () => {
  for (const template of [SAM, synthesized(minimalStack()), synthesized(everythingStack())]) {
    const types = Object.values<Json>(template.Resources).map(({ Type }) => Type);
    assert.ok(types.includes('AWS::Logs::LogGroup'));
    assert.deepEqual(types.filter((type) => /^(AWS::Logs::|Custom::.*Log)ResourcePolicy$/.test(type)), []);
  }
});

test('every parameter has a prop', () => {
  assert.deepEqual(Object.keys(PARAMETERS).sort(), Object.keys(SAM.Parameters).sort());
});

test('the defaults make what the SAM template makes', () => {
  assert.deepEqual(ofCdk(() => ({})), ofSam({}));
});

/** The template and the construct with all parameters, without those that are named. */
function both(...without: string[]): [Json, Json] {
  const left = without.map((name) => (name === 'SecurityGroupIds' ? 'SubnetIds' : name));
  const given = Object.entries(PARAMETERS).filter(([name]) => !left.includes(name));
  const props = (stack: Stack) => Object.assign({}, ...given.map(([, [, of]]) => of(stack)));
  return [ofCdk(props), ofSam(Object.fromEntries(given.map(([name, [value]]) => [name, value])))];
}

const [ALL, ALL_OF_SAM] = both();

test('all parameters together make what the SAM template makes', () => {
  assert.deepEqual(ALL, ALL_OF_SAM);
});

for (const name of Object.keys(PARAMETERS)) {
  test(`${name} changes what the parameter of the SAM template changes`, () => {
    // Without alarms there is none to be changed.
    const others = name === 'SkippedRunsPerHour' ? ['Alarms'] : [];
    const [cdk, sam] = both(name, ...others);
    assert.notDeepEqual(sam, both(...others)[1]);
    assert.deepEqual(cdk, sam);
  });
}

/** The outputs of the Lockstep stack that infra/slack.yaml imports, as the construct refers to them. */
const IMPORTS: { [output: string]: string } = {
  AlarmTopicArn: 'AlarmTopic', LockTableName: 'LockTable', ViewerPolicyArn: 'ViewerPolicy', OperatorPolicyArn: 'OperatorPolicy',
  ViewFunctionArn: 'ViewFunction.Arn', OperateFunctionArn: 'OperateFunction.Arn',
};

for (const operates of [false, true]) {
  test(`LockstepSlackChannel makes what infra/slack.yaml makes, ${operates ? 'to act' : 'to see'}`, () => {
    const [workspaceId, channelId] = ['T012ABCDEFG', 'C012ABCDEFG'];
    const given = { SlackWorkspaceId: workspaceId, SlackChannelId: channelId, SlackOperates: String(operates), LockstepStackName: 'Test' };
    const sam = facts(new Evaluator(readTemplate('infra/slack.yaml'), given).resources());
    const stack = newStack();
    new LockstepSlackChannel(stack, 'Slack', { lockstep: lockstepIn(stack, {}), workspaceId, channelId, operates });
    const nameOf = (id: string) => id.replace(/^(Slack|Lockstep)(.+)[0-9A-F]{8}$/, '$2');
    const made = new Evaluator(synthesized(stack), { 'AWS::StackName': 'Test' }, nameOf).resources();
    const own = Object.fromEntries(Object.entries(made).filter(([name]) => ['Role', 'Channel', 'Show', 'Pause', 'Evict'].includes(name)));
    const imported = JSON.stringify(sam).replace(/<Test-(\w+)>/g, (_: string, output: string) => `<${IMPORTS[output]}>`);
    assert.deepEqual(JSON.parse(JSON.stringify(facts(own))), JSON.parse(imported));
    assert.equal(Object.keys(own).length, operates ? 5 : 3);
  });
}
