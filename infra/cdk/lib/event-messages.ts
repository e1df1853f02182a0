import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as events from 'aws-cdk-lib/aws-events';
import * as sns from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';

/** The events that call for action: without skipped and duplicate runs, which are the normal effect of a lock. */
const DETAIL_TYPES = ['Lockstep Run Failed', 'Lockstep Queue Full', 'Lockstep Wait Given Up', 'Lockstep Lease Lost', 'Lockstep Run Recovered',
  'Lockstep Run Stopped', 'Lockstep Lock Frozen', 'Lockstep Evidence Missing', 'Lockstep Run Missing'];

/** The detail of events of the stack whose lock table is `table`. Those of an older `lockstep` command name no table. */
export function ofTable(table: dynamodb.ITable): { table: unknown[] } {
  return { table: [table.tableName, { exists: false }] };
}

/**
 * Adds the rules that send events to a topic, as messages in the form that Amazon Q Developer in chat applications displays.
 * Returns the rule of the events that have their message in them. Those of an older `lockstep` command have none.
 */
export function addEventMessages(
  scope: Construct, id: string, topic: sns.ITopic, table: dynamodb.ITable, eventBus?: events.IEventBus, detailTypes: string[] = DETAIL_TYPES,
): events.Rule {
  const field = (path: string) => events.EventField.fromPath(path);
  const [kind, lock] = [field('$.detail-type'), field('$.detail.lock')];
  // Not targets.SnsTopic: it would add a statement to the policy of the topic, which has it.
  const rule = (ruleId: string, description: string, detailType: string[], source: unknown[], input: events.RuleTargetInput) =>
    new events.Rule(scope, ruleId, {
      description,
      eventBus,
      eventPattern: { source: ['lockstep'], detailType, detail: { ...ofTable(table), message: { source } } },
      targets: [{ bind: () => ({ arn: topic.topicArn, input, targetResource: topic }) }],
    });
  // A Run Failed without a message repeats another event.
  const older = detailTypes.filter((type) => type !== 'Lockstep Run Failed');
  if (older.length) {
    rule(`${id}OfOlderCommands`, 'Events of older lockstep commands that call for action', older, [{ exists: false }],
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
  return rule(id, 'Events of Lockstep that call for action', detailTypes, ['custom'],
    events.RuleTargetInput.fromEventPath('$.detail.message'));
}
