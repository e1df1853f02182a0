export { Lockstep } from './lockstep';
export { LockstepProps, LogLevel } from './lockstep-props';
export { LockOptions, OverlapPolicy, SkipOutcome, StalePolicy } from './lock-options';
export { LockMetrics } from './metrics';
