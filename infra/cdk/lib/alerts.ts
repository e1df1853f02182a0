import * as events from 'aws-cdk-lib/aws-events';
import * as sns from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { addEventMessages } from './event-messages';
import { Lockstep } from './lockstep';
import { allowPublishers } from './publishers';

/** Props of `LockstepAlerts`. */
export interface LockstepAlertsProps {
  /** The Lockstep whose events are sent. */
  readonly lockstep: Lockstep;

  /**
   * Topic that receives a message for each event. The message has the reason and what to do. The policy of an imported topic has to
   * allow events.amazonaws.com `sns:Publish`, without a condition.
   */
  readonly topic: sns.ITopic;

  /**
   * Kinds of events that are worth a message, such as `Lockstep Lease Lost`.
   *
   * @default - those that call for action, which the topic of the alarms of `Lockstep` receives too
   */
  readonly detailTypes?: string[];
}

/**
 * Sends Lockstep's events to a topic of your own, as messages that a person can act on.
 *
 * With its alarms, `Lockstep` itself sends the default kinds to `Lockstep.alarmTopic`. Use this construct for other kinds, for other
 * receivers, or without those alarms.
 */
export class LockstepAlerts extends Construct {
  /** The rule that matches the events and sends the messages. */
  public readonly rule: events.Rule;

  constructor(scope: Construct, id: string, props: LockstepAlertsProps) {
    super(scope, id);
    const { lockstep, topic, detailTypes } = props;
    this.rule = addEventMessages(this, 'Rule', { topic, table: lockstep.table, eventBus: lockstep.eventBus, detailTypes });
    allowPublishers(topic);
  }
}
