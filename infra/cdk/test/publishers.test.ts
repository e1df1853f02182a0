/** Every alarm and every rule of every stack may publish to the topics that it names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stack } from 'aws-cdk-lib';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as sns from 'aws-cdk-lib/aws-sns';
import { ExclusiveEcsBatch, LockstepAlerts } from 'lockstep-cdk';
import { batches } from '../example/app';
import { Evaluator, Json, readTemplate } from './cloudformation';
import { everythingStack, minimalStack } from './everything';
import { DAILY, scene, Scene } from './scene';
import { lockstepIn, newStack, synthesized } from './stacks';

type Resources = { [name: string]: Json };

const list = (value: Json): Json[] => (value === undefined ? [] : Array.isArray(value) ? value : [value]);
const ofType = (resources: Resources, type: string): Json[] =>
  Object.values(resources).filter((one) => one.Type === type).map((one) => one.Properties);

/** Topics that a service publishes to, by what makes it do so. */
function publishers(resources: Resources): [string, string, string][] {
  return Object.entries(resources).flatMap(([name, { Type, Properties }]): [string, string, string][] => {
    if (Type === 'AWS::CloudWatch::Alarm') {
      const { AlarmActions, OKActions, InsufficientDataActions } = Properties;
      return [AlarmActions, OKActions, InsufficientDataActions].flatMap(list).map((arn) => [name, 'cloudwatch.amazonaws.com', arn]);
    }
    const targets = Type === 'AWS::Events::Rule' ? list(Properties.Targets) : [];
    return targets.map((target) => [name, 'events.amazonaws.com', target.Arn]);
  });
}

const allows = (statement: Json, service: string, action: string) => statement.Effect === 'Allow'
  && list(statement.Principal?.Service).includes(service)
  && list(statement.Action).some((one) => one === action || (one.endsWith('*') && action.startsWith(one.slice(0, -1))));

/** EventBridge sends no condition keys to SNS; the alarms of CloudWatch send account and ARN. */
function isMet(statement: Json, service: string): boolean {
  const keys = Object.values<Json>(statement.Condition ?? {}).flatMap((one) => Object.keys(one));
  const sent = service === 'cloudwatch.amazonaws.com' ? ['aws:SourceAccount', 'aws:SourceArn'] : [];
  return keys.every((key) => sent.includes(key));
}

function mayPublish(resources: Resources, topic: string, service: string): boolean {
  const policies = ofType(resources, 'AWS::SNS::TopicPolicy').filter(({ Topics }) => Topics.includes(topic));
  // The policy that SNS gives a topic admits alarms of its account, and no rule.
  return policies.length === 0 ? service === 'cloudwatch.amazonaws.com'
    : policies.flatMap(({ PolicyDocument }) => list(PolicyDocument.Statement))
      .some((one) => allows(one, service, 'sns:Publish') && isMet(one, service));
}

function maySeal(resources: Resources, key: string, service: string): boolean {
  const own = Object.entries(resources).find(([name, { Type }]) => Type === 'AWS::KMS::Key' && [`<${name}>`, `<${name}.Arn>`].includes(key));
  // The policy of a key of others is theirs.
  return own === undefined || ['kms:Decrypt', 'kms:GenerateDataKey'].every((action) =>
    list(own[1].Properties.KeyPolicy.Statement).some((one) => allows(one, service, action) && one.Condition === undefined));
}

/** What cannot be delivered, and how many ways there are that can. */
function silent(resources: Resources): { lost: string[]; ways: number } {
  const topics = Object.entries(resources).filter(([, { Type }]) => Type === 'AWS::SNS::Topic');
  const lost: string[] = [];
  let ways = 0;
  for (const [name, service, arn] of publishers(resources)) {
    const topic = topics.find(([id]) => arn === `<${id}>`);
    if (topic === undefined) {
      continue;
    }
    ways++;
    const key = topic[1].Properties?.KmsMasterKeyId;
    if (!mayPublish(resources, arn, service)) {
      lost.push(`${name}: the policy of ${topic[0]} does not let ${service} publish`);
    } else if (key && !maySeal(resources, key, service)) {
      lost.push(`${name}: the key of ${topic[0]} does not let ${service} encrypt`);
    }
  }
  return { lost, ways };
}

/** A Lockstep whose table, queue, topic and logs have a key of the app. */
function encrypted(): Stack {
  const stack = newStack();
  lockstepIn(stack, { key: new kms.Key(stack, 'Key') });
  return stack;
}

/** A Lockstep that sends mails, with a key of the app. */
function mailing(): Stack {
  const stack = newStack();
  lockstepIn(stack, { key: new kms.Key(stack, 'Key'), alarmEmail: 'oncall@example.com' });
  return stack;
}

/** A stack whose topic is made by the app, with what sends to it. */
function sending(add: (parts: Scene & { topic: sns.Topic }) => void, masterKey?: (stack: Stack) => kms.IKey): Stack {
  const parts = scene();
  add({ ...parts, topic: new sns.Topic(parts.stack, 'Own', { masterKey: masterKey?.(parts.stack) }) });
  return parts.stack;
}

const alerts = ({ stack, lockstep, topic }: Scene) => new LockstepAlerts(stack, 'Alerts', { lockstep, topic });
const batch = ({ stack, lockstep, taskDefinition, cluster, topic }: Scene) => new ExclusiveEcsBatch(stack, 'Batch', {
  lockstep, taskDefinition, cluster, lockName: 'report', schedule: DAILY, alarmTopic: topic,
});
const both = (parts: Scene) => [alerts(parts), batch(parts)];
const own = (stack: Stack) => new kms.Key(stack, 'OwnKey');

const STACKS: { [name: string]: [() => Json, number] } = {
  'infra/template.yaml': [() => readTemplate('infra/template.yaml'), 30],
  'a minimal stack': [() => synthesized(minimalStack()), 30],
  'a stack with everything': [() => synthesized(everythingStack()), 30],
  'the example': [() => synthesized(batches), 35],
  'a stack with a key of the app': [() => synthesized(encrypted()), 30],
  'a stack with mails': [() => synthesized(mailing()), 60],
  'a batch with a topic of the app': [() => synthesized(sending(batch)), 32],
  'alerts on a topic of the app': [() => synthesized(sending(alerts)), 32],
  'a batch and alerts on one topic': [() => synthesized(sending(both)), 34],
  'a batch and alerts on one encrypted topic': [() => synthesized(sending(both, own)), 34],
};

test('a key of the app lets the log groups be encrypted, and the queue be filled', () => {
  const resources = new Evaluator(synthesized(encrypted()), {}).resources();
  const [{ KeyPolicy: { Statement } }] = ofType(resources, 'AWS::KMS::Key');
  const services = Statement.flatMap((one: Json) => list(one.Principal.Service));
  assert.deepEqual(services.sort(), ['cloudwatch.amazonaws.com', 'events.amazonaws.com', 'logs.<AWS::Region>.amazonaws.com']);
  const [key] = Object.keys(resources).filter((name) => resources[name].Type === 'AWS::KMS::Key');
  const sealed = Object.values(resources).filter((one) => JSON.stringify(one.Properties ?? {}).includes(`<${key}.Arn>`)).map((one) => one.Type);
  for (const type of ['AWS::DynamoDB::Table', 'AWS::SQS::Queue', 'AWS::SNS::Topic', 'AWS::Logs::LogGroup', 'AWS::Lambda::Function']) {
    assert.equal(sealed.filter((one) => one === type).length, ofType(resources, type).length, type);
  }
});

for (const [name, [template, least]] of Object.entries(STACKS)) {
  test(`everything reaches its topic: ${name}`, () => {
    const { lost, ways } = silent(new Evaluator(template(), {}).resources());
    assert.deepEqual(lost, []);
    assert.ok(ways >= least, `${ways} alarms and rules`);
  });
}
