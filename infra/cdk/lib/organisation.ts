import { Stack, Token } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct, IConstruct } from 'constructs';
import { badProp, checkArns } from './checks';
import { LockstepProps } from './lockstep-props';
import { allowSealing } from './publishers';
import { Statements } from './statements';

/** What the rules of an organisation require of the roles, functions and log groups of a Lockstep. */
export interface Organisation {
  /** Encrypts the table, the dead-letter queue, the topics, the log groups and the environment of the functions. */
  readonly key?: kms.IKey;
  /** Path and permissions boundary of every role. */
  readonly ofRoles: { readonly path?: string; readonly permissionsBoundary?: iam.IManagedPolicy };
  /** Network of every function. */
  readonly network: lambda.FunctionOptions;
  /** Managed policies of the roles of functions. */
  readonly functionPolicies: iam.IManagedPolicy[];
  /** Managed policies of the roles that read the data of executions. */
  readonly readerPolicies: iam.IManagedPolicy[];
}

const KEY = /^arn:[a-z-]+:kms:[a-z0-9-]+:\d{12}:key\/[A-Za-z0-9-]+$/;

/** Refuses props that break a rule of infra/template.yaml. */
export function checkOrganisation(scope: IConstruct, props: LockstepProps): void {
  const { rolePath } = props;
  if (rolePath !== undefined && !Token.isUnresolved(rolePath) && !/^\/([A-Za-z0-9_+=,.@-]+\/)*$/.test(rolePath)) {
    throw badProp(scope, 'rolePath', rolePath, 'begin and end with a slash');
  }
  for (const prop of ['vpcSubnets', 'securityGroups'] as const) {
    if (props[prop] !== undefined && props.vpc === undefined) {
      throw badProp(scope, prop, props[prop], 'be left out without vpc');
    }
  }
  checkArns(scope, 'workflowKeys', (props.workflowKeys ?? []).map((key) => key.keyArn), KEY, 1024, 'be a KMS key with an ARN');
}

/** Adds the policies that the rules require. Allows services to encrypt with the key, if it is a key of the app. */
export function addOrganisation(scope: Construct, statements: Statements, props: LockstepProps): Organisation {
  const { key, vpc, workflowKeys = [] } = props;
  const managed = (id: string, needed: boolean, made: () => iam.PolicyStatement[]) =>
    (needed ? [new iam.ManagedPolicy(scope, id, { statements: made() })] : []);
  if (key) {
    allowSealing(key, 'events.amazonaws.com', 'cloudwatch.amazonaws.com');
    allowLogs(scope, key);
  }
  return {
    key,
    ofRoles: { path: props.rolePath, permissionsBoundary: props.permissionsBoundary },
    network: vpc ? { vpc, vpcSubnets: props.vpcSubnets, securityGroups: props.securityGroups ?? [groupIn(scope, vpc)] } : {},
    functionPolicies: [
      ...managed('NetworkPolicy', vpc !== undefined, () => statements.networkInterfaces()),
      ...managed('KeyPolicy', key !== undefined, () => [statements.useKey(key!, 'dynamodb', 'lambda', 'sqs')]),
    ],
    readerPolicies: managed('WorkflowKeyPolicy', workflowKeys.length > 0, () => [statements.readWorkflows(workflowKeys)]),
  };
}

/** Returns a security group for all functions, which allows all outbound and no inbound traffic. */
function groupIn(scope: Construct, vpc: ec2.IVpc): ec2.ISecurityGroup {
  return new ec2.SecurityGroup(scope, 'FunctionSecurityGroup', { vpc, description: 'Functions of Lockstep' });
}

/** Allows CloudWatch Logs to use a key: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html */
function allowLogs(scope: Construct, key: kms.IKey): void {
  const stack = Stack.of(scope);
  key.addToResourcePolicy(new iam.PolicyStatement({
    principals: [new iam.ServicePrincipal(`logs.${stack.region}.amazonaws.com`)],
    actions: ['kms:Encrypt*', 'kms:Decrypt*', 'kms:ReEncrypt*', 'kms:GenerateDataKey*', 'kms:Describe*'],
    resources: ['*'],
    conditions: { ArnLike: { 'kms:EncryptionContext:aws:logs:arn': `arn:${stack.partition}:logs:${stack.region}:${stack.account}:*` } },
  }));
}
