import { Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as sns from 'aws-cdk-lib/aws-sns';

/** Actions on the key that encrypts messages, which a service needs to send them. */
const SEALS = ['kms:Decrypt', 'kms:GenerateDataKey*'];

/**
 * Lets EventBridge and the alarms of the account publish to a topic.
 *
 * Always adds both, because the first statement replaces the default policy of the topic, which allows the alarms. An imported topic
 * and an imported key keep their policies.
 *
 * https://docs.aws.amazon.com/sns/latest/dg/sns-access-policy-use-cases.html
 */
export function allowPublishers(topic: sns.ITopic): void {
  // No condition, because EventBridge publishes to no topic whose policy has one.
  allowPublisher(topic, 'events.amazonaws.com');
  allowAlarms(topic);
  // ITopic of older versions of the CDK has no masterKey.
  const { masterKey } = topic as { masterKey?: kms.IKey };
  if (masterKey) {
    allowSealing(masterKey, 'events.amazonaws.com', 'cloudwatch.amazonaws.com');
  }
}

/** Lets the alarms of the account publish to a topic. */
export function allowAlarms(topic: sns.ITopic): void {
  allowPublisher(topic, 'cloudwatch.amazonaws.com', { StringEquals: { 'aws:SourceAccount': Stack.of(topic).account } });
}

function allowPublisher(topic: sns.ITopic, service: string, conditions?: { [operator: string]: object }): void {
  topic.addToResourcePolicy(new iam.PolicyStatement({
    principals: [new iam.ServicePrincipal(service)], actions: ['sns:Publish'], resources: [topic.topicArn], conditions,
  }));
}

/**
 * Lets services encrypt what they send to a topic or a queue.
 *
 * https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html
 */
export function allowSealing(key: kms.IKey, ...services: string[]): void {
  key.addToResourcePolicy(new iam.PolicyStatement({
    principals: services.map((service) => new iam.ServicePrincipal(service)), actions: SEALS, resources: ['*'],
  }));
}
