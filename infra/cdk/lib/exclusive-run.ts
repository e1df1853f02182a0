import { Lazy, Stack } from 'aws-cdk-lib';
import * as ecs from 'aws-cdk-lib/aws-ecs';
import * as events from 'aws-cdk-lib/aws-events';
import * as eventTargets from 'aws-cdk-lib/aws-events-targets';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as schedulerTargets from 'aws-cdk-lib/aws-scheduler-targets';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import * as tasks from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import { badProp } from './checks';
import { definitionOf, EcsTaskOptions, runTask } from './ecs-task';
import { addExclusiveRun, grantNestedRun, stoppableName } from './exclusive-run-machine';
import { lockFields, LockOptions } from './lock-options';
import { Lockstep } from './lockstep';
import { LockMetrics } from './metrics';
import { Statements } from './statements';

const TASK_PROPS: (keyof ExclusiveRunProps)[] = ['taskDefinition', 'cluster', 'containerName', 'command', 'environment', 'vpcSubnets',
  'securityGroups', 'assignPublicIp'];
const WORKFLOW_PROPS: (keyof ExclusiveRunProps)[] = ['workflowInput', 'grantField'];

/** Props of `ExclusiveRun`. Its work is either `taskDefinition`, in a `cluster`, or `stateMachine`. */
export interface ExclusiveRunProps extends LockOptions, EcsTaskOptions {
  /** Lockstep, of this stack or of another one in the same account and region. */
  readonly lockstep: Lockstep;

  /**
   * ECS task to run, with `cluster`.
   *
   * @default - `stateMachine` is the work
   */
  readonly taskDefinition?: ecs.ITaskDefinition;

  /**
   * Cluster of the task.
   *
   * @default - `stateMachine` is the work
   */
  readonly cluster?: ecs.ICluster;

  /**
   * Standard workflow to run.
   *
   * @default - `taskDefinition` is the work
   */
  readonly stateMachine?: sfn.IStateMachine;

  /**
   * Input of `stateMachine`.
   *
   * @default - an empty object
   */
  readonly workflowInput?: { [field: string]: any };

  /**
   * Field of `workflowInput` that receives the grant: `lock`, `holder`, `token`, and `runKey` if there is one.
   *
   * @default - the workflow gets its input as it is
   */
  readonly grantField?: string;
}

/** Options of `ExclusiveRun.startTask`. */
export interface StartTaskOptions extends sfn.TaskStateBaseProps {
  /**
   * Run key: at most one run with this key succeeds within the retention. May be a JSONPath or JSONata expression.
   *
   * @default - every start is a run of its own
   */
  readonly runKey?: string;
}

/**
 * Runs one ECS task, or one execution of a state machine, under a lock: an exclusive-run with a role for this work alone.
 *
 * Start it with `startTask`, `scheduleTarget` or `ruleTarget`, or start `runStateMachine` with `input` as its input.
 */
export class ExclusiveRun extends Construct {
  /** The state machine that holds the lock while the work runs. */
  public readonly runStateMachine: sfn.StateMachine;
  /** The metrics of the lock if Lockstep has the prop `metricsPerLock`, and otherwise those of all locks. */
  public readonly metrics: LockMetrics;

  private readonly role: iam.Role;
  private readonly request: { [field: string]: any };

  constructor(scope: Construct, id: string, props: ExclusiveRunProps) {
    super(scope, id);
    this.checkWork(props);
    const { lockstep } = props;
    const name = stoppableName(this, lockstep.stoppablePrefix);
    const statements = new Statements(Stack.of(this), props.cluster ? [props.cluster.clusterArn] : []);
    const { machine, role } = addExclusiveRun(this, {
      functions: lockstep._functions,
      statements,
      logGroupName: `/aws/vendedlogs/states/${name}`,
      logRetention: lockstep._logRetention,
      organisation: lockstep._organisation,
      lockPrefix: props.lockName,
      stateMachineName: name,
    });
    this.runStateMachine = machine;
    this.role = role;
    this.metrics = lockstep.metricsPerLock ? new LockMetrics(props.lockName) : lockstep.metrics;
    const work = props.stateMachine
      ? this.workflowWork(props.stateMachine, statements, props)
      : this.taskWork(props.taskDefinition!, props.cluster!, statements, props);
    this.request = { ...lockFields(this, props), work };
  }

  /** Returns the input of an execution of `runStateMachine`. */
  public input(runKey?: string): { [field: string]: any } {
    return runKey === undefined ? this.request : { ...this.request, runKey };
  }

  /**
   * Returns a state that runs the work and waits for its end. The field `Output` of its result has the output of the work, or the
   * `status` of a run that did not start its work. The role of the surrounding state machine gets the permissions that it needs.
   */
  public startTask(scope: Construct, id: string, options: StartTaskOptions = {}): tasks.StepFunctionsStartExecution {
    const { runKey, ...state } = options;
    const jsonata = state.queryLanguage === sfn.QueryLanguage.JSONATA;
    const parent = jsonata ? { AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID: '{% $states.context.Execution.Id %}' } : {};
    return new tasks.StepFunctionsStartExecution(scope, id, {
      ...state,
      stateMachine: this.runStateMachine,
      integrationPattern: sfn.IntegrationPattern.RUN_JOB,
      input: sfn.TaskInput.fromObject({ ...this.input(runKey), ...parent }),
      associateWithParent: !jsonata,
    });
  }

  /**
   * Returns a target of EventBridge Scheduler. The run key is the schedule and the scheduled time, so a second delivery
   * is a duplicate.
   *
   * @param props Options of the target, without `input`.
   */
  public scheduleTarget(props: schedulerTargets.ScheduleTargetBaseProps = {}): scheduler.IScheduleTarget {
    if (props.input) {
      throw badProp(this, 'input', props.input, 'be left out: it is the input of the run');
    }
    const key = `${scheduler.ContextAttribute.scheduleArn}#${scheduler.ContextAttribute.scheduledTime}`;
    const input = scheduler.ScheduleTargetInput.fromObject(this.input(key));
    return new schedulerTargets.StepFunctionsStartExecution(this.runStateMachine, { ...props, input });
  }

  /**
   * Returns a target of an EventBridge rule. The run key is the rule and the time of the event, so an event that is
   * delivered again is a duplicate.
   *
   * @param props Options of the target, without `input`.
   */
  public ruleTarget(props: eventTargets.SfnStateMachineProps = {}): events.IRuleTarget {
    if (props.input) {
      throw badProp(this, 'input', props.input, 'be left out: it is the input of the run');
    }
    const input = events.RuleTargetInput.fromObject(this.input(`<aws.events.rule-arn>#${events.EventField.time}`));
    return new eventTargets.SfnStateMachine(this.runStateMachine, { ...props, input });
  }

  /** Grants what a workflow needs to start the run and to wait for its end. */
  public grantRun(grantee: iam.IGrantable): iam.Grant {
    return grantNestedRun(this, this.runStateMachine, grantee);
  }

  private checkWork(props: ExclusiveRunProps): void {
    const { taskDefinition, stateMachine, cluster } = props;
    if (taskDefinition === undefined && stateMachine === undefined) {
      throw badProp(this, 'taskDefinition', undefined, 'be given, or stateMachine');
    }
    const [kind, others] = stateMachine ? ['stateMachine', TASK_PROPS] : ['taskDefinition', WORKFLOW_PROPS];
    for (const prop of others as (keyof ExclusiveRunProps)[]) {
      if (props[prop] !== undefined) {
        throw badProp(this, prop, props[prop], `be left out with ${kind}`);
      }
    }
    if (taskDefinition && !cluster) {
      throw badProp(this, 'cluster', undefined, 'be given with taskDefinition');
    }
  }

  private workflowWork(work: sfn.IStateMachine, statements: Statements, props: ExclusiveRunProps): { [field: string]: any } {
    const children = [statements.executionsOf(work.stateMachineArn, 'lockstep-*')];
    this.allow('WorkflowPolicy', statements.runWorkflows([work.stateMachineArn], children));
    const grantField = props.grantField === undefined ? {} : { grantField: props.grantField };
    return { startExecution: { StateMachineArn: work.stateMachineArn, Input: props.workflowInput ?? {} }, ...grantField };
  }

  private taskWork(
    task: ecs.ITaskDefinition, cluster: ecs.ICluster, statements: Statements, props: ExclusiveRunProps,
  ): { [field: string]: any } {
    const work = runTask(this, task, cluster, props);
    // Lazy, because a container that is added to the task definition later may create the execution role.
    const roles = Lazy.list({ produce: () => [task.taskRole, task.executionRole].flatMap((role) => (role ? [role.roleArn] : [])) });
    // The request names the family, which is no reference to the task definition, so the dependency is added here.
    if (task instanceof ecs.TaskDefinition) {
      this.runStateMachine.node.addDependency(task.node.defaultChild!);
    }
    const finds = work.container === undefined ? [statements.findContainer()] : [];
    this.allow('TaskPolicy', [...statements.runTasks(definitionOf(task).arns), ...finds, statements.passRoles(roles)]);
    return work;
  }

  /** Adds permissions to the role. The state machine depends on them, so that its first execution has them. */
  private allow(id: string, statements: iam.PolicyStatement[]): void {
    this.runStateMachine.node.addDependency(new iam.Policy(this, id, { roles: [this.role], statements }));
  }
}
