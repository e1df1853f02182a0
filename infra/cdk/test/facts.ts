import * as fs from 'node:fs';
import * as path from 'node:path';
import { Json, ROOT } from './cloudformation';

/** Conditions of these operators hold if any of their values does, so that a list is as good as several statements. */
const ANY_OF = ['ArnEquals', 'ArnLike', 'StringEquals'];

const list = (value: Json): Json[] => (Array.isArray(value) ? value : [value]);

function conditions(node: Json): Json[] {
  let found: Json[] = [{}];
  for (const [operator, keys] of Object.entries<Json>(node ?? {})) {
    for (const [key, values] of Object.entries<Json>(keys)) {
      const choices = ANY_OF.includes(operator) ? list(values) : [list(values).sort()];
      found = found.flatMap((one) => choices.map((value) => ({ ...one, [`${operator} ${key}`]: value })));
    }
  }
  return found;
}

/** What a list of statements allows and denies, one line for each action, resource and condition, in order. */
export function permissions(statements: Json[]): string[] {
  const lines = statements.flatMap((statement) => list(statement.Action).flatMap((action) =>
    list(statement.Resource ?? '').flatMap((resource) => conditions(statement.Condition).map((condition) => JSON.stringify([
      statement.Effect, JSON.stringify(statement.Principal ?? ''), action, resource,
      Object.entries(condition).sort(([a], [b]) => (a < b ? -1 : 1)),
    ])))));
  return [...new Set(lines)].sort();
}

/** A value whose lists of attributes have one order. */
function ordered(value: Json): Json {
  if (Array.isArray(value)) {
    return value.map(ordered).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  if (value === null || typeof value !== 'object') {
    return value === undefined ? value : String(value);
  }
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, ordered(value[key])]));
}

/** `outdir` is where the CDK copies assets to; those of the tests hold the function's name. */
function functionFacts(properties: Json, globals: Json, outdir: string): Json {
  const { CodeUri, Code, Tags, ...own } = { ...globals, ...properties };
  // SAM has a map, CloudFormation a list.
  const tags = Array.isArray(Tags) ? Object.fromEntries(Tags.map((tag: Json) => [tag.Key, tag.Value])) : Tags ?? {};
  const variables = { ...globals.Environment?.Variables, ...properties.Environment?.Variables };
  const built = CodeUri ? /([a-z-]+)\/bootstrap\.zip$/.exec(CodeUri)![1] : fs.readFileSync(path.join(outdir, `asset.${Code.S3Key}`), 'utf8');
  return { ...own, Environment: { Variables: variables }, tags, built };
}

function machineFacts(properties: Json, outdir: string): Json {
  const { DefinitionUri, DefinitionS3Location, Type, StateMachineType, Role, RoleArn, Logging, LoggingConfiguration, DefinitionSubstitutions } = properties;
  const logging = Logging ?? LoggingConfiguration;
  const destinations = logging.Destinations.map((one: Json) => one.CloudWatchLogsLogGroup);
  const file = DefinitionUri ? path.join(ROOT, 'infra', DefinitionUri) : path.join(outdir, `asset.${DefinitionS3Location.Key}`);
  const definition = fs.readFileSync(file, 'utf8');
  return { definition, type: Type ?? StateMachineType, role: Role ?? RoleArn, logging: { ...logging, Destinations: destinations }, DefinitionSubstitutions };
}

/** The text of a message, with the paths of what is filled in: the CDK names its placeholders by itself. */
export function message({ InputPathsMap, InputTemplate }: Json): string {
  return InputTemplate.replace(/<([^>]+)>/g, (_: string, name: string) => `<${InputPathsMap[name]}>`);
}

function targetFacts({ Id: _id, InputTransformer, ...target }: Json): Json {
  return InputTransformer ? { ...target, message: message(InputTransformer) } : target;
}

function ruleFacts({ State: _state, Targets, EventBusName, ...properties }: Json): Json {
  const bus = EventBusName === 'default' ? undefined : EventBusName;
  return { ...properties, EventBusName: bus, Targets: Targets.map(targetFacts) };
}

/** Permissions of the rules to invoke a function, by the function: a Ref of a function is its name, GetAtt its ARN. */
function permissionFacts({ FunctionName, ...properties }: Json): Json {
  return { ...properties, FunctionName: FunctionName.replace('.Arn>', '>') };
}

/** The permissions of each role, from its own policies and those that name it. */
function roles(resources: { [name: string]: Json }): { [name: string]: Json } {
  const found: { [name: string]: Json } = {};
  for (const [name, { Type, Properties }] of Object.entries(resources)) {
    if (Type === 'AWS::IAM::Role') {
      const own = (Properties.Policies ?? []).flatMap((policy: Json) => policy.PolicyDocument.Statement);
      const attached = Object.values(resources)
        .filter((one) => one.Type === 'AWS::IAM::Policy' && one.Properties.Roles.includes(`<${name}>`))
        .flatMap((one) => one.Properties.PolicyDocument.Statement);
      found[name] = {
        trusts: permissions(Properties.AssumeRolePolicyDocument.Statement),
        permissions: permissions([...own, ...attached]),
        managed: [...(Properties.ManagedPolicyArns ?? [])].sort(),
        path: Properties.Path ?? '/',
        boundary: Properties.PermissionsBoundary,
      };
    }
  }
  return found;
}

/** A log group, with what its own policy allows. */
function logGroupFacts({ ResourcePolicyDocument, ...properties }: Json): Json {
  return { ...properties, opensTo: permissions(ResourcePolicyDocument?.Statement ?? []) };
}

/** What a template makes, in one form for SAM and CloudFormation, as lists of facts by kind of resource. */
export function facts(resources: { [name: string]: Json }, globals: Json = {}, outdir = ''): { [kind: string]: Json } {
  const found: { [kind: string]: { [name: string]: Json } } = { roles: roles(resources) };
  const put = (kind: string, name: string, fact: Json) => {
    found[kind] = { ...found[kind], [name]: ordered(fact) };
  };
  let grants = 0;
  for (const [name, { Type, Properties, DeletionPolicy = 'Delete' }] of Object.entries(resources)) {
    switch (Type) {
      case 'AWS::IAM::Role': case 'AWS::IAM::Policy': break;
      case 'AWS::Serverless::Function': case 'AWS::Lambda::Function':
        put('functions', name, functionFacts(Properties, globals, outdir)); break;
      case 'AWS::Serverless::StateMachine': case 'AWS::StepFunctions::StateMachine':
        put('machines', name, machineFacts(Properties, outdir)); break;
      case 'AWS::IAM::ManagedPolicy':
        put('managed', name, permissions(Properties.PolicyDocument.Statement)); break;
      case 'AWS::SQS::QueuePolicy':
        put('queuePolicies', Properties.Queues[0], permissions(Properties.PolicyDocument.Statement)); break;
      case 'AWS::SNS::TopicPolicy':
        put('topicPolicies', Properties.Topics[0], permissions(Properties.PolicyDocument.Statement)); break;
      case 'AWS::Logs::LogGroup': put(Type, name, { ...logGroupFacts(Properties), DeletionPolicy }); break;
      case 'AWS::Lambda::Permission': put('permissions', Properties.SourceArn, permissionFacts(Properties)); grants++; break;
      case 'AWS::Events::Rule': put('rules', name, ruleFacts(Properties)); break;
      case 'AWS::CloudWatch::Dashboard':
        put('dashboards', name, { ...Properties, DashboardBody: JSON.parse(Properties.DashboardBody) }); break;
      default: put(Type, name, { ...Properties, DeletionPolicy });
    }
  }
  put('permissions', 'count', grants);
  return found;
}
