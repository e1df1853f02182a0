/** Every finding of cdk-nag's AwsSolutions rules has a reason, and every reason a finding. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Aspects, Stack } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { everythingStack } from './everything';

/** The parts of the scene, which are the user's. */
const OF_THE_USER = /^\/Test\/(Task|Ec2Task|Caller)\//;

const REASONS: [RegExp, string][] = [
  [/^SF1$/, 'The input may contain what the user passes to the task. Errors are logged, without execution data.'],
  [/^SF2$/, 'Each log line of a function names the lock and the holder, the execution. A trace would be billed for each heartbeat.'],
  [/^SQS3$/, 'The queue is itself the dead-letter queue.'],
  [/^SQS4$/, 'EventBridge and Scheduler are the only senders, and they use TLS.'],
  [/^SNS3$/, 'CloudWatch and EventBridge are the only senders, and they use TLS.'],
  [/^IAM5\[Resource::\*\]$/, 'Log delivery, SendTaskSuccess, DescribeTaskDefinition and DescribeResourcePolicies have no resource type; ListTasks has the condition ecs:cluster.'],
  [/^IAM5\[.*:execution:\*\]$/, 'Any workflow may hold a lock, and a dead one has to free it: decision 0017. Descriptions only.'],
  [/^IAM5\[.*:(execution|stateMachine):Test-team-\*(:\*)?\]$/, 'State machines that take the name of this stack: decision 0022.'],
  [/^IAM5\[.*:lockstep-\*\]$/, 'Executions that an exclusive-run has named.'],
  [/^IAM5\[.*:execution:(<.*>|\{.*\}):\*\]$/, 'The executions of one state machine.'],
  [/^IAM5\[.*:stateMachine:\*\]$/, 'ListExecutions returns names and times. workflowArns limits it.'],
  [/^IAM5\[.*:stack\/Test\/\*\]$/, 'The id of this stack is not known when it is described by its name.'],
  [/^IAM5\[.*:task-definition\/Test(Ec2)?Task[0-9A-F]{8}:\*\]$/, 'A run that waits starts the revision that is deployed meanwhile: the permission is that of a family.'],
  [/^IAM5\[.*:service\/\*\]$/, 'A worker reads the deployments of its own service, whose name is not known here. The condition ecs:cluster limits it.'],
  [/^IAM5\[.*:(scheduler|events):.*:(schedule|rule)\/\*\]$/, 'An operator names the schedule whose run is started. Reads only.'],
  [/^IAM5\[.*:task\/\*\]$/, 'The id of a task is not known before it starts. The condition ecs:cluster limits it.'],
];

function findings(stack: Stack): [string, string][] {
  Aspects.of(stack).add(new AwsSolutionsChecks());
  const annotations = Annotations.fromStack(stack);
  const pattern = Match.stringLikeRegexp('AwsSolutions-');
  return [...annotations.findError('*', pattern), ...annotations.findWarning('*', pattern)]
    .filter((message) => !OF_THE_USER.test(message.id))
    .map((message): [string, string] => [/AwsSolutions-(\w+(\[.*?\](?=:))?)/s.exec(String(message.entry.data))![1], message.id]);
}

test('findings and reasons belong together', () => {
  const found = findings(everythingStack());
  const reasons = found.map(([rule, place]) => ({ rule, place, fits: REASONS.filter(([form]) => form.test(rule)).length }));
  assert.deepEqual(reasons.filter(({ fits }) => fits !== 1), []);
  assert.deepEqual(REASONS.filter(([form]) => !found.some(([rule]) => form.test(rule))), []);
});
