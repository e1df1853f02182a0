import { RemovalPolicy } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { grantNestedRun, stoppableName } from './exclusive-run-machine';
import { ExclusiveStates, ExclusiveStatesProps } from './exclusive-states';
import { LockMetrics } from './metrics';

/** Props of `ExclusiveWorkflow`. */
export interface ExclusiveWorkflowProps extends ExclusiveStatesProps {
  /**
   * Query language of states that name none.
   *
   * @default sfn.QueryLanguage.JSON_PATH
   */
  readonly queryLanguage?: sfn.QueryLanguage;
}

/** A Standard workflow whose executions hold a lock from their first state to their last. */
export class ExclusiveWorkflow extends Construct {
  /** The state machine: start it with the input of `states`. Lockstep may stop its executions. */
  public readonly stateMachine: sfn.StateMachine;
  /** The metrics of the lock if Lockstep has the prop `metricsPerLock`, and otherwise those of all locks. */
  public readonly metrics: LockMetrics;

  constructor(scope: Construct, id: string, props: ExclusiveWorkflowProps) {
    super(scope, id);
    const { queryLanguage, ...guarded } = props;
    const states = new ExclusiveStates(this, 'Guarded', { stateName: 'Exclusively', ...guarded });
    this.metrics = states.metrics;
    const name = stoppableName(this, props.lockstep.stoppablePrefix);
    this.stateMachine = new sfn.StateMachine(this, 'StateMachine', {
      stateMachineName: name,
      queryLanguage,
      definitionBody: sfn.DefinitionBody.fromChainable(states),
      logs: {
        destination: new logs.LogGroup(this, 'LogGroup', {
          logGroupName: `/aws/vendedlogs/states/${name}`,
          retention: props.lockstep._logRetention,
          encryptionKey: props.lockstep._organisation.key,
          removalPolicy: RemovalPolicy.DESTROY,
        }),
        level: sfn.LogLevel.ERROR,
        includeExecutionData: false,
      },
    });
  }

  /** Grants what a workflow needs to start this workflow and to wait for its end. */
  public grantRun(grantee: iam.IGrantable): iam.Grant {
    return grantNestedRun(this, this.stateMachine, grantee);
  }
}
