import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as actions from 'aws-cdk-lib/aws-cloudwatch-actions';
import * as ecs from 'aws-cdk-lib/aws-ecs';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { EcsTaskOptions } from './ecs-task';
import { ExclusiveRun } from './exclusive-run';
import { LockOptions, OverlapPolicy } from './lock-options';
import { Lockstep } from './lockstep';
import { allowPublishers } from './publishers';

/** Props of `ExclusiveEcsBatch`. */
export interface ExclusiveEcsBatchProps extends LockOptions, EcsTaskOptions {
  /** Lockstep, of this stack or of another one in the same account and region. */
  readonly lockstep: Lockstep;

  /** The task of the batch. */
  readonly taskDefinition: ecs.ITaskDefinition;

  /** Cluster of the task. */
  readonly cluster: ecs.ICluster;

  /** When the batch starts. */
  readonly schedule: scheduler.ScheduleExpression;

  /**
   * Whether the schedule is on.
   *
   * @default true
   */
  readonly enabled?: boolean;

  /**
   * Role of the schedule. The construct adds the permissions that the schedule needs.
   *
   * @default - a new role
   */
  readonly scheduleRole?: iam.IRole;

  /**
   * Topic of three alarms: a run failed, a run was stopped, or the schedule could not start a run. The policy of an imported
   * topic has to allow cloudwatch.amazonaws.com `sns:Publish`.
   *
   * @default - no alarms
   */
  readonly alarmTopic?: sns.ITopic;
}

/** An ECS task on a schedule. Its runs never overlap, and at most one succeeds for each scheduled time. */
export class ExclusiveEcsBatch extends Construct {
  /** The runs of the batch. */
  public readonly run: ExclusiveRun;
  /** Starts the runs. */
  public readonly schedule: scheduler.Schedule;
  /** Queue with invocations of the schedule that could not start a run. A run that was skipped is not among them. */
  public readonly missedTicks: sqs.Queue;

  constructor(scope: Construct, id: string, props: ExclusiveEcsBatchProps) {
    super(scope, id);
    const { schedule, enabled, scheduleRole, alarmTopic, ...run } = props;
    this.run = new ExclusiveRun(this, 'Run', run);
    this.missedTicks = new sqs.Queue(this, 'MissedTicks', {
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      retentionPeriod: Duration.days(14),
    });
    this.schedule = new scheduler.Schedule(this, 'Schedule', {
      schedule,
      enabled,
      target: this.run.scheduleTarget({
        role: scheduleRole,
        deadLetterQueue: this.missedTicks,
        maxEventAge: Duration.minutes(30),
        retryAttempts: 10,
      }),
    });
    if (alarmTopic) {
      this.addAlarms(alarmTopic, run.overlap !== OverlapPolicy.REPLACE);
    }
  }

  /** Returns the metric that counts runs that failed: failed executions of the state machine of `run`. */
  public metricFailedRuns(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.run.runStateMachine.metricFailed(props);
  }

  /** Returns the metric that counts runs that were stopped by an operator, because they were stale, or by a run that replaced them. */
  public metricStoppedRuns(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.run.runStateMachine.metricAborted(props);
  }

  /** Adds the alarms. `stopsAreFaults` is false where runs replace each other, because a stopped run is then no fault. */
  private addAlarms(topic: sns.ITopic, stopsAreFaults: boolean): void {
    allowPublishers(topic);
    const alarm = (id: string, metric: cloudwatch.Metric, alarmDescription: string) => {
      new cloudwatch.Alarm(this, id, {
        metric,
        alarmDescription,
        threshold: 1,
        evaluationPeriods: 1,
        comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
      }).addAlarmAction(new actions.SnsAction(topic));
    };
    alarm('RunFailed', this.metricFailedRuns(), 'A run of the batch failed');
    if (stopsAreFaults) {
      alarm('RunStopped', this.metricStoppedRuns(), 'A run of the batch was stopped');
    }
    alarm('TickMissed', this.missedTicks.metricApproximateNumberOfMessagesVisible(), 'The schedule could not start a run');
  }
}
