//! The closed list of metrics.

/// The CloudWatch namespace of all metrics.
pub const NAMESPACE: &str = "Lockstep";

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Grants.
    Acquired,
    /// Runs that were skipped because the lock was full, paused or at rest, or its queue was full.
    Skipped,
    /// Runs whose run key was taken.
    Duplicate,
    /// Heartbeats that renewed a lease.
    Renewed,
    /// Permits released by their holders.
    Released,
    /// Heartbeats that found the lease lost or the run stale.
    LeaseLost,
    /// Permits of dead or stale holders that the reaper freed, or an acquire that was granted one of them.
    Recovered,
    /// Requests that took or kept a place in the queue. A waiting run repeats its request every
    /// `waitIntervalSeconds`.
    Queued,
    /// Runs that waited until their time was up.
    GaveUp,
    /// Runs that failed because the queue was full.
    QueueFull,
    /// Time from a grant to its release.
    HeldSeconds,
    /// Runs that succeeded.
    Succeeded,
    /// Runs that reported a failure, or that the reaper found dead or lost. `Recovered` counts those that
    /// an acquire freed.
    Failed,
    /// Time from the grant of a run to its release as succeeded. A success that the reaper finds has
    /// none.
    RunSeconds,
    /// Waiters of a lock, whenever one joins and when the sweep checks the lock.
    QueueLength,
    /// How long the first waiter has waited, whenever the sweep checks the lock.
    OldestWaitSeconds,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 16] = [
        Self::Acquired,
        Self::Skipped,
        Self::Duplicate,
        Self::Renewed,
        Self::Released,
        Self::LeaseLost,
        Self::Recovered,
        Self::Queued,
        Self::GaveUp,
        Self::QueueFull,
        Self::HeldSeconds,
        Self::Succeeded,
        Self::Failed,
        Self::RunSeconds,
        Self::QueueLength,
        Self::OldestWaitSeconds,
    ];

    /// Returns the name in CloudWatch.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acquired => "Acquired",
            Self::Skipped => "Skipped",
            Self::Duplicate => "Duplicate",
            Self::Renewed => "Renewed",
            Self::Released => "Released",
            Self::LeaseLost => "LeaseLost",
            Self::Recovered => "Recovered",
            Self::Queued => "Queued",
            Self::GaveUp => "GaveUp",
            Self::QueueFull => "QueueFull",
            Self::HeldSeconds => "HeldSeconds",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::RunSeconds => "RunSeconds",
            Self::QueueLength => "QueueLength",
            Self::OldestWaitSeconds => "OldestWaitSeconds",
        }
    }

    /// Returns whether the metric has the lock as a dimension if `LOCKSTEP_METRICS_PER_LOCK` is `true`. An
    /// alarm on one lock needs these three metrics.
    #[must_use]
    pub const fn is_per_lock(self) -> bool {
        matches!(self, Self::Failed | Self::Skipped | Self::QueueLength)
    }

    /// Returns the unit in CloudWatch.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::HeldSeconds | Self::RunSeconds | Self::OldestWaitSeconds => "Seconds",
            _ => "Count",
        }
    }
}
