export { Lockstep } from './lockstep';
export { LockstepProps, LogLevel } from './lockstep-props';
export { LockOptions, OverlapPolicy, SkipOutcome, StalePolicy } from './lock-options';
export { LockMetrics } from './metrics';
export { EcsTaskOptions } from './ecs-task';
export { ExclusiveRun, ExclusiveRunProps, StartTaskOptions } from './exclusive-run';
export { ExclusiveEcsBatch, ExclusiveEcsBatchProps } from './exclusive-ecs-batch';
export { LockstepAlerts, LockstepAlertsProps } from './alerts';
