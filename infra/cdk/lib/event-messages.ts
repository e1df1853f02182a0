import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as events from 'aws-cdk-lib/aws-events';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';

/** The workflow that sends a message as a mail, and the role by which EventBridge starts it. */
export interface MailTarget {
  readonly machine: sfn.IStateMachine;
  readonly role: iam.IRole;
}

/** Kinds of events that call for action. Skipped and duplicate runs are the normal effect of a lock, and do not call for action. */
const DETAIL_TYPES = ['Lockstep Run Failed', 'Lockstep Queue Full', 'Lockstep Wait Given Up', 'Lockstep Lease Lost', 'Lockstep Run Recovered',
  'Lockstep Run Stopped', 'Lockstep Lock Frozen', 'Lockstep Evidence Missing', 'Lockstep Run Missing'];

/**
 * Returns the pattern that `detail` matches in the events of the stack whose lock table is `table`. Events of an older `lockstep`
 * command name no table, and match the pattern of every stack.
 */
export function ofTable(table: dynamodb.ITable): { table: unknown[] } {
  return { table: [table.tableName, { exists: false }] };
}

/** Which events become messages, and who receives the messages. */
export interface EventMessagesOptions {
  readonly topic: sns.ITopic;
  readonly mails?: MailTarget;
  readonly table: dynamodb.ITable;
  readonly eventBus?: events.IEventBus;
  readonly detailTypes?: string[];
}

/**
 * Adds the rules that send events to a topic, and to the workflow that mails them. The messages have the form that Amazon Q
 * Developer in chat applications displays.
 *
 * Returns the rule for events that contain their message. Events of an older `lockstep` command contain none; another rule builds
 * their messages.
 */
export function addEventMessages(scope: Construct, id: string, options: EventMessagesOptions): events.Rule {
  const { topic, mails, table, eventBus, detailTypes = DETAIL_TYPES } = options;
  const field = (path: string) => events.EventField.fromPath(path);
  const [kind, lock] = [field('$.detail-type'), field('$.detail.lock')];
  // Not targets.SnsTopic, which would add to the policy of the topic a statement that the policy already has.
  const rule = (ruleId: string, description: string, detailType: string[], source: unknown[], input: events.RuleTargetInput) =>
    new events.Rule(scope, ruleId, {
      description,
      eventBus,
      eventPattern: { source: ['lockstep'], detailType, detail: { ...ofTable(table), message: { source } } },
      targets: [{ bind: () => ({ arn: topic.topicArn, input, targetResource: topic }) }, ...mailTarget(mails, input)],
    });
  // A Run Failed event without `message` repeats another event, so this rule does not send it.
  const older = detailTypes.filter((type) => type !== 'Lockstep Run Failed');
  if (older.length) {
    rule(`${id}OfOlderCommands`, 'Sends the events of older lockstep commands that call for action, as messages', older, [{ exists: false }],
      events.RuleTargetInput.fromObject({
        content: {
          title: `${kind}: ${lock}`, description: field('$.detail.reason'), nextSteps: [field('$.detail.advice')],
          textType: 'client-markdown',
        },
        metadata: { threadId: lock, eventType: kind },
        source: 'custom',
        version: '1.0',
      }));
  }
  return rule(id, 'Sends the events of Lockstep that call for action, as messages', detailTypes, ['custom'],
    events.RuleTargetInput.fromEventPath('$.detail.message'));
}

/** Returns the target that mails a message, if there is one. Not targets.SfnStateMachine, which would make a role for each rule. */
function mailTarget(mails: MailTarget | undefined, input: events.RuleTargetInput): events.IRuleTarget[] {
  return mails ? [{ bind: () => ({ arn: mails.machine.stateMachineArn, role: mails.role, input, targetResource: mails.machine }) }] : [];
}
