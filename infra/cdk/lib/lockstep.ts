import * as fs from 'fs';
import * as path from 'path';
import { CfnOutput, Duration, Stack, Token } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as events from 'aws-cdk-lib/aws-events';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { addAlarms, addEventLog } from './alarms';
import { checkLockName } from './checks';
import { addExclusiveRun, grantNestedRun, LockFunctions } from './exclusive-run-machine';
import { addDashboard } from './dashboard';
import { addFunction, CommonFunctionOptions } from './functions';
import { addLockTable } from './lock-table';
import { checkProps, LockstepProps, LogLevel } from './lockstep-props';
import { LockMetrics } from './metrics';
import { addOrganisation, checkOrganisation, Organisation } from './organisation';
import { addReaperTriggers } from './reaper-triggers';
import { Statements } from './statements';

/** The version of the constructs, of infra/template.yaml and of the functions. */
const VERSION: string = JSON.parse(fs.readFileSync(path.join(__dirname, '..', 'package.json'), 'utf8')).version;

/**
 * Lockstep: the lock table, the seven functions, the triggers of the reaper, and a shared exclusive-run for the work that the
 * props name. A stack has at most one Lockstep.
 *
 * The construct makes the same resources with the same permissions as infra/template.yaml.
 */
export class Lockstep extends Construct {
  /** One item for each lock. It outlives the stack, and its deletion protection is on. */
  public readonly table: dynamodb.Table;
  /** Acquires a permit of a lock, or returns its holders. */
  public readonly acquireLockFunction: lambda.Function;
  /** Renews the lease of a holder. */
  public readonly heartbeatFunction: lambda.Function;
  /** Releases a permit and records how the run ended. */
  public readonly releaseLockFunction: lambda.Function;
  /** Counts the running executions of a state machine. */
  public readonly checkRunningExecutionsFunction: lambda.Function;
  /** Frees the permits of dead holders, and stops stale ones. */
  public readonly reaperFunction: lambda.Function;
  /** Pauses, resumes and shows locks, and evicts holders and waiters. */
  public readonly operateFunction: lambda.Function;
  /** Lists and shows locks and their history. Has the code of operate, and a role that cannot write. */
  public readonly viewFunction: lambda.Function;
  /** The dashboard with the page of all locks. */
  public readonly dashboard: cloudwatch.CfnDashboard;
  /** Receives the alarms, and the events that call for action. */
  public readonly alarmTopic: sns.Topic;
  /** Sends the alarms and messages as mails. Undefined without the prop `alarmEmail`. Subscribe further addresses to it. */
  public readonly mailTopic?: sns.Topic;
  /** Log group with all events of source `lockstep`. */
  public readonly eventLogGroup: logs.LogGroup;
  /** Queue with events that could not be delivered to the reaper, or that the reaper failed to process. */
  public readonly recoveryDeadLetters: sqs.Queue;
  /** Runs under a lock a task or a workflow that the props name. */
  public readonly exclusiveRun: sfn.StateMachine;
  /** For task roles that use the lockstep command, with every lock. `grantContainer` grants the same for some locks only. */
  public readonly taskLockPolicy: iam.ManagedPolicy;
  /** For task roles of ECS services whose tasks work under a lock. */
  public readonly taskProtectionPolicy: iam.ManagedPolicy;
  /** For roles and users that may pause, resume and evict. */
  public readonly operatorPolicy: iam.ManagedPolicy;
  /** For roles and users that may see all locks and their history. */
  public readonly viewerPolicy: iam.ManagedPolicy;
  /** The event bus that receives the events of source `lockstep`. */
  public readonly eventBus: events.IEventBus;
  /** The metrics of all locks of this Lockstep. */
  public readonly metrics: LockMetrics;
  /** Whether a lock has metrics of its own. */
  public readonly metricsPerLock: boolean;

  /** @internal */
  public readonly _organisation: Organisation;

  private readonly statements: Statements;
  private readonly props: LockstepProps;
  private readonly prefix: string;

  constructor(scope: Construct, id: string, props: LockstepProps = {}) {
    super(scope, id);
    checkProps(this, props);
    checkOrganisation(this, props);
    this.checkStack();
    this.props = props;
    this.prefix = Stack.of(this).stackName;
    this.metricsPerLock = props.metricsPerLock ?? false;
    this.statements = new Statements(Stack.of(this), props.clusterArns ?? []);
    this._organisation = addOrganisation(this, this.statements, props);
    this.eventBus = props.eventBus ?? events.EventBus.fromEventBusName(this, 'EventBus', 'default');
    this.table = addLockTable(this, props.key);
    this.metrics = new LockMetrics(undefined, this.table.tableName);
    this.eventLogGroup = addEventLog(this, { stackName: this.prefix, table: this.table, props });

    const items = this.statements.items(this.table);
    const lockFunction = this.functionAdder(this.lockEnvironment());
    this.acquireLockFunction = lockFunction('AcquireLock', 'acquire-lock', 'Acquires a permit of a lock, or returns its holders', [items]);
    this.heartbeatFunction = lockFunction('Heartbeat', 'heartbeat', 'Renews the lease of a holder', [items]);
    this.releaseLockFunction = lockFunction('ReleaseLock', 'release-lock', 'Releases a permit and records how the run ended',
      [items, this.statements.readHistory(this.table)]);
    this.reaperFunction = lockFunction('Reaper', 'reaper', 'Frees the permits of dead holders, and stops stale ones',
      [items, this.statements.readDue(this.table)], Duration.seconds(60));
    const seen = { ...this.lockEnvironment(), LOCKSTEP_EVENT_LOG_GROUP: this.eventLogGroup.logGroupName };
    const readEvents = this.statements.readEvents(this.eventLogGroup);
    this.operateFunction = this.functionAdder(seen)('Operate', 'operate', 'Pauses, resumes and shows locks, and evicts holders and waiters',
      [...this.statements.operate(this.table), readEvents], Duration.seconds(60));
    const pages = { LOCKSTEP_READ_ONLY: 'true', LOCKSTEP_OPERATE_FUNCTION: this.operateFunction.functionArn };
    this.viewFunction = this.functionAdder({ ...seen, ...pages })('View', 'view',
      'Lists and shows locks and their history', [...this.statements.view(this.table), readEvents], Duration.seconds(30), 'operate');
    this.dashboard = addDashboard(this, this.viewFunction);
    this.checkRunningExecutionsFunction = this.functionAdder({})('CheckRunningExecutions', 'check-running-executions',
      'Counts the running executions of a state machine (advisory)', [this.statements.listExecutions(props.workflowArns ?? [])], undefined, undefined, []);

    this.recoveryDeadLetters = addReaperTriggers(this, this.reaperFunction, this.table, props);
    const { alarmTopic, mailTopic } = addAlarms(this, {
      eventLog: this.eventLogGroup, statements: this.statements, organisation: this._organisation, logRetention: this._logRetention,
      stackName: this.prefix, props, table: this.table, reaper: this.reaperFunction, deadLetters: this.recoveryDeadLetters,
      lockFunctions: { AcquireLock: this.acquireLockFunction, Heartbeat: this.heartbeatFunction, ReleaseLock: this.releaseLockFunction },
    });
    this.alarmTopic = alarmTopic;
    this.mailTopic = mailTopic;
    this.exclusiveRun = this.addSharedRun();
    this.addFunctionPolicies();
    this.taskLockPolicy = this.managed('TaskLockPolicy', this.containerStatements());
    this.operatorPolicy = this.managed('OperatorPolicy', this.operatorStatements(this.operateFunction, this.viewFunction));
    this.viewerPolicy = this.managed('ViewerPolicy', this.operatorStatements(this.viewFunction));
    this.taskProtectionPolicy = this.managed('TaskProtectionPolicy', this.statements.protection());
    this.addOutputs();
  }

  /**
   * Start of the names of the state machines whose executions the functions may stop without an entry in `workflowArns`:
   * decision 0022.
   */
  public get stoppablePrefix(): string {
    return `${this.prefix}-team-`;
  }

  /** Grants what a workflow needs to start the shared exclusive-run and to wait for its end. */
  public grantRun(grantee: iam.IGrantable): iam.Grant {
    return grantNestedRun(this, this.exclusiveRun, grantee);
  }

  /** Grants the call of acquire-lock. The grantee may name any lock: IAM sees no payload. */
  public grantAcquire(grantee: iam.IGrantable): iam.Grant {
    return this.grantInvoke(grantee, this.acquireLockFunction);
  }

  /** Grants the call of heartbeat. */
  public grantHeartbeat(grantee: iam.IGrantable): iam.Grant {
    return this.grantInvoke(grantee, this.heartbeatFunction);
  }

  /** Grants the call of release-lock. */
  public grantRelease(grantee: iam.IGrantable): iam.Grant {
    return this.grantInvoke(grantee, this.releaseLockFunction);
  }

  /** Grants the call of check-running-executions. */
  public grantCheckRunningExecutions(grantee: iam.IGrantable): iam.Grant {
    return this.grantInvoke(grantee, this.checkRunningExecutionsFunction);
  }

  /**
   * Grants what a container needs to use the lockstep command with locks whose names begin with a prefix.
   *
   * @param lockPrefix Up to 128 characters of a lock's name. End it with a slash: the prefix `orders` also allows the lock
   * `orders-eu`.
   */
  public grantContainer(grantee: iam.IGrantable, lockPrefix: string): void {
    checkLockName(this, 'lockPrefix', lockPrefix);
    this.grantAll(grantee, this.containerStatements(lockPrefix));
  }

  /** Grants what the tasks of an ECS service need to protect themselves from scale-in while they hold a lock. */
  public grantTaskProtection(grantee: iam.IGrantable): void {
    this.grantAll(grantee, this.statements.protection());
  }

  /** Grants all acts of operators: the calls of operate and view, and what `lockstep doctor` checks. */
  public grantOperate(grantee: iam.IGrantable): void {
    this.grantAll(grantee, this.operatorStatements(this.operateFunction, this.viewFunction));
  }

  /** Grants the acts that read: the call of view, and what `lockstep doctor` checks. */
  public grantView(grantee: iam.IGrantable): void {
    this.grantAll(grantee, this.operatorStatements(this.viewFunction));
  }

  /** @internal */
  public get _functions(): LockFunctions {
    return { acquireLock: this.acquireLockFunction, heartbeat: this.heartbeatFunction, releaseLock: this.releaseLockFunction };
  }

  /** @internal */
  public get _logRetention(): logs.RetentionDays {
    return this.props.logRetention ?? logs.RetentionDays.ONE_MONTH;
  }

  /** Returns the permissions to call functions, without their versions and aliases, and to run `lockstep doctor`. */
  private operatorStatements(...invoked: lambda.IFunction[]): iam.PolicyStatement[] {
    const all = [this.acquireLockFunction, this.heartbeatFunction, this.releaseLockFunction, this.checkRunningExecutionsFunction,
      this.reaperFunction, this.operateFunction, this.viewFunction];
    return [
      this.statements.invoke(...invoked),
      ...this.statements.diagnose(all, this.rules(), this.recoveryDeadLetters, this.dashboard.ref),
      ...this.statements.diagnoseSetup(this.exclusiveRun.stateMachineArn, this.mailTopic),
    ];
  }

  private grantInvoke(grantee: iam.IGrantable, ...targets: lambda.IFunction[]): iam.Grant {
    return iam.Grant.addToPrincipal({ grantee, actions: ['lambda:InvokeFunction'], resourceArns: targets.map((one) => one.functionArn) });
  }

  private grantAll(grantee: iam.IGrantable, statements: iam.PolicyStatement[]): void {
    statements.forEach((statement) => grantee.grantPrincipal.addToPrincipalPolicy(statement));
  }

  /** Refuses a stack without a name of its own, with which the names of log groups and state machines begin, and a second Lockstep. */
  private checkStack(): void {
    const stack = Stack.of(this);
    if (Token.isUnresolved(stack.stackName)) {
      throw new Error(`${this.node.path}: the stack has a name that is made at deploy time, but must have one of its own: no nested stack`);
    }
    const first = stack.node.findAll().find((child) => child instanceof Lockstep && child !== this);
    if (first) {
      throw new Error(`${this.node.path}: the stack already has a Lockstep, ${first.node.path}, but must have one at most`);
    }
  }

  private lockEnvironment(): { [name: string]: string } {
    return {
      LOCKSTEP_TABLE: this.table.tableName,
      LOCKSTEP_RUN_RETENTION_DAYS: String((this.props.runRetention ?? Duration.days(14)).toDays()),
      LOCKSTEP_RUN_KEY_RETENTION_DAYS: String(this.props.runKeyRetention?.toDays() ?? 0),
      LOCKSTEP_METRICS_PER_LOCK: String(this.metricsPerLock),
      LOCKSTEP_EVENT_BUS: this.eventBus.eventBusName,
      LOCKSTEP_RUN_EVENTS: String(this.props.runEvents ?? false),
      LOCKSTEP_RUNBOOK_URL: this.props.runbookUrl ?? '',
    };
  }

  private functionAdder(environment: { [name: string]: string }) {
    const common: CommonFunctionOptions = {
      functionsPath: this.props.functionsPath,
      architecture: this.props.architecture ?? lambda.Architecture.ARM_64,
      logLevel: this.props.logLevel ?? LogLevel.INFO,
      logRetention: this._logRetention,
      stackName: this.prefix,
      statements: this.statements,
      organisation: this._organisation,
    };
    const { functionPolicies, readerPolicies } = this._organisation;
    return (
      id: string, name: string, description: string, statements: iam.PolicyStatement[], timeout?: Duration, folder?: string,
      readers = readerPolicies,
    ) => addFunction(this, common, {
      id, name, description, statements, timeout, folder, environment, managedPolicies: [...functionPolicies, ...readers],
    });
  }

  private addSharedRun(): sfn.StateMachine {
    const { machine, role } = addExclusiveRun(this, {
      functions: this._functions,
      statements: this.statements,
      logGroupName: `/aws/vendedlogs/states/${this.prefix}-exclusive-run`,
      logRetention: this._logRetention,
      organisation: this._organisation,
      lockPrefix: '',
    });
    const { taskDefinitionArns = [], taskRoleArns = [], guardedWorkflowArns = [] } = this.props;
    if (taskDefinitionArns.length) {
      this.attach('ExclusiveRunTaskPolicy', [role], [
        ...this.statements.runTasks(taskDefinitionArns),
        this.statements.findContainer(),
        this.statements.tagTasks(),
        ...(taskRoleArns.length ? [this.statements.passRoles(taskRoleArns)] : []),
      ]);
    }
    if (guardedWorkflowArns.length) {
      const children = [this.statements.executions('*', 'lockstep-*')];
      this.attach('ExclusiveRunWorkflowPolicy', [role], this.statements.runWorkflows(guardedWorkflowArns, children));
    }
    return machine;
  }

  /** Adds the policies of the functions apart from their roles. A role that names the state machine would be a circular dependency. */
  private addFunctionPolicies(): void {
    const roles = (...functions: lambda.Function[]) => functions.map((one) => one.role!);
    const { acquireLockFunction: acquire, heartbeatFunction: heartbeat, releaseLockFunction: release } = this;
    const recovering = [acquire, this.reaperFunction, this.operateFunction];
    this.attach('HandOverPolicy', roles(heartbeat, release, ...recovering), this.statements.handOver(this.eventBus));
    const stoppable = [this.statements.executions(`${this.stoppablePrefix}*`), ...this.holders()];
    this.attach('RecoveryPolicy', roles(...recovering), this.statements.recovery(stoppable));
    const startable = [this.exclusiveRun.stateMachineArn, this.statements.stateMachines(`${this.stoppablePrefix}*`), ...(this.props.workflowArns ?? [])];
    this.attach('StartPolicy', roles(this.operateFunction), this.statements.start(startable));
    this.attach('ProtectionPolicy', roles(heartbeat, release), [this.statements.ofTasks('ecs:UpdateTaskProtection')]);
  }

  /** Returns the ARNs of executions that hold locks: those of exclusive-run, its children, and those of `workflowArns`. */
  private holders(): string[] {
    const named = this.props.workflowArns ?? [];
    return [
      this.statements.executions('*', 'lockstep-*'),
      this.statements.executions(this.exclusiveRun.stateMachineName),
      ...named.map((arn) => this.statements.executionsOf(arn)),
    ];
  }

  /** Returns the rules of this Lockstep, which `lockstep doctor` checks. */
  private rules(): events.Rule[] {
    return this.node.findAll().filter((one): one is events.Rule => one instanceof events.Rule);
  }

  private containerStatements(lockPrefix?: string): iam.PolicyStatement[] {
    const items = this.statements.container(this.table, this.eventBus, this.holders(), lockPrefix);
    return this.props.key ? [...items, this.statements.useKey(this.props.key, 'dynamodb')] : items;
  }

  private attach(id: string, roles: iam.IRole[], statements: iam.PolicyStatement[]): void {
    new iam.Policy(this, id, { roles, statements });
  }

  private managed(id: string, statements: iam.PolicyStatement[]): iam.ManagedPolicy {
    return new iam.ManagedPolicy(this, id, { statements });
  }

  /** Adds outputs with the names of those of infra/template.yaml, so that infra/team.yaml and infra/examples work with this stack. */
  private addOutputs(): void {
    const exported: { [name: string]: string } = {
      LockTableName: this.table.tableName,
      AcquireLockFunctionArn: this.acquireLockFunction.functionArn,
      HeartbeatFunctionArn: this.heartbeatFunction.functionArn,
      ReleaseLockFunctionArn: this.releaseLockFunction.functionArn,
      CheckRunningExecutionsFunctionArn: this.checkRunningExecutionsFunction.functionArn,
      ReaperFunctionArn: this.reaperFunction.functionArn,
      OperateFunctionArn: this.operateFunction.functionArn,
      ViewFunctionArn: this.viewFunction.functionArn,
      DashboardName: this.dashboard.ref,
      RecoveryDeadLettersUrl: this.recoveryDeadLetters.queueUrl,
      ExclusiveRunStateMachineArn: this.exclusiveRun.stateMachineArn,
      TaskProtectionPolicyArn: this.taskProtectionPolicy.managedPolicyArn,
      TaskLockPolicyArn: this.taskLockPolicy.managedPolicyArn,
      OperatorPolicyArn: this.operatorPolicy.managedPolicyArn,
      ViewerPolicyArn: this.viewerPolicy.managedPolicyArn,
      AlarmTopicArn: this.alarmTopic.topicArn,
      ...(this.mailTopic ? { MailTopicArn: this.mailTopic.topicArn } : {}),
      EventLogGroupName: this.eventLogGroup.logGroupName,
    };
    for (const [name, value] of Object.entries(exported)) {
      new CfnOutput(this, `${name}Output`, { value, exportName: `${this.prefix}-${name}` });
    }
    // The lockstep command finds these by their keys.
    const rules = this.rules().map((one) => one.ruleArn).join(',');
    new CfnOutput(this, 'RulesOutput', { value: rules }).overrideLogicalId('RuleArns');
    new CfnOutput(this, 'VersionOutput', { value: VERSION }).overrideLogicalId('LockstepVersion');
  }
}
