import { Duration, Stack } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as ecs from 'aws-cdk-lib/aws-ecs';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { CatchUp, LockOptions, Lockstep, OverlapPolicy, PausedPolicy, QueueFullPolicy, SkipOutcome, StalePolicy } from 'lockstep-cdk';
import { lockstepIn, newStack } from './stacks';

/** What a user has: a cluster, a task definition, a workflow and a topic, beside a Lockstep. */
export interface Scene {
  readonly stack: Stack;
  readonly lockstep: Lockstep;
  readonly cluster: ecs.ICluster;
  readonly taskDefinition: ecs.TaskDefinition;
  readonly stateMachine: sfn.IStateMachine;
  readonly topic: sns.ITopic;
}

/** A new scene. Its parts are imported where a test gives none. */
export function scene(props: { metricsPerLock?: boolean } = {}): Scene {
  const stack = newStack();
  const vpc = ec2.Vpc.fromVpcAttributes(stack, 'Vpc', {
    vpcId: 'vpc-1', availabilityZones: ['a'], privateSubnetIds: ['subnet-private'], publicSubnetIds: ['subnet-public'],
  });
  const taskDefinition = new ecs.FargateTaskDefinition(stack, 'Task', {
    taskRole: iam.Role.fromRoleName(stack, 'TaskRole', 'report-task'),
  });
  taskDefinition.addContainer('app', { image: ecs.ContainerImage.fromRegistry('report') });
  return {
    stack,
    lockstep: lockstepIn(stack, props),
    cluster: ecs.Cluster.fromClusterAttributes(stack, 'Cluster', { clusterName: 'batches', vpc }),
    taskDefinition,
    stateMachine: sfn.StateMachine.fromStateMachineName(stack, 'Workflow', 'nightly-etl'),
    topic: sns.Topic.fromTopicArn(stack, 'Topic', 'arn:aws:sns:eu-west-1:111122223333:oncall'),
  };
}

/** Every option of a lock. */
export const EVERY_LOCK_OPTION: Required<LockOptions> = {
  lockName: 'nightly-report',
  permits: 3,
  lease: Duration.seconds(90),
  heartbeat: Duration.seconds(20),
  maxHeartbeat: Duration.minutes(10),
  minInterval: Duration.minutes(10),
  expectEvery: Duration.days(2),
  overlap: OverlapPolicy.QUEUE,
  onPaused: PausedPolicy.SKIP,
  catchUp: CatchUp.ONCE,
  maxQueue: 12,
  whenQueueFull: QueueFullPolicy.SKIP,
  maxWait: Duration.hours(6),
  maxRun: Duration.hours(2),
  noProgress: Duration.minutes(15),
  stalePolicy: StalePolicy.YIELD,
  onSkip: SkipOutcome.FAIL,
};

/** Six o'clock, every day. */
export const DAILY = scheduler.ScheduleExpression.cron({ hour: '6', minute: '0' });
