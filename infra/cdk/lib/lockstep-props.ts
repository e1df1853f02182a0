import { Duration, Token } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as events from 'aws-cdk-lib/aws-events';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { IConstruct } from 'constructs';
import { badProp, checkArns, checkWhole } from './checks';

/** Lowest level of the log lines that the functions write. */
export enum LogLevel {
  /** Failures only. */
  ERROR = 'error',
  /** Failures, and what may lead to a failure. */
  WARN = 'warn',
  /** Also one line for each command. */
  INFO = 'info',
  /** Also the steps of a command. */
  DEBUG = 'debug',
  /** Everything. */
  TRACE = 'trace',
}

/** Props of `Lockstep`: the parameters of infra/template.yaml. */
export interface LockstepProps {
  /**
   * Folder that `cargo lambda build` writes, usually `target/lambda`. It has `acquire-lock/bootstrap.zip` or
   * `acquire-lock/bootstrap`, and the same for the other functions. A relative path starts at the working directory of the app.
   *
   * @default - the functions of this package for `architecture`. A release has them; a package that was packed from a checkout has none
   */
  readonly functionsPath?: string;

  /**
   * Processor of the functions. With `functionsPath`, it must be the one that they were built for.
   *
   * @default lambda.Architecture.ARM_64
   */
  readonly architecture?: lambda.Architecture;

  /**
   * Lowest level of the log lines that the functions write.
   *
   * @default LogLevel.INFO
   */
  readonly logLevel?: LogLevel;

  /**
   * Whether `Failed`, `QueueLength` and `Skipped` are also metrics of each lock, with the dimension `lock`. Each lock then adds up to three
   * custom metrics.
   *
   * @default false
   */
  readonly metricsPerLock?: boolean;

  /**
   * Event bus of this account and Region that receives the events of source `lockstep`.
   *
   * @default - the default event bus
   */
  readonly eventBus?: events.IEventBus;

  /**
   * Whether Lockstep also publishes the start and the success of each run, and the failure of a run that was found dead or lost
   * its permit. Each event is one more request to EventBridge.
   *
   * @default false
   */
  readonly runEvents?: boolean;

  /**
   * How long the history keeps finished runs and operators' acts, 1 to 365 whole days.
   *
   * @default Duration.days(14)
   */
  readonly runRetention?: Duration;

  /**
   * How long the run key of a successful run stays taken, 1 to 365 whole days. A trigger that fires again with that run key
   * within this time is a duplicate.
   *
   * @default - runRetention
   */
  readonly runKeyRetention?: Duration;

  /**
   * How long CloudWatch keeps the logs of the functions and of the state machines.
   *
   * @default logs.RetentionDays.ONE_MONTH
   */
  readonly logRetention?: logs.RetentionDays;

  /**
   * How long CloudWatch keeps the events, including those of skipped runs and duplicates.
   *
   * @default logs.RetentionDays.THREE_MONTHS
   */
  readonly eventRetention?: logs.RetentionDays;

  /**
   * Whether the stack has alarms, and sends the events that call for action to the topic of the alarms.
   *
   * @default true
   */
  readonly alarms?: boolean;

  /**
   * Email address that receives the alarms and messages. Its owner has to confirm a first mail.
   *
   * @default - none
   */
  readonly alarmEmail?: string;

  /**
   * Key that encrypts the messages of the topics. Its policy has to allow cloudwatch.amazonaws.com and
   * events.amazonaws.com `kms:Decrypt` and `kms:GenerateDataKey*`. A key of the app gets these statements from the construct.
   *
   * @default - the prop `key`
   */
  readonly alarmKey?: kms.IKey;

  /**
   * Address of your runbook, to which messages link. It begins with https:// and has up to 512 characters without spaces. `{lock}`
   * stands for the name of the lock. Tasks that use the lockstep command read this address from `LOCKSTEP_RUNBOOK_URL`.
   *
   * @default - none
   */
  readonly runbookUrl?: string;

  /**
   * Number of skipped runs of all locks within an hour that raises an alarm: 1 to 100,000.
   *
   * @default - no such alarm
   */
  readonly skippedRunsPerHour?: number;

  /**
   * Clusters in which tasks may be started, described, stopped and protected. A `*` stands for any characters. Up to
   * 512 characters, joined by commas.
   *
   * @default - every cluster of this account and Region
   */
  readonly clusterArns?: string[];

  /**
   * Task definitions that the shared exclusive-run may start, each with a revision, with `:*` or with a `*` at its end.
   * Up to 3,072 characters, joined by commas. The construct `ExclusiveRun` needs no entry.
   *
   * @default - no task may be run
   */
  readonly taskDefinitionArns?: string[];

  /**
   * Task roles and task execution roles of `taskDefinitionArns`, which the shared exclusive-run may pass to ECS. Up to 2,048
   * characters, joined by commas.
   *
   * @default - no role may be passed
   */
  readonly taskRoleArns?: string[];

  /**
   * Standard state machines that the shared exclusive-run may start as its work. Up to 1,024 characters, joined by
   * commas. The construct `ExclusiveRun` needs no entry.
   *
   * @default - no workflow may be started
   */
  readonly guardedWorkflowArns?: string[];

  /**
   * State machines of your own whose executions hold locks. The functions may stop an execution that is stale under
   * `StalePolicy.TERMINATE`, replaced or evicted, and operate may start one. State machines of this library need no entry. Up
   * to 2,048 characters, joined by commas.
   *
   * @default - none; check-running-executions may then list the executions of every state machine of this account and Region
   */
  readonly workflowArns?: string[];

  /**
   * Customer managed keys that encrypt the data of workflows which an exclusive-run starts, or which hold locks. The functions and
   * each exclusive-run may decrypt that data with these keys. Up to 1,024 characters of ARNs, joined by commas.
   *
   * @default - none
   */
  readonly workflowKeys?: kms.IKey[];

  /**
   * Permissions boundary of the roles that this library makes. Roles that the CDK itself makes, such as those of schedules,
   * get a boundary by `iam.PermissionsBoundary.of(stack).apply()`.
   *
   * @default - none
   */
  readonly permissionsBoundary?: iam.IManagedPolicy;

  /**
   * Path of the roles that this library makes.
   *
   * @default /
   */
  readonly rolePath?: string;

  /**
   * Network that the functions run in. DynamoDB, Step Functions, ECS and EventBridge have to be reachable from it.
   *
   * @default - the functions run in no VPC of yours
   */
  readonly vpc?: ec2.IVpc;

  /**
   * Subnets of the functions, with `vpc` only.
   *
   * @default - the private subnets of the VPC
   */
  readonly vpcSubnets?: ec2.SubnetSelection;

  /**
   * Security groups of the functions, with `vpc` only. They have to allow outbound HTTPS.
   *
   * @default - a new security group, which allows all outbound traffic
   */
  readonly securityGroups?: ec2.ISecurityGroup[];

  /**
   * Customer managed key that encrypts the table, the dead-letter queue, the topics, the log groups and the environment of the
   * functions. A key of the app gets the statements that its policy needs from the construct. For an imported key,
   * docs/landing-zones.md has the statements.
   *
   * @default - keys that AWS owns
   */
  readonly key?: kms.IKey;
}

const STATE_MACHINE = /^arn:[a-z-]+:states:[a-z0-9-]+:\d{12}:stateMachine:[A-Za-z0-9_*-]+$/;
const STATE_MACHINE_RULE = 'be the ARN of a state machine';

/** Form, greatest length and rule of each list. They are those of infra/template.yaml. */
const LISTS: { [prop: string]: [RegExp, number, string] } = {
  clusterArns: [/^arn:[a-z-]+:ecs:[a-z0-9-]+:\d{12}:cluster\/[A-Za-z0-9_*-]+$/, 512, 'be the ARN of an ECS cluster'],
  taskDefinitionArns: [
    /^arn:[a-z-]+:ecs:[a-z0-9-]+:\d{12}:task-definition\/([A-Za-z0-9_*-]+:([1-9][0-9]*|\*)|[A-Za-z0-9_*-]*\*)$/,
    3072,
    'be the ARN of a task definition that ends with a revision or with *',
  ],
  taskRoleArns: [/^arn:[a-z-]+:iam::\d{12}:role\/[A-Za-z0-9_+=.@/*-]+$/, 2048, 'be the ARN of an IAM role'],
  guardedWorkflowArns: [STATE_MACHINE, 1024, STATE_MACHINE_RULE],
  workflowArns: [STATE_MACHINE, 2048, STATE_MACHINE_RULE],
};

/** Refuses props that break a rule of infra/template.yaml. */
export function checkProps(scope: IConstruct, props: LockstepProps): void {
  for (const [prop, [form, longest, rule]] of Object.entries(LISTS)) {
    const list = props[prop as keyof LockstepProps] as string[] | undefined;
    checkArns(scope, prop, list ?? [], form, longest, rule);
  }
  checkMessages(scope, props);
  for (const prop of ['runRetention', 'runKeyRetention'] as const) {
    const retention = props[prop];
    if (retention && !Token.isUnresolved(retention)) {
      const days = retention.toDays({ integral: false });
      if (!Number.isInteger(days) || days < 1 || days > 365) {
        throw badProp(scope, prop, retention, 'be whole days from 1 to 365');
      }
    }
  }
}

function checkMessages(scope: IConstruct, { runbookUrl, skippedRunsPerHour }: LockstepProps): void {
  const form = /^(?=.{1,512}$)https:\/\/([!-z|~]|\{lock\})+$/;
  if (runbookUrl !== undefined && !Token.isUnresolved(runbookUrl) && !form.test(runbookUrl)) {
    throw badProp(scope, 'runbookUrl', runbookUrl,
      'begin with https://, have at most 512 characters, no spaces, and braces in {lock} only');
  }
  checkWhole(scope, 'skippedRunsPerHour', skippedRunsPerHour, 1, 100_000);
}
