import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';

/** Namespace of all metrics of Lockstep: shared/src/telemetry/metric.rs. */
const NAMESPACE = 'Lockstep';

/** The metrics that have the lock as a dimension: those of `Metric::is_per_lock` in the same file. */
const PER_LOCK = ['Failed', 'QueueLength', 'Skipped'];

/** The metrics of Lockstep, of all locks or of one. */
export class LockMetrics {
  private readonly lockName?: string;
  private readonly tableName?: string;

  /**
   * @param lockName Counts this lock alone, which needs the prop `metricsPerLock` of the Lockstep construct. Only
   * `Failed`, `QueueLength` and `Skipped` are counted for each lock; the methods of the other metrics then throw an error.
   * @param tableName Counts the locks of this lock table alone. Without lockName and tableName, the metrics count the locks of all
   * stacks of the account in the Region. Only these include a `lockstep` command that is older than the dimension `table`.
   */
  constructor(lockName?: string, tableName?: string) {
    this.lockName = lockName;
    this.tableName = tableName;
  }

  /** Returns the metric that counts grants. */
  public metricAcquired(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Acquired', props);
  }

  /** Returns the metric that counts runs that were skipped because the lock was full, paused or at rest, or its queue was full. */
  public metricSkipped(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Skipped', props);
  }

  /** Returns the metric that counts runs whose run key was taken. */
  public metricDuplicate(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Duplicate', props);
  }

  /** Returns the metric that counts heartbeats that renewed a lease. */
  public metricRenewed(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Renewed', props);
  }

  /** Returns the metric that counts permits that their holders released. */
  public metricReleased(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Released', props);
  }

  /** Returns the metric that counts heartbeats that found the lease lost or the run stale. */
  public metricLeaseLost(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('LeaseLost', props);
  }

  /** Returns the metric that counts freed permits of dead or stale holders. */
  public metricRecovered(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Recovered', props);
  }

  /** Returns the metric that counts runs that entered the queue. */
  public metricQueued(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Queued', props);
  }

  /** Returns the metric that counts runs that gave up their wait because the time for it was over. */
  public metricGaveUp(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('GaveUp', props);
  }

  /** Returns the metric that counts runs that failed because the queue was full. */
  public metricQueueFull(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('QueueFull', props);
  }

  /** Returns the metric that counts runs that succeeded. */
  public metricSucceeded(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Succeeded', props);
  }

  /** Returns the metric that counts runs that failed, were found dead, or were lost. */
  public metricFailed(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.count('Failed', props);
  }

  /** Returns the metric of the number of waiters of a lock, by default the largest of each period. */
  public metricQueueLength(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.metric('QueueLength', { statistic: cloudwatch.Stats.MAXIMUM, unit: cloudwatch.Unit.COUNT, ...props });
  }

  /** Returns the metric of the time that the first waiter in the queue has waited, in seconds, by default the longest of each period. */
  public metricOldestWaitSeconds(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.metric('OldestWaitSeconds', { statistic: cloudwatch.Stats.MAXIMUM, unit: cloudwatch.Unit.SECONDS, ...props });
  }

  /** Returns the metric of the time from grant to release in seconds, by default the longest of each period. */
  public metricHeldSeconds(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.metric('HeldSeconds', { statistic: cloudwatch.Stats.MAXIMUM, unit: cloudwatch.Unit.SECONDS, ...props });
  }

  /** Returns the metric of the time from the grant of a run to its success in seconds, by default the longest of each period. */
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
