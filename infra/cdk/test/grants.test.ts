/** What a grant gives is what the managed policies and the policies of infra/team.yaml give. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { App } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { ExclusiveRun, ExclusiveRunProps, Lockstep } from 'lockstep-cdk';
import { Evaluator, Json, readTemplate } from './cloudformation';
import { facts, permissions } from './facts';
import { Scene, scene } from './scene';
import { lockstepIn, newStack, synthesized } from './stacks';

const CLUSTERS = ['arn:aws:ecs:eu-west-1:111122223333:cluster/batch-*'];

/** The statements of a role after a grant, and those of the managed policies beside it. */
function granted(grant: (lockstep: Lockstep, role: iam.Role) => void): [string[], (id: string) => string[]] {
  const stack = newStack();
  const role = new iam.Role(stack, 'Role', { assumedBy: new iam.ServicePrincipal('ecs-tasks.amazonaws.com') });
  grant(lockstepIn(stack, { clusterArns: CLUSTERS }), role);
  const nameOf = (id: string) => id.replace(/^(?:Lockstep)?(.+)[0-9A-F]{8}$/, '$1');
  const resources = new Evaluator(synthesized(stack), {}, nameOf).resources();
  const statements = (id: string) => permissions(resources[id].Properties.PolicyDocument.Statement);
  return [statements('RoleDefaultPolicy'), statements];
}

test('grantContainer gives what TaskLockPolicy of a team gives', () => {
  const team = new Evaluator(readTemplate('infra/team.yaml'), { LockPrefix: 'orders/', LockTableName: 'T', ClusterArns: CLUSTERS.join() });
  // The team's executions are others than those of this stack.
  const compared = (lines: string[]) => lines.filter((line) => !line.includes('states:')).map((line) =>
    line.replace('<LockTable.Arn>', 'arn:<AWS::Partition>:dynamodb:<AWS::Region>:<AWS::AccountId>:table/T'));
  const expected: Json = team.resources().TaskLockPolicy.Properties.PolicyDocument.Statement;
  const [role, managed] = granted((lockstep, grantee) => lockstep.grantContainer(grantee, 'orders/'));
  assert.deepEqual(compared(role).sort(), compared(permissions(expected)).sort());
  const executions = (lines: string[]) => lines.filter((line) => line.includes('states:'));
  assert.deepEqual(executions(role), executions(managed('TaskLockPolicy')));
});

for (const [grant, policy] of [['grantTaskProtection', 'TaskProtectionPolicy'],
  ['grantOperate', 'OperatorPolicy'], ['grantView', 'ViewerPolicy']] as const) {
  test(`${grant} gives what ${policy} gives`, () => {
    const [role, managed] = granted((lockstep, grantee) => lockstep[grant](grantee));
    assert.deepEqual(role, managed(policy));
  });
}

test('each function is granted alone', () => {
  const grants = { grantAcquire: 'AcquireLock', grantHeartbeat: 'Heartbeat', grantRelease: 'ReleaseLock', grantCheckRunningExecutions: 'CheckRunningExecutions' };
  for (const [grant, name] of Object.entries(grants)) {
    const [role] = granted((lockstep, grantee) => lockstep[grant as keyof typeof grants](grantee));
    assert.deepEqual(role, permissions([{ Effect: 'Allow', Action: 'lambda:InvokeFunction', Resource: `<${name}Function.Arn>` }]));
  }
});

test('grantRun gives what the callers of infra/examples/workflows.yaml have', () => {
  const example = new Evaluator(readTemplate('infra/examples/workflows.yaml'), {}).resources();
  const caller = Object.values(example).find((one) => one.Type === 'AWS::IAM::Role' && JSON.stringify(one).includes('StopExecution'))!;
  const statements = caller.Properties.Policies.flatMap((policy: Json) => policy.PolicyDocument.Statement);
  const actions = (lines: string[]) => lines.map((line) => JSON.parse(line)[2]).sort();
  const [role] = granted((lockstep, grantee) => lockstep.grantRun(grantee));
  assert.deepEqual(actions(role), actions(permissions(statements)));
});

/** What the role of an exclusive-run may do, without the functions, which are others in each template. */
function ofRole(lines: string[]): string[] {
  return lines.filter((line) => !line.includes('lambda:InvokeFunction')).sort();
}

/** The role of a run, and that of a team with the same work in its lists. */
function beside(props: (parts: Scene) => Partial<ExclusiveRunProps>, lists: { [parameter: string]: string }): [string[], string[]] {
  const parts = scene();
  new ExclusiveRun(parts.stack, 'Run', { lockstep: parts.lockstep, lockName: 'report', ...props(parts) });
  const nameOf = (id: string) => id.replace(/[0-9A-F]{8}$/, '');
  const made = new Evaluator(synthesized(parts.stack), {}, nameOf).resources();
  const { roles } = facts(Object.fromEntries(Object.entries(made).filter(([id]) => id.startsWith('Run'))), {}, App.of(parts.stack)!.outdir);
  const team = new Evaluator(readTemplate('infra/team.yaml'), { LockPrefix: 'orders/', ClusterArns: 'none', ...lists });
  const policies = Object.entries(team.resources()).filter(([, one]) => /^AWS::IAM::(Role|Policy)$/.test(one.Type));
  return [ofRole(roles.RunExclusiveRunRole.permissions), ofRole(facts(Object.fromEntries(policies)).roles.ExclusiveRunRole.permissions)];
}

test('a run of a task may do what a team with this task may do, but for tags and unnamed containers', () => {
  const [run, team] = beside(({ taskDefinition, cluster }) => ({ taskDefinition, cluster }), {
    TaskDefinitionArns: 'arn:<AWS::Partition>:ecs:<AWS::Region>:<AWS::AccountId>:task-definition/TestTask65AB24DD:*',
    TaskRoleArns: 'arn:<AWS::Partition>:iam::<AWS::AccountId>:role/report-task',
    ClusterArns: 'arn:<AWS::Partition>:ecs:<AWS::Region>:<AWS::AccountId>:cluster/batches',
  });
  assert.deepEqual(run, team.filter((line) => !/ecs:TagResource|ecs:DescribeTaskDefinition/.test(line)));
});

test('a run of a workflow may do what a team with this workflow may do, to the executions that it names', () => {
  const workflow = 'arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:stateMachine:nightly-etl';
  const [run, team] = beside(({ stateMachine }) => ({ stateMachine }), { GuardedWorkflowArns: workflow });
  assert.deepEqual(run, team.map((line) => line.replace('execution:nightly-etl:*', 'execution:nightly-etl:lockstep-*')).sort());
});
