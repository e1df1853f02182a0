import * as events from 'aws-cdk-lib/aws-events';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as sns from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { Lockstep } from './lockstep';

/** The events that call for action: without skipped and duplicate runs, which are the normal effect of a lock. */
const DETAIL_TYPES = ['Lockstep Queue Full', 'Lockstep Wait Given Up', 'Lockstep Lease Lost', 'Lockstep Run Recovered',
  'Lockstep Run Stopped', 'Lockstep Lock Frozen', 'Lockstep Evidence Missing', 'Lockstep Run Missing'];

/** Props of `LockstepAlerts`. */
export interface LockstepAlertsProps {
  /** The Lockstep whose events are sent. */
  readonly lockstep: Lockstep;

  /** Topic that receives a message for each event, with its reason and what to do. */
  readonly topic: sns.ITopic;

  /**
   * Kinds of events that are worth a message, such as `Lockstep Lease Lost`.
   *
   * @default - those that call for action, which the topic of the alarms of `Lockstep` receives too
   */
  readonly detailTypes?: string[];
}

/** Adds the rule that sends events to a topic. A value that an event lacks is left empty. */
export function addEventMessages(
  scope: Construct, id: string, topic: sns.ITopic, eventBus?: events.IEventBus, detailTypes: string[] = DETAIL_TYPES,
): events.Rule {
  const field = (path: string) => events.EventField.fromPath(path);
  const lines = [
    `${field('$.detail-type')}: lock ${field('$.detail.lock')}`,
    `Reason: ${field('$.detail.reason')}`,
    `What to do: ${field('$.detail.advice')}`,
    `Holder: ${field('$.detail.holder')}`,
    `Time: ${field('$.detail.at')}`,
  ];
  // Not targets.SnsTopic: it would add a statement to the policy of the topic, which has it.
  return new events.Rule(scope, id, {
    description: 'Events of Lockstep that call for action',
    eventBus,
    eventPattern: { source: ['lockstep'], detailType: detailTypes },
    targets: [{ bind: () => ({ arn: topic.topicArn, input: events.RuleTargetInput.fromMultilineText(lines.join('\n')), targetResource: topic }) }],
  });
}

/**
 * Sends Lockstep's events to a topic of your own, as messages that a person can act on: other kinds, other receivers, or
 * without the alarms of `Lockstep`, which send the default kinds to `Lockstep.alarmTopic`.
 */
export class LockstepAlerts extends Construct {
  /** Matches the events. */
  public readonly rule: events.Rule;

  constructor(scope: Construct, id: string, props: LockstepAlertsProps) {
    super(scope, id);
    const { lockstep, topic, detailTypes } = props;
    this.rule = addEventMessages(this, 'Rule', topic, lockstep.eventBus, detailTypes);
    topic.addToResourcePolicy(new iam.PolicyStatement({
      principals: [new iam.ServicePrincipal('events.amazonaws.com')], actions: ['sns:Publish'], resources: [topic.topicArn],
    }));
  }
}
