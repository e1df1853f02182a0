//! The closed list of metrics of a stack, which its alarms watch.

/// A metric of a stack. Its only dimension is `table`, so that the data of one stack does not hide the data
/// of another stack from its alarms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StackMetric {
    /// 1 for a sweep that checked every lock that was due, 0 for one that ran out of time.
    SweepFinished,
    /// Locks that a sweep could not check.
    LocksUnchecked,
    /// Calls that failed for a reason that an operator has to remove: `Lockstep.Denied`, `Lockstep.Corrupt`.
    Faults,
}

impl StackMetric {
    /// All metrics of a stack. Their unit is Count.
    pub const ALL: [Self; 3] = [Self::SweepFinished, Self::LocksUnchecked, Self::Faults];

    /// Returns the name in CloudWatch.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SweepFinished => "SweepFinished",
            Self::LocksUnchecked => "LocksUnchecked",
            Self::Faults => "Faults",
        }
    }
}
