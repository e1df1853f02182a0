import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';

/** Namespace of all metrics of Lockstep: shared/src/telemetry/metric.rs. */
const NAMESPACE = 'Lockstep';

/** The metrics that have the lock as a dimension, as `Metric::is_per_lock` in the same file has them. */
const PER_LOCK = ['Failed', 'QueueLength', 'Skipped'];

/** The metrics of Lockstep, of all locks or of one. */
export class LockMetrics {
  private readonly lockName?: string;
  private readonly tableName?: string;

  /**
   * @param lockName Counts this lock alone, which needs the prop `metricsPerLock` of the Lockstep construct. Only
   * `Failed`, `QueueLength` and `Skipped` are counted for each lock; the others throw then.
   * @param tableName Counts the locks of this lock table alone. Without both, the locks of all stacks of the account in the
   * Region count. A `lockstep` command that is older than this dimension counts there only.
   */
  constructor(lockName?: string, tableName?: string) {
    this.lockName = lockName;
    this.tableName = tableName;
  }

  /** Grants. */
  public metricAcquired(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Acquired', props);
  }

  /** Runs that gave way because the lock was full or rested. */
  public metricSkipped(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Skipped', props);
  }

  /** Runs whose run key was taken. */
  public metricDuplicate(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Duplicate', props);
  }

  /** Heartbeats that renewed a lease. */
  public metricRenewed(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Renewed', props);
  }

  /** Permits that their holders released. */
  public metricReleased(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Released', props);
  }

  /** Holders that found their lease lost or their time over. */
  public metricLeaseLost(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('LeaseLost', props);
  }

  /** Permits of dead or stale holders that were freed. */
  public metricRecovered(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Recovered', props);
  }

  /** Runs that entered the queue. */
  public metricQueued(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Queued', props);
  }

  /** Runs that waited until their time was over. */
  public metricGaveUp(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('GaveUp', props);
  }

  /** Runs that could not wait because the queue was full. */
  public metricQueueFull(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('QueueFull', props);
  }

  /** Runs that succeeded. */
  public metricSucceeded(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Succeeded', props);
  }

  /** Runs that failed, were found dead, or were lost. */
  public metricFailed(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Failed', props);
  }

  /** Waiters of a lock, by default the most of each period. */
  public metricQueueLength(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.metric('QueueLength', { statistic: cloudwatch.Stats.MAXIMUM, unit: cloudwatch.Unit.COUNT, ...props });
  }

  /** How long the first in the queue has waited in seconds, by default the longest of each period. */
  public metricOldestWaitSeconds(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.metric('OldestWaitSeconds', { statistic: cloudwatch.Stats.MAXIMUM, unit: cloudwatch.Unit.SECONDS, ...props });
  }

  /** Time from grant to release in seconds, by default the longest of each period. */
  public metricHeldSeconds(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.metric('HeldSeconds', { statistic: cloudwatch.Stats.MAXIMUM, unit: cloudwatch.Unit.SECONDS, ...props });
  }

  /** Time from the grant of a run to its success in seconds, by default the longest of each period. */
  public metricRunSeconds(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.metric('RunSeconds', { statistic: cloudwatch.Stats.MAXIMUM, unit: cloudwatch.Unit.SECONDS, ...props });
  }

  private count(metricName: string, props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.metric(metricName, { statistic: cloudwatch.Stats.SUM, unit: cloudwatch.Unit.COUNT, ...props });
  }

  private dimensions(): { [name: string]: string } | undefined {
    if (this.lockName !== undefined) {
      return { lock: this.lockName };
    }
    return this.tableName === undefined ? undefined : { table: this.tableName };
  }

  private metric(metricName: string, props: cloudwatch.MetricOptions): cloudwatch.Metric {
    if (this.lockName !== undefined && !PER_LOCK.includes(metricName)) {
      throw new Error(`${metricName} is not counted for each lock: only ${PER_LOCK.join(', ')} are.`);
    }
    return new cloudwatch.Metric({
      namespace: NAMESPACE,
      metricName,
      period: Duration.minutes(5),
      dimensionsMap: this.dimensions(),
      ...props,
    });
  }
}
