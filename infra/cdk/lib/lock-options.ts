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

/** What happens to the runs that a paused lock skips. */
export enum CatchUp {
  /** None of them runs later. */
  NONE = 'none',
  /** The first of them waits until the lock is resumed, and then runs. */
  ONCE = 'once',
}

/** What a run does if it would wait and the queue is full. */
export enum QueueFullPolicy {
  /** The run fails with `Lockstep.QueueFull`. */
  FAIL = 'fail',
  /** The run does not start its work and succeeds with the status `skipped`. */
  SKIP = 'skip',
}

/** What happens to a stale run: a run that is over its time limit, makes no progress, or sends no heartbeat. */
export enum StalePolicy {
  /** The work of the run is stopped. */
  TERMINATE = 'terminate',
  /** The run loses its permit and continues its work. */
  YIELD = 'yield',
  /** The run keeps its permit, and the lock is frozen until an operator resumes it. */
  HOLD = 'hold',
}

/** How an execution ends whose run was skipped or gave up its wait. */
export enum SkipOutcome {
  /** The execution succeeds, with a `status` in its output. */
  SUCCEED = 'succeed',
  /** The execution fails with `Lockstep.LockHeld`. */
  FAIL = 'fail',
}

/** The lock of a run, and its policies. */
export interface LockOptions {
  /**
   * Name of the lock: 1 to 128 of `A-Z a-z 0-9 . _ - / :`. Runs under a lock of the same name exclude each other.
   */
  readonly lockName: string;

  /**
   * Largest number of runs at once, 1 to 100. Every run of the lock has to give the same number.
   *
   * @default 1
   */
  readonly permits?: number;

  /**
   * Lease: how long a run keeps the lock without a heartbeat, 3 seconds to a day. A run that sends heartbeats keeps the lock as
   * long as it runs.
   *
   * @default - three times the heartbeat; Duration.seconds(60) if only the heartbeat is given
   */
  readonly lease?: Duration;

  /**
   * Time between two heartbeats: at least 1 second, and at least 2 seconds shorter than the lease.
   *
   * @default - a third of the lease if that is given; else the shortest of Duration.minutes(5), maxHeartbeat and a third of noProgress
   */
  readonly heartbeat?: Duration;

  /**
   * Longest time between two heartbeats, less than eight hours. The time between heartbeats grows with the age of a run, up to this.
   *
   * @default Duration.minutes(15)
   */
  readonly maxHeartbeat?: Duration;

  /**
   * Rest: time after a grant in which the lock gives no other grant, up to 31 days.
   *
   * @default - no rest
   */
  readonly minInterval?: Duration;

  /**
   * How often a run of the lock is expected to succeed, from a minute to a year. If no run succeeds in this time, the
   * sweep publishes the event Lockstep Run Missing, once until the next success.
   *
   * @default - no success is expected
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
   * @default - SKIP with OverlapPolicy.SKIP, WAIT with OverlapPolicy.QUEUE, FAIL with OverlapPolicy.FAIL and REPLACE
   */
  readonly onPaused?: PausedPolicy;

  /**
   * What happens to the runs that a paused lock skips.
   *
   * @default CatchUp.NONE
   */
  readonly catchUp?: CatchUp;

  /**
   * Largest number of waiters, 1 to 500, with `OverlapPolicy.QUEUE` only.
   *
   * @default 100
   */
  readonly maxQueue?: number;

  /**
   * What a run does if it would wait and the queue is full.
   *
   * @default QueueFullPolicy.FAIL
   */
  readonly whenQueueFull?: QueueFullPolicy;

  /**
   * Time after which a waiting run gives up, up to a year. Only with `OverlapPolicy.QUEUE` or `REPLACE`, `PausedPolicy.WAIT` or
   * `CatchUp.ONCE`.
   *
   * @default - no limit
   */
  readonly maxWait?: Duration;

  /**
   * Time after which a run is stale, up to a year.
   *
   * @default - no limit
   */
  readonly maxRun?: Duration;

  /**
   * Time without a change of its progress after which a run is stale, up to a year. Only for work that reports
   * its progress.
   *
   * @default - no limit
   */
  readonly noProgress?: Duration;

  /**
   * What happens to a stale run.
   *
   * @default StalePolicy.TERMINATE
   */
  readonly stalePolicy?: StalePolicy;

  /**
   * How an execution ends whose run was skipped or gave up its wait.
   *
   * @default SkipOutcome.SUCCEED
   */
  readonly onSkip?: SkipOutcome;
}

/**
 * The fields of a request that have a rule, in their order. The rule is the range of a number, or the words of a policy. `make schemas`
 * writes the file.
 */
const FIELDS: { [field: string]: { minimum: number; maximum: number } | { enum: string[] } } = JSON.parse(
  fs.readFileSync(path.join(__dirname, 'lock-options.json'), 'utf8'),
);

/** Returns the prop of a field. */
function propOf(field: string): string {
  return field === 'waitSeconds' ? 'maxWait' : field.replace(/Seconds$/, '');
}

/** Returns whether a text is a JSONata expression. */
export function isExpression(text: string): boolean {
  return text.startsWith('{%') && text.endsWith('%}');
}

/** Returns whether a run waits until a paused lock is resumed. */
export function waitsPaused(props: LockOptions): boolean {
  return props.onPaused === PausedPolicy.WAIT || props.catchUp === CatchUp.ONCE;
}

/** Returns the fields of a request for the props that are given. Refuses props that break a rule. */
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
    throw badProp(scope, 'heartbeat', props.heartbeat, `be at most ${most} seconds, two seconds shorter than the lease`);
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
