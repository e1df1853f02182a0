import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as events from 'aws-cdk-lib/aws-events';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { addEventMessages, ofTable } from './event-messages';
import { LockstepProps } from './lockstep-props';
import { addMails, addMailTopic, MailOptions } from './mails';
import { allowPublishers } from './publishers';

/** What the alarms watch, and who receives them. */
export interface AlarmOptions extends MailOptions {
  readonly table: dynamodb.Table;
  readonly reaper: lambda.Function;
  readonly deadLetters: sqs.Queue;
  /** The log group of all events. */
  readonly eventLog: logs.ILogGroup;
  /** The functions that each run calls, by the start of the id of their log group. */
  readonly lockFunctions: { [id: string]: lambda.Function };
}

/** An alarm: its id, its section of docs/runbook.md, its metric and its threshold. */
interface Watched {
  readonly id: string;
  readonly section: string;
  readonly description: string;
  readonly namespace: string;
  readonly metricName: string;
  readonly dimensions?: { [name: string]: string };
  readonly statistic?: string;
  readonly period?: number;
  readonly evaluationPeriods?: number;
  readonly threshold: number;
  readonly comparisonOperator?: string;
  readonly treatMissingData?: string;
}

/** Kinds of events that have an alarm, each with the alarm's id, its section of docs/runbook.md and its description. */
const EVENT_ALARMS: { [kind: string]: [string, string, string] } = {
  'Lockstep Evidence Missing': ['EvidenceMissing', 'evidence-missing', 'Lockstep cannot determine whether the holder of a lock is dead.'],
  'Lockstep Lock Frozen': ['LockFrozen', 'lock-frozen', 'A lock froze and grants no permit until an operator resumes it.'],
  'Lockstep Lease Lost': ['LeaseLost', 'lease-lost', 'A run lost its lease during its work.'],
  'Lockstep Queue Full': ['QueueFull', 'queue-full', 'A run could not wait because the queue of its lock was full.'],
  'Lockstep Run Missing': ['RunMissing', 'run-missing', 'No run of a lock has succeeded within its expectEverySeconds.'],
};

/** The topic of the alarms, and the topic that sends the alarms and messages as mails. */
export interface AlarmTopics {
  readonly alarmTopic: sns.Topic;
  readonly mailTopic?: sns.Topic;
}

/** Adds the topics, and the alarms unless the prop `alarms` is false. */
export function addAlarms(scope: Construct, options: AlarmOptions): AlarmTopics {
  const { table, props: { alarms = true, alarmEmail, eventBus } } = options;
  const alarmTopic = addTopic(scope, options.props);
  const mailTopic = alarmEmail ? addMailTopic(scope, options.props, alarmEmail) : undefined;
  if (alarms) {
    const mails = mailTopic && addMails(scope, options, mailTopic);
    addEventMessages(scope, 'EventMessages', { topic: alarmTopic, mails, table, eventBus });
    addCounts(scope, options);
    addAlarmsTo(scope, options, [alarmTopic, ...(mailTopic ? [mailTopic] : [])]);
  }
  return { alarmTopic, mailTopic };
}

/**
 * Adds the log group of all events, and the rule that writes to it. A resource policy, not a role, allows the rule to write.
 *
 * The policy belongs to the log group. `LogGroup.addToResourcePolicy` would make a policy of the account, which has at most ten of
 * these in a Region.
 */
export function addEventLog(scope: Construct, options: { stackName: string; table: dynamodb.ITable; props: LockstepProps }): logs.LogGroup {
  const logGroupName = `/aws/events/${options.stackName}`;
  const arn = Stack.of(scope).formatArn({
    service: 'logs', resource: 'log-group', resourceName: logGroupName, arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  // Not targets.CloudWatchLogGroup, which makes a policy of the account with a function of its own. The target is spelled out,
  // because the policy of the log group refers to the rule.
  const rule = new events.Rule(scope, 'EventLog', {
    description: 'Keeps every event of Lockstep in a log group',
    eventBus: options.props.eventBus,
    eventPattern: { source: ['lockstep'], detail: ofTable(options.table) },
    targets: [{ bind: () => ({ arn }) }],
  });
  const logGroup = new logs.LogGroup(scope, 'EventLogGroup', {
    logGroupName,
    retention: options.props.eventRetention ?? logs.RetentionDays.THREE_MONTHS,
    removalPolicy: RemovalPolicy.DESTROY,
    encryptionKey: options.props.key,
  });
  const services = { Service: ['events.amazonaws.com', 'delivery.logs.amazonaws.com'] };
  const allow = { Effect: 'Allow', Principal: services, Resource: `${arn}:*` };
  // An override, because most versions of the CDK that this library works with do not have this property.
  (logGroup.node.defaultChild as logs.CfnLogGroup).addPropertyOverride('ResourcePolicyDocument', {
    Version: '2012-10-17',
    Statement: [
      { ...allow, Action: 'logs:CreateLogStream' },
      { ...allow, Action: 'logs:PutLogEvents', Condition: { ArnEquals: { 'aws:SourceArn': rule.ruleArn } } },
    ],
  });
  return logGroup;
}

/** Adds the topic of the alarms. A stack without alarms has it too, because its ARN is exported. */
function addTopic(scope: Construct, { alarmKey, key }: LockstepProps): sns.Topic {
  const topic = new sns.Topic(scope, 'AlarmTopic', { displayName: 'Lockstep', masterKey: alarmKey ?? key });
  allowPublishers(topic);
  return topic;
}

/** Adds the metric filters that count events, skips and crashes. */
function addCounts(scope: Construct, { stackName, props, lockFunctions, eventLog }: AlarmOptions): void {
  const metricNamespace = namespaceOf(stackName);
  const kinds = Object.keys(EVENT_ALARMS).map((kind) => `($.detail-type = "${kind}")`);
  new logs.CfnMetricFilter(scope, 'EventCounts', {
    logGroupName: eventLog.logGroupName,
    filterPattern: `{ ${kinds.join(' || ')} }`,
    metricTransformations: [
      { metricNamespace, metricName: 'Events', metricValue: '1', dimensions: [{ key: 'kind', value: '$.detail-type' }] },
    ],
  });
  if (props.skippedRunsPerHour) {
    new logs.CfnMetricFilter(scope, 'SkipCounts', {
      logGroupName: eventLog.logGroupName,
      filterPattern: '{ ($.detail-type = "Lockstep Run Skipped") }',
      metricTransformations: [{ metricNamespace, metricName: 'SkippedRuns', metricValue: '1' }],
    });
  }
  for (const [id, one] of Object.entries(lockFunctions)) {
    new logs.CfnMetricFilter(scope, `${id}CrashCounts`, {
      logGroupName: one.logGroup.logGroupName,
      filterPattern: '?"Task timed out after" ?"Runtime.ExitError" ?"panicked at"',
      metricTransformations: [{ metricNamespace, metricName: 'Crashes', metricValue: '1' }],
    });
  }
}

function addAlarmsTo(scope: Construct, options: AlarmOptions, topics: sns.ITopic[]): void {
  const actions = topics.map((topic) => topic.topicArn);
  for (const { id, section, description, dimensions = {}, ...own } of watched(options)) {
    new cloudwatch.CfnAlarm(scope, id, {
      alarmDescription: `${description} docs/runbook.md#${section}`,
      dimensions: Object.keys(dimensions).length ? Object.entries(dimensions).map(([name, value]) => ({ name, value })) : undefined,
      statistic: 'Sum',
      period: 300,
      evaluationPeriods: 1,
      comparisonOperator: 'GreaterThanOrEqualToThreshold',
      treatMissingData: 'notBreaching',
      alarmActions: actions,
      okActions: actions,
      ...own,
    });
  }
}

/** Returns the namespace of the metrics of metric filters. It contains the stack's name, because two stacks would otherwise share them. */
function namespaceOf(stackName: string): string {
  return `Lockstep/${stackName}`;
}

function watched(options: AlarmOptions): Watched[] {
  const namespace = namespaceOf(options.stackName);
  const reaper = { namespace: 'AWS/Lambda', dimensions: { FunctionName: options.reaper.functionName } };
  const ofTable = { namespace: 'Lockstep', dimensions: { table: options.table.tableName } };
  const dynamo = { namespace: 'AWS/DynamoDB', section: 'table-throttled', threshold: 10 };
  const TableName = options.table.tableName;
  return [
    { ...reaper, id: 'ReaperErrors', section: 'reaper-errors', metricName: 'Errors', period: 600, threshold: 3,
      description: 'The reaper failed three times within ten minutes.' },
    { ...reaper, id: 'ReaperThrottles', section: 'reaper-throttles', metricName: 'Throttles', evaluationPeriods: 2, threshold: 1,
      description: 'Lambda throttled the reaper for more than five minutes.' },
    // Missing data is the fault that this alarm detects.
    { ...ofTable, id: 'SweepMissing', section: 'sweep-missing', metricName: 'SweepFinished', threshold: 1,
      comparisonOperator: 'LessThanThreshold', treatMissingData: 'breaching', description: 'No sweep finished within five minutes.' },
    { ...ofTable, id: 'LocksUnchecked', section: 'locks-unchecked', metricName: 'LocksUnchecked', threshold: 3,
      description: 'The sweep cannot check a lock.' },
    { id: 'DeadLetters', section: 'dead-letters', namespace: 'AWS/SQS', metricName: 'ApproximateNumberOfMessagesVisible',
      dimensions: { QueueName: options.deadLetters.queueName }, statistic: 'Maximum', threshold: 1,
      description: 'Events for the reaper are in the dead-letter queue.' },
    { ...ofTable, id: 'FunctionFaults', section: 'function-faults', metricName: 'Faults', threshold: 1,
      description: 'A function was denied access, or met an item that it cannot read.' },
    { id: 'FunctionCrashes', section: 'function-crashes', namespace, metricName: 'Crashes', threshold: 3,
      description: 'A lock function crashed or timed out three times within five minutes.' },
    ...Object.entries(EVENT_ALARMS).map(([kind, [id, section, description]]) =>
      ({ id, section, description, namespace, metricName: 'Events', dimensions: { kind }, threshold: 1 })),
    ...skips(options),
    { ...dynamo, id: 'TableReadsThrottled', metricName: 'ReadThrottleEvents', dimensions: { TableName },
      description: 'DynamoDB throttles reads of the lock table.' },
    { ...dynamo, id: 'TableWritesThrottled', metricName: 'WriteThrottleEvents', dimensions: { TableName },
      description: 'DynamoDB throttles writes of the lock table.' },
    { ...dynamo, id: 'IndexWritesThrottled', metricName: 'WriteThrottleEvents',
      dimensions: { TableName, GlobalSecondaryIndexName: 'due' }, description: 'DynamoDB throttles writes of the index of due locks.' },
  ];
}

/** Returns the alarm on skipped runs, if there is one. It sends one message at the threshold, and one when the number is below again. */
function skips({ stackName, props: { skippedRunsPerHour } }: AlarmOptions): Watched[] {
  return skippedRunsPerHour ? [{
    id: 'RunsSkipped', section: 'runs-skipped', namespace: namespaceOf(stackName), metricName: 'SkippedRuns', period: 3600,
    threshold: skippedRunsPerHour, description: 'At least SkippedRunsPerHour runs were skipped within an hour.',
  }] : [];
}
