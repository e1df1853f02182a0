//! The closed list of metrics.

/// The CloudWatch namespace of all metrics.
pub const NAMESPACE: &str = "Lockstep";

/// What is counted or measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Grants.
    Acquired,
    /// Runs that found the lock full or resting and stepped back.
    Skipped,
    /// Runs whose run key was taken.
    Duplicate,
    /// Heartbeats that moved a lease.
    Renewed,
    /// Permits given back by their holders.
    Released,
    /// Holders that found their lease gone or their time up.
    LeaseLost,
    /// Permits of dead or stale holders that were freed.
    Recovered,
    /// Runs that took a place in the queue.
    Queued,
    /// Runs that waited until their time was up.
    GaveUp,
    /// Runs that could not wait because the queue was full.
    QueueFull,
    /// How long a lock was held, in seconds.
    HeldSeconds,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 11] = [
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
    ];

    /// The name in CloudWatch.
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
        }
    }

    /// The unit in CloudWatch.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::HeldSeconds => "Seconds",
            _ => "Count",
        }
    }
}
