import { ArnFormat, Stack, Token } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as events from 'aws-cdk-lib/aws-events';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sqs from 'aws-cdk-lib/aws-sqs';

const READ_ACTIONS = ['dynamodb:GetItem', 'dynamodb:Query'];
const ITEM_ACTIONS = ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'];

/** What Lambda needs to run a function in a VPC. */
const INTERFACE_ACTIONS = ['ec2:CreateNetworkInterface', 'ec2:DescribeNetworkInterfaces', 'ec2:DescribeSubnets',
  'ec2:DeleteNetworkInterface', 'ec2:AssignPrivateIpAddresses', 'ec2:UnassignPrivateIpAddresses'];

/** Partition key of the item with the key that seals task tokens. */
const TOKEN_KEY = '#token-key';

/** Partition key of the item with the pause of all locks, which also closes locks that have no record yet. */
const NEW_LOCKS = '#new-locks';

const WRITE_ACTIONS = ['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'];

function allow(actions: string[], resources: string[], conditions?: iam.Conditions): iam.PolicyStatement {
  return new iam.PolicyStatement({ actions, resources, conditions });
}

/** The policy statements of a stack. infra/template.yaml has the same statements, with the reasons. */
export class Statements {
  private readonly inClusters: iam.Conditions;

  constructor(private readonly stack: Stack, clusterArns: string[]) {
    const clusters = clusterArns.length ? clusterArns : [this.arn('ecs', 'cluster', '*')];
    this.inClusters = { ArnLike: { 'ecs:cluster': clusters } };
  }

  private arn(service: string, resource: string, resourceName: string, arnFormat = ArnFormat.SLASH_RESOURCE_NAME): string {
    return this.stack.formatArn({ service, resource, resourceName, arnFormat });
  }

  /** Returns the ARN of executions named `execution` of the state machine named `stateMachine`. Both names may contain a `*`. */
  executions(stateMachine: string, execution = '*'): string {
    return this.arn('states', 'execution', `${stateMachine}:${execution}`, ArnFormat.COLON_RESOURCE_NAME);
  }

  /** Returns the ARN of executions of the state machine `stateMachineArn`, which may be a token or contain a `*`. */
  executionsOf(stateMachineArn: string, execution = '*'): string {
    if (!Token.isUnresolved(stateMachineArn)) {
      return `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${execution}`;
    }
    const parts = this.stack.splitArn(stateMachineArn, ArnFormat.COLON_RESOURCE_NAME);
    return this.executions(parts.resourceName!, execution);
  }

  /** Allows ListExecutions, which returns names and times of executions, never their input. */
  listExecutions(stateMachineArns: string[]): iam.PolicyStatement {
    const every = this.stateMachines('*');
    return allow(['states:ListExecutions'], stateMachineArns.length ? stateMachineArns : [every]);
  }

  writeLogs(logGroupArn: string): iam.PolicyStatement {
    return allow(['logs:CreateLogStream', 'logs:PutLogEvents'], [logGroupArn]);
  }

  items(table: dynamodb.ITable): iam.PolicyStatement {
    return allow(ITEM_ACTIONS, [table.tableArn]);
  }

  itemsOfPrefix(table: dynamodb.ITable, prefix: string): iam.PolicyStatement[] {
    return [
      // ForAllValues is also true for a request without the key dynamodb:LeadingKeys, so Null requires the key.
      allow(ITEM_ACTIONS, [table.tableArn], {
        'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': `${prefix}*` },
        Null: { 'dynamodb:LeadingKeys': 'false' },
      }),
      allow(['dynamodb:GetItem'], [table.tableArn], {
        'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': NEW_LOCKS },
        Null: { 'dynamodb:LeadingKeys': 'false' },
      }),
      // The Deny statements apply even if another policy of the grantee allows more on this table.
      this.deny(['dynamodb:GetItem'], table, { 'ForAnyValue:StringNotLike': { 'dynamodb:LeadingKeys': [`${prefix}*`, NEW_LOCKS] } }),
      this.deny(WRITE_ACTIONS, table, { 'ForAnyValue:StringNotLike': { 'dynamodb:LeadingKeys': `${prefix}*` } }),
    ];
  }

  readHistory(table: dynamodb.ITable): iam.PolicyStatement {
    return allow(['dynamodb:Query'], [table.tableArn]);
  }

  readDue(table: dynamodb.ITable): iam.PolicyStatement {
    return allow(['dynamodb:Query'], [`${table.tableArn}/index/due`]);
  }

  private readLocks(table: dynamodb.ITable): iam.PolicyStatement {
    return allow(['dynamodb:Query'], [`${table.tableArn}/index/locks`]);
  }

  /**
   * Allows operate to read and write the items and the history of all locks. HandOverPolicy and RecoveryPolicy, which operate shares with
   * the reaper, say which executions and tasks it may stop and which states it may wake.
   */
  operate(table: dynamodb.ITable): iam.PolicyStatement[] {
    return [allow([...ITEM_ACTIONS, 'dynamodb:Query'], [table.tableArn]), this.readLocks(table)];
  }

  /** Allows view to read what operate reads, except the key that seals task tokens. */
  view(table: dynamodb.ITable): iam.PolicyStatement[] {
    return [
      ...this.readAll(table),
      this.readLocks(table),
      this.evidence(),
      this.listTasks(),
      this.ofTasks('ecs:DescribeTasks'),
    ];
  }

  /** Allows reading the log of events, which has the starts that got no permit: the history in the table lacks them. */
  readEvents(eventLog: logs.ILogGroup): iam.PolicyStatement {
    return allow(['logs:FilterLogEvents'], [eventLog.logGroupArn]);
  }

  invoke(...functions: lambda.IFunction[]): iam.PolicyStatement {
    return allow(['lambda:InvokeFunction'], functions.map((one) => one.functionArn));
  }

  /**
   * Allows `lockstep doctor` to read the definition and the logging of exclusive-run, whether EventBridge may write to the log of
   * events, and whether mails are confirmed. AWS defines no resource type for DescribeResourcePolicies.
   */
  diagnoseSetup(exclusiveRunArn: string, mailTopic?: sns.ITopic): iam.PolicyStatement[] {
    const mails = mailTopic ? [allow(['sns:GetTopicAttributes'], [mailTopic.topicArn])] : [];
    return [allow(['states:DescribeStateMachine'], [exclusiveRunArn]), allow(['logs:DescribeResourcePolicies'], ['*']), ...mails];
  }

  /** Allows `lockstep` to find the functions, and `lockstep doctor` to check the functions, the rules, the queue and the dashboard. */
  diagnose(functions: lambda.IFunction[], rules: events.Rule[], deadLetters: sqs.IQueue, dashboardName: string): iam.PolicyStatement[] {
    return [
      allow(['cloudformation:DescribeStacks', 'cloudformation:DescribeStackResources'], [this.arn('cloudformation', 'stack', `${this.stack.stackName}/*`)]),
      allow(['lambda:GetFunctionConcurrency', 'lambda:GetFunctionConfiguration'], functions.map((one) => one.functionArn)),
      allow(['events:DescribeRule'], rules.map((one) => one.ruleArn)),
      allow(['sqs:GetQueueAttributes'], [deadLetters.queueArn]),
      allow(['cloudwatch:GetDashboard'], [this.stack.formatArn({ service: 'cloudwatch', region: '', resource: 'dashboard', resourceName: dashboardName })]),
    ];
  }

  /** Allows a hand-over. AWS defines no resource type for SendTaskSuccess. The task token limits the call to one state. */
  handOver(bus: events.IEventBus): iam.PolicyStatement[] {
    return [
      allow(['states:SendTaskSuccess'], ['*']),
      this.describeExecutions(),
      this.putEvents(bus),
    ];
  }

  /** Allows DescribeExecution of every execution, because any workflow may hold a lock: decision 0017. */
  private describeExecutions(): iam.PolicyStatement {
    return allow(['states:DescribeExecution'], this.allExecutions());
  }

  /** Allows reading the same evidence of Step Functions about holders as the reaper reads, so that show says what the reaper will do. */
  private evidence(): iam.PolicyStatement {
    const actions = ['states:DescribeExecution', 'states:DescribeStateMachineForExecution', 'states:GetExecutionHistory'];
    return allow(actions, this.allExecutions());
  }

  private allExecutions(): string[] {
    return [this.arn('states', 'execution', '*', ArnFormat.COLON_RESOURCE_NAME)];
  }

  putEvents(bus: events.IEventBus): iam.PolicyStatement {
    return allow(['events:PutEvents'], [bus.eventBusArn], { StringEquals: { 'events:source': 'lockstep' } });
  }

  /** Returns the ARN of the state machine named `name`, which may contain a `*`. */
  stateMachines(name: string): string {
    return this.arn('states', 'stateMachine', name, ArnFormat.COLON_RESOURCE_NAME);
  }

  /** Allows operate to start these state machines, to check that they exist, and to take the input from a schedule or a rule. */
  start(stateMachineArns: string[]): iam.PolicyStatement[] {
    return [
      allow(['states:StartExecution', 'states:DescribeStateMachine'], stateMachineArns),
      allow(['scheduler:GetSchedule'], [this.arn('scheduler', 'schedule', '*')]),
      allow(['events:DescribeRule', 'events:ListTargetsByRule'], [this.arn('events', 'rule', '*')]),
    ];
  }

  recovery(stoppable: string[]): iam.PolicyStatement[] {
    return [
      allow(['states:StopExecution'], stoppable),
      allow(['states:DescribeStateMachineForExecution'], this.allExecutions()),
      // The history is read, because a RunTask that failed may have started a task.
      allow(['states:GetExecutionHistory'], this.allExecutions()),
      this.listTasks(),
      this.ofTasks('ecs:DescribeTasks', 'ecs:StopTask'),
    ];
  }

  /** Allows ListTasks. For a whole cluster it is authorised on `*`: its only resource type is the container instance. */
  private listTasks(): iam.PolicyStatement {
    return allow(['ecs:ListTasks'], ['*'], this.inClusters);
  }

  /** Allows actions on tasks. The id of a task is not known before the task starts, so the cluster is the limit. */
  ofTasks(...actions: string[]): iam.PolicyStatement {
    return allow(actions, [this.arn('ecs', 'task', '*')], this.inClusters);
  }

  /** Allows a task of a service to protect itself from scale-in, and to read the deployments of its service (`--drain-on-deploy`). */
  protection(): iam.PolicyStatement[] {
    return [
      this.ofTasks('ecs:GetTaskProtection', 'ecs:UpdateTaskProtection'),
      allow(['ecs:DescribeServices'], [this.arn('ecs', 'service', '*')], this.inClusters),
    ];
  }

  /** Allows a holder in a container to use its items, and to gather evidence of whether a holder in its way is dead. */
  container(table: dynamodb.ITable, bus: events.IEventBus, executions: string[], prefix?: string): iam.PolicyStatement[] {
    const items = prefix === undefined
      ? [
        this.items(table),
        this.denyTokenKey(ITEM_ACTIONS, table),
        this.deny(WRITE_ACTIONS, table, { 'ForAnyValue:StringEquals': { 'dynamodb:LeadingKeys': NEW_LOCKS } }),
      ]
      : this.itemsOfPrefix(table, prefix);
    return [
      ...items,
      allow(['states:DescribeExecution'], executions),
      this.ofTasks('ecs:DescribeTasks'),
      this.listTasks(),
      this.putEvents(bus),
    ];
  }

  private readAll(table: dynamodb.ITable): iam.PolicyStatement[] {
    return [allow(READ_ACTIONS, [table.tableArn]), this.denyTokenKey(READ_ACTIONS, table)];
  }

  private denyTokenKey(actions: string[], table: dynamodb.ITable): iam.PolicyStatement {
    return this.deny(actions, table, { 'ForAnyValue:StringEquals': { 'dynamodb:LeadingKeys': TOKEN_KEY } });
  }

  private deny(actions: string[], table: dynamodb.ITable, conditions: iam.Conditions): iam.PolicyStatement {
    return new iam.PolicyStatement({ effect: iam.Effect.DENY, actions, resources: [table.tableArn], conditions });
  }

  /** Allows the managed rules through which runTask.sync and startExecution.sync learn of the end of the work. */
  managedRules(): iam.PolicyStatement {
    const rules = ['StepFunctionsGetEventsForECSTaskRule', 'StepFunctionsGetEventsForStepFunctionsExecutionRule'];
    return allow(['events:DescribeRule', 'events:PutRule', 'events:PutTargets'], rules.map((rule) => this.arn('events', 'rule', rule)));
  }

  /** Allows starting tasks of these task definitions, and describing and stopping tasks. */
  runTasks(taskDefinitionArns: string[]): iam.PolicyStatement[] {
    return [
      allow(['ecs:RunTask'], taskDefinitionArns, this.inClusters),
      this.ofTasks('ecs:DescribeTasks', 'ecs:StopTask'),
    ];
  }

  /** Allows reading the name of the container for a run that names none. The action has no resource type. */
  findContainer(): iam.PolicyStatement {
    return allow(['ecs:DescribeTaskDefinition'], ['*']);
  }

  /** Allows Tags and PropagateTags of runTask. The condition limits it to tags that RunTask sets. */
  tagTasks(): iam.PolicyStatement {
    return allow(['ecs:TagResource'], [this.arn('ecs', 'task', '*')], { StringEquals: { 'ecs:CreateAction': 'RunTask' } });
  }

  passRoles(roleArns: string[]): iam.PolicyStatement {
    return allow(['iam:PassRole'], roleArns, { StringEquals: { 'iam:PassedToService': 'ecs-tasks.amazonaws.com' } });
  }

  /** Allows Lambda to create the network interfaces of a function, and denies that to the code of the function. */
  networkInterfaces(): iam.PolicyStatement[] {
    const conditions = { Null: { 'lambda:SourceFunctionArn': 'false' } };
    return [
      allow(INTERFACE_ACTIONS, ['*']),
      new iam.PolicyStatement({ effect: iam.Effect.DENY, actions: INTERFACE_ACTIONS, resources: ['*'], conditions }),
    ];
  }

  /** Allows services to use a key on behalf of the caller. */
  useKey(key: kms.IKey, ...services: string[]): iam.PolicyStatement {
    const actions = ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey', 'kms:ReEncryptFrom', 'kms:ReEncryptTo'];
    const via = services.map((service) => `${service}.${this.stack.region}.${this.stack.urlSuffix}`);
    return allow(actions, [key.keyArn], { StringEquals: { 'kms:ViaService': via } });
  }

  /**
   * Allows publishing to a topic. SNS uses the key of a topic on behalf of the publisher:
   * https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html
   */
  publish(topic: sns.ITopic, key?: kms.IKey): iam.PolicyStatement[] {
    const via = { StringEquals: { 'kms:ViaService': `sns.${this.stack.region}.${this.stack.urlSuffix}` } };
    const seal = key ? [allow(['kms:Decrypt', 'kms:GenerateDataKey'], [key.keyArn], via)] : [];
    return [allow(['sns:Publish'], [topic.topicArn]), ...seal];
  }

  /** Allows decrypting data of state machines only. Step Functions puts the ARN of the state machine into the encryption context. */
  readWorkflows(keys: kms.IKey[]): iam.PolicyStatement {
    const conditions = { Null: { 'kms:EncryptionContext:aws:states:stateMachineArn': 'false' } };
    return allow(['kms:Decrypt'], keys.map((key) => key.keyArn), conditions);
  }

  /** Allows exclusive-run to start workflows, and to describe and stop the executions that it has started. */
  runWorkflows(stateMachineArns: string[], executions: string[]): iam.PolicyStatement[] {
    return [
      allow(['states:StartExecution'], stateMachineArns),
      allow(['states:DescribeExecution', 'states:StopExecution'], executions),
    ];
  }
}
