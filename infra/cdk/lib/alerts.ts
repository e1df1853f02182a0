import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import * as sns from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { Lockstep } from './lockstep';

/** The events that call for action: without skipped and duplicate runs, which are the normal effect of a lock. */
const DETAIL_TYPES = ['Lockstep Queue Full', 'Lockstep Wait Given Up', 'Lockstep Lease Lost', 'Lockstep Run Recovered',
  'Lockstep Run Stopped', 'Lockstep Lock Frozen', 'Lockstep Evidence Missing'];

/** Props of `LockstepAlerts`. */
export interface LockstepAlertsProps {
  /** The Lockstep whose events are sent. */
  readonly lockstep: Lockstep;

  /** Topic that receives a message for each event, with its reason and what to do. */
  readonly topic: sns.ITopic;

  /**
   * Kinds of events that are worth a message, such as `Lockstep Lease Lost`.
   *
   * @default - those that call for action, as in infra/examples/alerts.yaml
   */
  readonly detailTypes?: string[];
}

/** Sends Lockstep's events to a topic, as messages that a person can act on. */
export class LockstepAlerts extends Construct {
  /** Matches the events. */
  public readonly rule: events.Rule;

  constructor(scope: Construct, id: string, props: LockstepAlertsProps) {
    super(scope, id);
    const field = (path: string) => events.EventField.fromPath(path);
    const lines = [
      `${field('$.detail-type')}: lock ${field('$.detail.lock')}`,
      `Reason: ${field('$.detail.reason')}`,
      `What to do: ${field('$.detail.advice')}`,
      `Holder: ${field('$.detail.holder')}`,
      `Time: ${field('$.detail.at')}`,
    ];
    this.rule = new events.Rule(this, 'Rule', {
      description: "Lockstep's events for people",
      eventBus: props.lockstep.eventBus,
      eventPattern: { source: ['lockstep'], detailType: props.detailTypes ?? DETAIL_TYPES },
      targets: [new targets.SnsTopic(props.topic, { message: events.RuleTargetInput.fromMultilineText(lines.join('\n')) })],
    });
  }
}
