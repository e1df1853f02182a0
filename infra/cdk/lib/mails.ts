import * as path from 'path';
import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { MailTarget } from './event-messages';
import { LockstepProps } from './lockstep-props';
import { Organisation } from './organisation';
import { allowAlarms } from './publishers';
import { Statements } from './statements';

/** The definition, which `npm run assets` copies from statemachines. */
const DEFINITION = path.join(__dirname, '..', 'assets', 'mail.asl.json');

/** Values of a Lockstep that the workflow that writes mails needs. */
export interface MailOptions {
  readonly stackName: string;
  readonly props: LockstepProps;
  readonly statements: Statements;
  readonly organisation: Organisation;
  readonly logRetention: logs.RetentionDays;
}

/** Adds the topic that sends its messages as mails, with `address` as its first subscription. */
export function addMailTopic(scope: Construct, { alarmKey, key }: LockstepProps, address: string): sns.Topic {
  const topic = new sns.Topic(scope, 'MailTopic', { displayName: 'Lockstep', masterKey: alarmKey ?? key });
  allowAlarms(topic);
  new sns.CfnSubscription(scope, 'AlarmMails', { topicArn: topic.topicArn, protocol: 'email', endpoint: address });
  return topic;
}

/** Adds the workflow that sends a message to the topic as a mail: decision 0070. */
export function addMails(scope: Construct, options: MailOptions, topic: sns.Topic): MailTarget {
  const { props, statements, organisation } = options;
  const logGroup = new logs.LogGroup(scope, 'MailLogGroup', {
    logGroupName: `/aws/vendedlogs/states/${options.stackName}-mail`,
    retention: options.logRetention,
    encryptionKey: organisation.key,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  const machine = new sfn.StateMachine(scope, 'MailStateMachine', {
    stateMachineType: sfn.StateMachineType.STANDARD,
    definitionBody: sfn.DefinitionBody.fromFile(DEFINITION),
    definitionSubstitutions: { Partition: Stack.of(scope).partition, MailTopicArn: topic.topicArn },
    role: role('MailRole', 'states.amazonaws.com', 'mail', statements.publish(topic, props.alarmKey ?? props.key)),
    logs: { destination: logGroup, level: sfn.LogLevel.ERROR, includeExecutionData: false },
  });
  const start = new iam.PolicyStatement({ actions: ['states:StartExecution'], resources: [machine.stateMachineArn] });
  return { machine, role: role('MailStartRole', 'events.amazonaws.com', 'start-mail', [start]) };

  function role(id: string, service: string, policy: string, allowed: iam.PolicyStatement[]): iam.Role {
    return new iam.Role(scope, id, {
      ...organisation.ofRoles,
      assumedBy: new iam.ServicePrincipal(service, { conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } } }),
      inlinePolicies: { [policy]: new iam.PolicyDocument({ statements: allowed }) },
    });
  }
}
