//! What a world goes through, and is judged by, beside the usual. Each trial can be left out, so
//! that a promise that the product does not keep yet shows its trial.
//!
//! A trial that the product does not pass yet stays out of [`Trials::GATE`], with a note of the
//! seeds that break it.

/// A hardship, or a stricter judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trial {
    /// A write may arrive after later ones, or twice: the end of a lease never moves back.
    LateWrites,
    /// No service describes anything for more than an hour: a lock whose holder is dead freezes.
    HiddenForHours,
    /// Clocks are ahead too, and not only behind.
    ClocksAhead,
    /// A function is upgraded during runs: the version before the upgrade ignores some fields of a
    /// request.
    Upgrade,
    /// Callers retry what has timed out, and name themselves.
    Retries,
    /// A delivery whose run key is in flight replaces nothing.
    SameTick,
    /// An execution that succeeds has done its work.
    Green,
    /// An exceeded limit is found, however seldom the holder sends heartbeats.
    Limits,
    /// A limit counts from when the run learned of its grant.
    WorkTime,
    /// A success is reported as missing only if there is none, however it was recorded.
    Successes,
    /// An execution ends soon after its release.
    EndsAfterRelease,
    /// Missing evidence is reported once for each silence of a holder.
    QuietAlerts,
    /// Descriptions fail for minutes with an error that may pass, and not with a denial.
    Unanswered,
    /// A description takes seconds.
    SlowLooks,
    /// Items of one Map run beside each other, and name the same parent.
    Siblings,
}

/// A set of trials.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trials(u32);

impl Trials {
    /// None of them.
    pub(crate) const NONE: Self = Self(0);

    /// All of them.
    pub(crate) const ALL: Self = Self(u32::MAX);

    /// What every world of the gate goes through.
    pub(crate) const GATE: Self = Self::NONE
        .and(Trial::LateWrites)
        .and(Trial::HiddenForHours)
        .and(Trial::ClocksAhead)
        .and(Trial::Upgrade)
        .and(Trial::Retries)
        .and(Trial::SameTick)
        .and(Trial::Green)
        .and(Trial::Limits)
        .and(Trial::WorkTime)
        .and(Trial::Successes)
        .and(Trial::EndsAfterRelease)
        .and(Trial::QuietAlerts)
        .and(Trial::Unanswered)
        .and(Trial::SlowLooks)
        .and(Trial::Siblings);

    pub(crate) const fn and(self, trial: Trial) -> Self {
        Self(self.0 | 1 << trial as u32)
    }

    pub(crate) const fn has(self, trial: Trial) -> bool {
        self.0 & 1 << trial as u32 > 0
    }
}
