import * as path from 'path';
import { Aws, Names, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { Organisation } from './organisation';
import { Statements } from './statements';

/** The definition, which `npm run assets` copies from statemachines. */
export const DEFINITION = path.join(__dirname, '..', 'assets', 'exclusive-run.asl.json');

/** Longest name of a state machine: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html */
const STATE_MACHINE_NAME_MAX = 80;
/** Longest prefix of the name of a state machine, as in infra/team.yaml. The rest of the name has room for a hash. */
const PREFIX_MAX = 41 + '-team-'.length;

/** Returns a name for a state machine whose executions the functions may stop: decision 0022. */
export function stoppableName(scope: Construct, prefix: string): string {
  if (prefix.length > PREFIX_MAX) {
    const rule = 'must have at most 41 characters: the name of a state machine begins with it';
    throw new Error(`${scope.node.path}: the name of the stack of Lockstep is "${prefix.replace(/-team-$/, '')}", but ${rule}`);
  }
  return prefix + Names.uniqueResourceName(scope, { maxLength: STATE_MACHINE_NAME_MAX - prefix.length, separator: '-' });
}

/** The functions that a guard calls. */
export interface LockFunctions {
  readonly acquireLock: lambda.IFunction;
  readonly heartbeat: lambda.IFunction;
  readonly releaseLock: lambda.IFunction;
}

export interface MachineOptions {
  readonly functions: LockFunctions;
  readonly statements: Statements;
  readonly logGroupName: string;
  readonly logRetention: logs.RetentionDays;
  readonly organisation: Organisation;
  readonly lockPrefix: string;
  readonly stateMachineName?: string;
}

/** Returns the values of the placeholders in the definitions of exclusive-run and of the guard. */
export function substitutions(functions: LockFunctions): { [name: string]: string } {
  return {
    Partition: Aws.PARTITION,
    AcquireLockFunctionArn: functions.acquireLock.functionArn,
    HeartbeatFunctionArn: functions.heartbeat.functionArn,
    ReleaseLockFunctionArn: functions.releaseLock.functionArn,
  };
}

/** Returns the permission that a guard needs. */
export function invokeLockFunctions(functions: LockFunctions): iam.PolicyStatement {
  const all = [functions.acquireLock, functions.heartbeat, functions.releaseLock];
  return new iam.PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: all.map((one) => one.functionArn) });
}

/**
 * Adds exclusive-run to a scope: `ExclusiveRunLogGroup`, `ExclusiveRunRole` and `ExclusiveRunStateMachine`. The caller adds the
 * permissions for the work to the role.
 */
export function addExclusiveRun(scope: Construct, options: MachineOptions): { machine: sfn.StateMachine; role: iam.Role } {
  const logGroup = new logs.LogGroup(scope, 'ExclusiveRunLogGroup', {
    logGroupName: options.logGroupName,
    retention: options.logRetention,
    encryptionKey: options.organisation.key,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  const role = new iam.Role(scope, 'ExclusiveRunRole', {
    ...options.organisation.ofRoles,
    managedPolicies: options.organisation.readerPolicies,
    assumedBy: new iam.ServicePrincipal('states.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
    }),
    inlinePolicies: {
      'lock-functions': new iam.PolicyDocument({ statements: [invokeLockFunctions(options.functions)] }),
      'managed-rules': new iam.PolicyDocument({ statements: [options.statements.managedRules()] }),
    },
  });
  const machine = new sfn.StateMachine(scope, 'ExclusiveRunStateMachine', {
    stateMachineName: options.stateMachineName,
    stateMachineType: sfn.StateMachineType.STANDARD,
    definitionBody: sfn.DefinitionBody.fromFile(DEFINITION),
    definitionSubstitutions: { ...substitutions(options.functions), LockPrefix: options.lockPrefix },
    role,
    // The input may contain what the user passes to the task, so it is not logged.
    logs: { destination: logGroup, level: sfn.LogLevel.ERROR, includeExecutionData: false },
  });
  return { machine, role };
}

/** Grants what a workflow needs to start a state machine and to wait for its end. */
export function grantNestedRun(scope: Construct, machine: sfn.IStateMachine, grantee: iam.IGrantable): iam.Grant {
  const stack = Stack.of(scope);
  const grant = (actions: string[], resource: string) => iam.Grant.addToPrincipal({ grantee, actions, resourceArns: [resource] });
  const rule = 'StepFunctionsGetEventsForStepFunctionsExecutionRule';
  return machine.grantStartExecution(grantee)
    .combine(machine.grantExecution(grantee, 'states:DescribeExecution', 'states:StopExecution'))
    .combine(grant(['events:DescribeRule', 'events:PutRule', 'events:PutTargets'],
      stack.formatArn({ service: 'events', resource: 'rule', resourceName: rule })));
}
