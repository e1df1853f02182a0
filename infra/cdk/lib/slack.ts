import { Stack, Token } from 'aws-cdk-lib';
import * as chatbot from 'aws-cdk-lib/aws-chatbot';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { badProp } from './checks';
import { Lockstep } from './lockstep';

/** Props of `LockstepSlackChannel`. */
export interface LockstepSlackChannelProps {
  /** The Lockstep whose alarms and messages are shown. */
  readonly lockstep: Lockstep;

  /** Id of the Slack workspace that an administrator has authorised in the console of Amazon Q Developer in chat applications. */
  readonly workspaceId: string;

  /** Id of the Slack channel. */
  readonly channelId: string;

  /**
   * Whether everybody in the channel may pause locks and evict holders.
   *
   * @default false
   */
  readonly operates?: boolean;
}

/** A button: its construct id, the act, the text of the button, the function that it calls, and the fields of the request. */
type Button = [string, string, string, lambda.IFunction, { [field: string]: string }];

/**
 * A Slack channel that shows the alarms and messages of a Lockstep, with buttons. It makes the same as infra/slack.yaml.
 *
 * It works in the partition aws only: Amazon Q Developer in chat applications is in no other partition. CloudTrail records who pressed a
 * button, in the name of the session.
 */
export class LockstepSlackChannel extends Construct {
  /** Role of everybody in the channel: may invoke view, and with `operates` also operate. */
  public readonly role: iam.Role;

  constructor(scope: Construct, id: string, props: LockstepSlackChannelProps) {
    super(scope, id);
    this.check(props);
    const { lockstep, operates = false } = props;
    const [view, operate] = [lockstep.viewFunction, lockstep.operateFunction];
    this.role = new iam.Role(this, 'Role', {
      ...lockstep._organisation.ofRoles,
      assumedBy: new iam.ServicePrincipal('chatbot.amazonaws.com'),
      inlinePolicies: { slack: new iam.PolicyDocument({ statements: [this.invoke(view, ...(operates ? [operate] : []))] }) },
    });
    const audit = { note: 'by a button in Slack', actor: 'Slack' };
    const buttons: Button[] = [
      ['Show', 'show', 'Show lock', view, { lock: '$lock' }],
      ['Pause', 'pause', 'Pause lock', operate, { lock: '$lock', ...audit }],
      // Without `force`, so the button does not stop a run that is alive.
      ['Evict', 'evict', 'Evict holder', operate, { lock: '$lock', holder: '$holder', ...audit }],
    ];
    const shown = buttons.filter(([, , , called]) => operates || called === view);
    new chatbot.CfnSlackChannelConfiguration(this, 'Channel', {
      configurationName: Stack.of(lockstep).stackName,
      slackWorkspaceId: props.workspaceId,
      slackChannelId: props.channelId,
      snsTopicArns: [lockstep.alarmTopic.topicArn],
      iamRoleArn: this.role.roleArn,
      // Without a guardrail policy, AdministratorAccess would be the limit.
      guardrailPolicies: [(operates ? lockstep.operatorPolicy : lockstep.viewerPolicy).managedPolicyArn],
      loggingLevel: 'ERROR',
      userRoleRequired: false,
      customizationResourceArns: shown.map((button) => this.addButton(lockstep, button).ref),
    });
  }

  private check({ workspaceId, channelId }: LockstepSlackChannelProps): void {
    if (!Token.isUnresolved(workspaceId) && !/^[0-9A-Z]{1,255}$/.test(workspaceId)) {
      throw badProp(this, 'workspaceId', workspaceId, 'be the id of a Slack workspace, such as T012ABCDEFG');
    }
    if (!Token.isUnresolved(channelId) && !/^[A-Za-z0-9]{1,256}$/.test(channelId)) {
      throw badProp(this, 'channelId', channelId, 'be the id of a Slack channel, such as C012ABCDEFG');
    }
  }

  private invoke(...functions: lambda.IFunction[]): iam.PolicyStatement {
    return new iam.PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: functions.map((one) => one.functionArn) });
  }

  /** Adds a button to the messages of the stack. Messages of other senders name another table or none, and get no button. */
  private addButton(lockstep: Lockstep, [id, act, buttonText, called, fields]: Button): chatbot.CfnCustomAction {
    const facts = ['lock', 'holder'].filter((name) => name in fields);
    const payload = JSON.stringify({ act, ...fields });
    return new chatbot.CfnCustomAction(this, id, {
      actionName: `${Stack.of(lockstep).stackName}-${act}`,
      definition: {
        commandText: `lambda invoke --function-name ${called.functionArn} --payload ${payload} --region ${Stack.of(lockstep).region}`,
      },
      attachments: [{
        notificationType: 'Custom',
        buttonText,
        criteria: [
          { operator: 'EQUALS', variableName: 'table', value: lockstep.table.tableName },
          ...facts.map((variableName) => ({ operator: 'HAS_VALUE', variableName })),
        ],
        variables: Object.fromEntries(['table', ...facts].map((name) => [name, `event.metadata.additionalContext.${name}`])),
      }],
    });
  }
}
