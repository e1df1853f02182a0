import * as fs from 'fs';
import * as path from 'path';
import { Duration } from 'aws-cdk-lib';
import { IConstruct } from 'constructs';
import { badProp, checkLockName, checkWhole, seconds } from './checks';

/** What a run does at a lock without a free permit. */
export enum OverlapPolicy {
  /** The run does not start its work and succeeds with the status `skipped`. */
  SKIP = 'skip',
  /** The run fails with `Lockstep.LockHeld`. */
  FAIL = 'fail',
  /** The run waits for its turn. */
  QUEUE = 'queue',
  /** The run goes first in the queue, and the oldest holder is stopped. */
  REPLACE = 'replace',
}

/** What a run does at a paused lock. */
export enum PausedPolicy {
  /** The run does not start its work and succeeds with the status `skipped`. */
  SKIP = 'skip',
  /** The run waits until the lock is resumed and its turn comes. */
  WAIT = 'wait',
  /** The run fails with `Lockstep.LockPaused`. */
  FAIL = 'fail',
}

/** What becomes of the runs that a paused lock skips. */
export enum CatchUp {
  /** They are left out. */
  NONE = 'none',
  /** The first of them waits for the resume and runs then. */
  ONCE = 'once',
}

/** What a run does that would wait, when the queue is full. */
export enum QueueFullPolicy {
  /** The run fails with `Lockstep.QueueFull`. */
  FAIL = 'fail',
  /** The run does not start its work and succeeds with the status `skipped`. */
  SKIP = 'skip',
}

/** What becomes of a run over its time, without progress, or silent. */
export enum StalePolicy {
  /** Its work is stopped. */
  TERMINATE = 'terminate',
  /** It loses its permit and works on. */
  YIELD = 'yield',
  /** It keeps its permit, and the lock is frozen until an operator resumes it. */
  HOLD = 'hold',
}

/** How an execution ends that was skipped or gave up. */
export enum SkipOutcome {
  /** It succeeds, with a `status` in its output. */
  SUCCEED = 'succeed',
  /** It fails with `Lockstep.LockHeld`. */
  FAIL = 'fail',
}

/** The lock of a run, and its policies. */
export interface LockOptions {
  /**
   * Name of the lock: 1 to 128 of `A-Z a-z 0-9 . _ - / :`. Runs with the same name exclude each other.
   */
  readonly lockName: string;

  /**
   * Most runs at once, 1 to 100. Every run of the lock has the same number.
   *
   * @default 1
   */
  readonly permits?: number;

  /**
   * How long a silent run keeps the lock, 3 seconds to a day. A live one keeps it as long as it runs.
   *
   * @default - three times the heartbeat; Duration.seconds(60) if only the heartbeat is given
   */
  readonly lease?: Duration;

  /**
   * Time between two heartbeats, from a second to two seconds below the lease.
   *
   * @default - a third of the lease, if that is given; else Duration.minutes(5), or maxHeartbeat or a third of noProgress if that is shorter
   */
  readonly heartbeat?: Duration;

  /**
   * Longest time between two heartbeats, which come less often the longer a run lasts, up to a second below eight hours.
   *
   * @default Duration.minutes(15)
   */
  readonly maxHeartbeat?: Duration;

  /**
   * No other grant of the lock within this time, up to 31 days.
   *
   * @default - no rest
   */
  readonly minInterval?: Duration;

  /**
   * A run of the lock is expected to succeed this often, from a minute to a year. If none does, the
   * sweep publishes the event Lockstep Run Missing once, until the next success.
   *
   * @default - none is expected
   */
  readonly expectEvery?: Duration;

  /**
   * What a run does at a lock without a free permit.
   *
   * @default OverlapPolicy.SKIP
   */
  readonly overlap?: OverlapPolicy;

  /**
   * What a run does at a paused lock.
   *
   * @default - SKIP with OverlapPolicy.SKIP, WAIT with QUEUE, FAIL with FAIL and REPLACE
   */
  readonly onPaused?: PausedPolicy;

  /**
   * What becomes of the runs that a paused lock skips.
   *
   * @default CatchUp.NONE
   */
  readonly catchUp?: CatchUp;

  /**
   * Most waiters, 1 to 500, with `OverlapPolicy.QUEUE` only.
   *
   * @default 100
   */
  readonly maxQueue?: number;

  /**
   * What a run does that would wait, when the queue is full.
   *
   * @default QueueFullPolicy.FAIL
   */
  readonly whenQueueFull?: QueueFullPolicy;

  /**
   * Longest wait for a turn, up to a year, with `OverlapPolicy.QUEUE` or `REPLACE`, `PausedPolicy.WAIT` or
   * `CatchUp.ONCE` only. Then the run gives up.
   *
   * @default - no limit
   */
  readonly maxWait?: Duration;

  /**
   * The run is stale after this time, up to a year.
   *
   * @default - no limit
   */
  readonly maxRun?: Duration;

  /**
   * The run is stale after this time without a change of its progress, up to a year. Only for work that reports
   * its progress.
   *
   * @default - no limit
   */
  readonly noProgress?: Duration;

  /**
   * What becomes of a stale run.
   *
   * @default StalePolicy.TERMINATE
   */
  readonly stalePolicy?: StalePolicy;

  /**
   * How an execution ends that was skipped or gave up.
   *
   * @default SkipOutcome.SUCCEED
   */
  readonly onSkip?: SkipOutcome;
}

/** The fields of a request that have a rule, in their order: the range of a number, or the words. `make schemas` writes this file. */
const FIELDS: { [field: string]: { minimum: number; maximum: number } | { enum: string[] } } = JSON.parse(
  fs.readFileSync(path.join(__dirname, 'lock-options.json'), 'utf8'),
);

/** Returns the prop of a field. */
function propOf(field: string): string {
  return field === 'waitSeconds' ? 'maxWait' : field.replace(/Seconds$/, '');
}

/** Whether a text is a JSONata expression. */
export function isExpression(text: string): boolean {
  return text.startsWith('{%') && text.endsWith('%}');
}

/** Whether a run waits for the resume of a paused lock. */
export function waitsPaused(props: LockOptions): boolean {
  return props.onPaused === PausedPolicy.WAIT || props.catchUp === CatchUp.ONCE;
}

/** Returns the fields of a request for the props, without those that are left out. */
export function lockFields(scope: IConstruct, props: LockOptions): { [field: string]: any } {
  checkLockName(scope, 'lockName', props.lockName);
  checkWaiting(scope, props);
  const fields: { [field: string]: any } = { lock: props.lockName };
  for (const [field, rule] of Object.entries(FIELDS)) {
    const prop = propOf(field);
    const value = (props as { [prop: string]: any })[prop];
    if (value === undefined) {
      continue;
    }
    if (!('minimum' in rule)) {
      fields[field] = value;
    } else if (field.endsWith('Seconds')) {
      fields[field] = seconds(scope, prop, value, rule.minimum, rule.maximum);
    } else {
      checkWhole(scope, prop, value, rule.minimum, rule.maximum);
      fields[field] = value;
    }
  }
  const most = (fields.leaseSeconds ?? 60) - 2;
  if ((fields.heartbeatSeconds ?? 0) > most) {
    throw badProp(scope, 'heartbeat', props.heartbeat, `be at most ${most} seconds, two below the lease`);
  }
  return fields;
}

function checkWaiting(scope: IConstruct, props: LockOptions): void {
  const queues = props.overlap === OverlapPolicy.QUEUE;
  if (props.maxQueue !== undefined && !queues) {
    throw badProp(scope, 'maxQueue', props.maxQueue, 'be left out without OverlapPolicy.QUEUE');
  }
  if (props.maxWait !== undefined && !queues && props.overlap !== OverlapPolicy.REPLACE && !waitsPaused(props)) {
    throw badProp(scope, 'maxWait', props.maxWait,
      'be left out without OverlapPolicy.QUEUE or REPLACE, PausedPolicy.WAIT or CatchUp.ONCE');
  }
  const failing = [OverlapPolicy.FAIL, OverlapPolicy.REPLACE];
  const fails = props.onPaused === undefined ? failing.includes(props.overlap ?? OverlapPolicy.SKIP) : props.onPaused === PausedPolicy.FAIL;
  if (props.catchUp === CatchUp.ONCE && fails) {
    throw badProp(scope, 'catchUp', props.catchUp, 'be left out without PausedPolicy.SKIP or WAIT');
  }
}
