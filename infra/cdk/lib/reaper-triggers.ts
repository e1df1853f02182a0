import { Duration } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { ofTable } from './event-messages';
import { LockstepProps } from './lockstep-props';

/** Adds the events and the sweep that invoke the reaper. Returns the queue with events that could not be delivered or processed. */
export function addReaperTriggers(scope: Construct, reaper: lambda.Function, table: dynamodb.ITable, { eventBus, key }: LockstepProps): sqs.Queue {
  // The sweep finds dead holders without these events.
  const deadLetterQueue = new sqs.Queue(scope, 'RecoveryDeadLetters', {
    encryption: key ? sqs.QueueEncryption.KMS : sqs.QueueEncryption.SQS_MANAGED,
    encryptionMasterKey: key,
    retentionPeriod: Duration.days(14),
  });
  const invoke = (maxEventAge: Duration, retryAttempts: number) =>
    [new targets.LambdaFunction(reaper, { deadLetterQueue, maxEventAge, retryAttempts })];
  new events.Rule(scope, 'TaskStopped', {
    description: 'Invokes the reaper when a task that runs under a lock has stopped',
    eventPattern: {
      source: ['aws.ecs'],
      detailType: ['ECS Task State Change'],
      detail: { lastStatus: ['STOPPED'], group: events.Match.prefix('lockstep:') },
    },
    targets: invoke(Duration.hours(1), 20),
  });
  // Not SUCCEEDED, because a run that succeeds has released its permit. The reaper ignores an execution whose input names no lock.
  new events.Rule(scope, 'ExecutionFailed', {
    description: 'Invokes the reaper when an execution that may hold a lock has ended without success',
    eventPattern: {
      source: ['aws.states'],
      detailType: ['Step Functions Execution Status Change'],
      detail: { status: ['FAILED', 'TIMED_OUT', 'ABORTED'] },
    },
    targets: invoke(Duration.hours(1), 20),
  });
  // A container has no permission to end the waiting state of the workflow that it hands a permit over to.
  new events.Rule(scope, 'PermitHandedOver', {
    description: 'Invokes the reaper when a container has handed a permit over to a waiting workflow, or removed the workflow from the queue',
    eventBus,
    eventPattern: { source: ['lockstep'], detailType: ['Lockstep Permit Handed Over', 'Lockstep Waiter Sent Away'], detail: ofTable(table) },
    targets: invoke(Duration.minutes(1), 2),
  });
  new events.Rule(scope, 'Sweep', {
    description: 'Runs the sweep, in which the reaper checks every lock that is due',
    schedule: events.Schedule.rate(Duration.minutes(1)),
    targets: invoke(Duration.minutes(1), 2),
  });
  // Lambda discards an event after the last attempt, unless there is a destination.
  const policy = new iam.Policy(scope, 'ReaperDestinationPolicy', {
    roles: [reaper.role!],
    statements: [new iam.PolicyStatement({ actions: ['sqs:SendMessage'], resources: [deadLetterQueue.queueArn] })],
  });
  const config = new lambda.CfnEventInvokeConfig(scope, 'ReaperDestination', {
    functionName: reaper.functionName,
    qualifier: '$LATEST',
    maximumEventAgeInSeconds: 3600,
    maximumRetryAttempts: 2,
    destinationConfig: { onFailure: { destination: deadLetterQueue.queueArn } },
  });
  // Lambda refuses a destination to which the function may not send.
  config.node.addDependency(policy);
  return deadLetterQueue;
}
