import * as fs from 'fs';
import * as path from 'path';
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { badProp } from './checks';
import { Organisation } from './organisation';
import { Statements } from './statements';

export interface FunctionOptions {
  /** End of the name of the log group. */
  readonly name: string;
  /** Folder below `functionsPath`; by default the folder with the same name as the function. */
  readonly folder?: string;
  /** Start of the construct ids of the log group, the role and the function. */
  readonly id: string;
  readonly description: string;
  readonly timeout?: Duration;
  readonly environment: { [name: string]: string };
  readonly statements: iam.PolicyStatement[];
  readonly managedPolicies: iam.IManagedPolicy[];
}

export interface CommonFunctionOptions {
  /** The prop; by default the functions that a released package has, one folder for each architecture. */
  readonly functionsPath?: string;
  readonly architecture: lambda.Architecture;
  readonly logLevel: string;
  readonly logRetention: logs.RetentionDays;
  readonly stackName: string;
  readonly statements: Statements;
  readonly organisation: Organisation;
}

/** Folder that `make release` fills. It is not there in a checkout. */
const RELEASED = path.join(__dirname, '..', 'functions');

/** Returns the code that cargo lambda built: a zip, or a folder with the executable. */
function code(scope: Construct, { functionsPath, architecture }: CommonFunctionOptions, name: string): lambda.Code {
  const folder = path.join(functionsPath ?? path.join(RELEASED, architecture.name), name);
  const zip = path.join(folder, 'bootstrap.zip');
  if (fs.existsSync(zip)) {
    return lambda.Code.fromAsset(zip);
  }
  if (fs.existsSync(path.join(folder, 'bootstrap'))) {
    return lambda.Code.fromAsset(folder);
  }
  if (functionsPath === undefined) {
    throw badProp(scope, 'functionsPath', functionsPath, `be given: this package has no functions for ${architecture.name}`);
  }
  throw badProp(scope, 'functionsPath', functionsPath, `have ${name}/bootstrap.zip or ${name}/bootstrap, from cargo lambda build`);
}

/**
 * Adds a function with a log group and a role of its own. The role is written out, because a role that the CDK generates
 * may write to every log group.
 */
export function addFunction(scope: Construct, common: CommonFunctionOptions, own: FunctionOptions): lambda.Function {
  const logGroup = new logs.LogGroup(scope, `${own.id}LogGroup`, {
    logGroupName: `/aws/lambda/${common.stackName}-${own.name}`,
    retention: common.logRetention,
    encryptionKey: common.organisation.key,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  const role = new iam.Role(scope, `${own.id}Role`, {
    ...common.organisation.ofRoles,
    assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
    managedPolicies: own.managedPolicies,
    inlinePolicies: {
      [own.name]: new iam.PolicyDocument({ statements: [common.statements.writeLogs(logGroup.logGroupArn), ...own.statements] }),
    },
  });
  return new lambda.Function(scope, `${own.id}Function`, {
    ...common.organisation.network,
    environmentEncryption: common.organisation.key,
    description: own.description,
    code: code(scope, common, own.folder ?? own.name),
    runtime: lambda.Runtime.PROVIDED_AL2023,
    handler: 'bootstrap',
    architecture: common.architecture,
    memorySize: 256,
    timeout: own.timeout ?? Duration.seconds(10),
    role,
    logGroup,
    environment: { LOCKSTEP_LOG: common.logLevel, ...own.environment },
  });
}
