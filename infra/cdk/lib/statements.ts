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

/** The partition of the key that seals task tokens. */
const TOKEN_KEY = '#token-key';

/** The partition of what closes locks that have no record yet: the pause of all locks. */
const NEW_LOCKS = '#new-locks';

const WRITE_ACTIONS = ['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'];

function allow(actions: string[], resources: string[], conditions?: iam.Conditions): iam.PolicyStatement {
  return new iam.PolicyStatement({ actions, resources, conditions });
}

/** What the parts of a stack may do, statement by statement: infra/template.yaml has the same with the reasons. */
export class Statements {
  private readonly inClusters: iam.Conditions;

  constructor(private readonly stack: Stack, clusterArns: string[]) {
    const clusters = clusterArns.length ? clusterArns : [this.arn('ecs', 'cluster', '*')];
    this.inClusters = { ArnLike: { 'ecs:cluster': clusters } };
  }

  private arn(service: string, resource: string, resourceName: string, arnFormat = ArnFormat.SLASH_RESOURCE_NAME): string {
    return this.stack.formatArn({ service, resource, resourceName, arnFormat });
  }

  /** Executions of the state machines of a name, either of which may have a `*`. */
  executions(stateMachine: string, execution = '*'): string {
    return this.arn('states', 'execution', `${stateMachine}:${execution}`, ArnFormat.COLON_RESOURCE_NAME);
  }

  /** Executions of the state machine with an ARN, which may be a token or have a `*`. */
  executionsOf(stateMachineArn: string, execution = '*'): string {
    if (!Token.isUnresolved(stateMachineArn)) {
      return `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${execution}`;
    }
    const parts = this.stack.splitArn(stateMachineArn, ArnFormat.COLON_RESOURCE_NAME);
    return this.executions(parts.resourceName!, execution);
  }

  /** ListExecutions returns names and times of executions, never their input. */
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
      // ForAllValues is true of a request without the key, so Null asks for it.
      allow(ITEM_ACTIONS, [table.tableArn], {
        'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': `${prefix}*` },
        Null: { 'dynamodb:LeadingKeys': 'false' },
      }),
      allow(['dynamodb:GetItem'], [table.tableArn], {
        'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': NEW_LOCKS },
        Null: { 'dynamodb:LeadingKeys': 'false' },
      }),
      // A Deny holds beside what else the grantee may do to this table.
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

  /** operate: the items and the history of all locks. What it may stop and wake is in policies that it shares. */
  operate(table: dynamodb.ITable): iam.PolicyStatement[] {
    return [allow([...ITEM_ACTIONS, 'dynamodb:Query'], [table.tableArn]), this.readLocks(table)];
  }

  /** view: what operate reads, without the key of task tokens. */
  view(table: dynamodb.ITable): iam.PolicyStatement[] {
    return [
      ...this.readAll(table),
      this.readLocks(table),
      this.evidence(),
      this.listTasks(),
      this.ofTasks('ecs:DescribeTasks'),
    ];
  }

  /** The history of starts that got no permit. */
  readEvents(eventLog: logs.ILogGroup): iam.PolicyStatement {
    return allow(['logs:FilterLogEvents'], [eventLog.logGroupArn]);
  }

  invoke(...functions: lambda.IFunction[]): iam.PolicyStatement {
    return allow(['lambda:InvokeFunction'], functions.map((one) => one.functionArn));
  }

  /** How `lockstep` finds the functions, what `lockstep doctor` checks, and the dashboard. */
  diagnose(functions: lambda.IFunction[], deadLetters: sqs.IQueue, dashboardName: string): iam.PolicyStatement[] {
    return [
      allow(['cloudformation:DescribeStacks', 'cloudformation:DescribeStackResources'], [this.arn('cloudformation', 'stack', `${this.stack.stackName}/*`)]),
      allow(['lambda:GetFunctionConfiguration'], functions.map((one) => one.functionArn)),
      allow(['sqs:GetQueueAttributes'], [deadLetters.queueArn]),
      allow(['cloudwatch:GetDashboard'], [this.stack.formatArn({ service: 'cloudwatch', region: '', resource: 'dashboard', resourceName: dashboardName })]),
    ];
  }

  /** Hand-over: AWS defines no resource type for SendTaskSuccess. The task token limits it to one state. */
  handOver(bus: events.IEventBus): iam.PolicyStatement[] {
    return [
      allow(['states:SendTaskSuccess'], ['*']),
      this.describeExecutions(),
      this.putEvents(bus),
    ];
  }

  /** Any workflow may hold a lock: decision 0017. */
  private describeExecutions(): iam.PolicyStatement {
    return allow(['states:DescribeExecution'], this.allExecutions());
  }

  /** The evidence of Step Functions about holders, as the reaper gathers it: show says what the reaper does. */
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

  /** State machines of a name, which may have a `*`. */
  stateMachines(name: string): string {
    return this.arn('states', 'stateMachine', name, ArnFormat.COLON_RESOURCE_NAME);
  }

  /** What an operator may start: that it is there is checked first. The input may be that of a schedule. */
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
      // A RunTask that failed may have started a task.
      allow(['states:GetExecutionHistory'], this.allExecutions()),
      this.listTasks(),
      this.ofTasks('ecs:DescribeTasks', 'ecs:StopTask'),
    ];
  }

  /** ListTasks of a whole cluster is authorised on `*`: its only resource type is the container instance. */
  private listTasks(): iam.PolicyStatement {
    return allow(['ecs:ListTasks'], ['*'], this.inClusters);
  }

  /** The id of a task is not known before it starts, so the cluster is the limit. */
  ofTasks(...actions: string[]): iam.PolicyStatement {
    return allow(actions, [this.arn('ecs', 'task', '*')], this.inClusters);
  }

  /** A task of a service protects itself from scale-in, and with `--drain-on-deploy` reads the deployments of its service. */
  protection(): iam.PolicyStatement[] {
    return [
      this.ofTasks('ecs:GetTaskProtection', 'ecs:UpdateTaskProtection'),
      allow(['ecs:DescribeServices'], [this.arn('ecs', 'service', '*')], this.inClusters),
    ];
  }

  /** A holder in a container: its items, and evidence whether a holder in its way is dead. */
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

  /** runTask.sync and startExecution.sync receive the end of the work through these rules. */
  managedRules(): iam.PolicyStatement {
    const rules = ['StepFunctionsGetEventsForECSTaskRule', 'StepFunctionsGetEventsForStepFunctionsExecutionRule'];
    return allow(['events:DescribeRule', 'events:PutRule', 'events:PutTargets'], rules.map((rule) => this.arn('events', 'rule', rule)));
  }

  /** Tasks of these definitions, and their end. */
  runTasks(taskDefinitionArns: string[]): iam.PolicyStatement[] {
    return [
      allow(['ecs:RunTask'], taskDefinitionArns, this.inClusters),
      this.ofTasks('ecs:DescribeTasks', 'ecs:StopTask'),
    ];
  }

  /** For a run that does not name its container. The action has no resource type. */
  findContainer(): iam.PolicyStatement {
    return allow(['ecs:DescribeTaskDefinition'], ['*']);
  }

  /** For Tags and PropagateTags of runTask; only while a task is started. */
  tagTasks(): iam.PolicyStatement {
    return allow(['ecs:TagResource'], [this.arn('ecs', 'task', '*')], { StringEquals: { 'ecs:CreateAction': 'RunTask' } });
  }

  passRoles(roleArns: string[]): iam.PolicyStatement {
    return allow(['iam:PassRole'], roleArns, { StringEquals: { 'iam:PassedToService': 'ecs-tasks.amazonaws.com' } });
  }

  /** Lambda makes the network interfaces of a function; its code may not. */
  networkInterfaces(): iam.PolicyStatement[] {
    const conditions = { Null: { 'lambda:SourceFunctionArn': 'false' } };
    return [
      allow(INTERFACE_ACTIONS, ['*']),
      new iam.PolicyStatement({ effect: iam.Effect.DENY, actions: INTERFACE_ACTIONS, resources: ['*'], conditions }),
    ];
  }

  /** What services do with a key on behalf of the caller. */
  useKey(key: kms.IKey, ...services: string[]): iam.PolicyStatement {
    const actions = ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey', 'kms:ReEncryptFrom', 'kms:ReEncryptTo'];
    const via = services.map((service) => `${service}.${this.stack.region}.${this.stack.urlSuffix}`);
    return allow(actions, [key.keyArn], { StringEquals: { 'kms:ViaService': via } });
  }

  /** SNS uses the key of a topic on behalf of its publisher: https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html */
  publish(topic: sns.ITopic, key?: kms.IKey): iam.PolicyStatement[] {
    const via = { StringEquals: { 'kms:ViaService': `sns.${this.stack.region}.${this.stack.urlSuffix}` } };
    const seal = key ? [allow(['kms:Decrypt', 'kms:GenerateDataKey'], [key.keyArn], via)] : [];
    return [allow(['sns:Publish'], [topic.topicArn]), ...seal];
  }

  /** Step Functions names the state machine whose data it decrypts, so these keys open nothing else. */
  readWorkflows(keys: kms.IKey[]): iam.PolicyStatement {
    const conditions = { Null: { 'kms:EncryptionContext:aws:states:stateMachineArn': 'false' } };
    return allow(['kms:Decrypt'], keys.map((key) => key.keyArn), conditions);
  }

  /** The workflows of exclusive-run, and the executions that exclusive-run has named. */
  runWorkflows(stateMachineArns: string[], executions: string[]): iam.PolicyStatement[] {
    return [
      allow(['states:StartExecution'], stateMachineArns),
      allow(['states:DescribeExecution', 'states:StopExecution'], executions),
    ];
  }
}
