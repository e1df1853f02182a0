//! The closed list of events.

use std::fmt;

/// The source of all events.
pub const SOURCE: &str = "lockstep";

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// A run was granted a permit. Only with the parameter `RunEvents`, and perhaps twice, with the same
    /// `token`.
    RunStarted,
    /// A run succeeded. Only with the parameter `RunEvents`, and perhaps twice, with the same `token`.
    RunSucceeded,
    /// A run reported its failure. With the parameter `RunEvents` also a run that was found dead or lost
    /// its permit, which is no message.
    RunFailed,
    /// A run was skipped because the lock was full, paused or at rest, or its queue was full.
    RunSkipped,
    /// A run was skipped because its run key is taken.
    RunDuplicate,
    /// A run failed because the queue was full.
    QueueFull,
    /// A run waited until its time was up.
    WaitGivenUp,
    /// A run lost its lease while it was at work.
    LeaseLost,
    /// A dead run's permit was freed.
    RunRecovered,
    /// A run was replaced by another one.
    RunReplaced,
    /// An operator took the permit of a run, or its place in the queue.
    RunEvicted,
    /// A run that is stale or replaced, or the work that an ended run has left, is being stopped.
    RunStopped,
    /// A lock froze, because of a stale run or because evidence is missing.
    LockFrozen,
    /// An operator paused a lock.
    LockPaused,
    /// An operator resumed a lock, or its pause was over.
    LockResumed,
    /// The evidence does not show whether a run is dead.
    EvidenceMissing,
    /// No run succeeded within `expectEverySeconds`.
    RunMissing,
    /// An operator ended the rest of a lock.
    RestCleared,
    /// An operator freed a run key.
    RunForgotten,
    /// A container handed a permit over to a workflow that waits for it.
    PermitHandedOver,
    /// A container removed a waiting workflow from the queue, without a permit for it.
    WaiterSentAway,
}

impl EventKind {
    /// All kinds.
    pub const ALL: [Self; 21] = [
        Self::RunStarted,
        Self::RunSucceeded,
        Self::RunFailed,
        Self::RunSkipped,
        Self::RunDuplicate,
        Self::QueueFull,
        Self::WaitGivenUp,
        Self::LeaseLost,
        Self::RunRecovered,
        Self::RunReplaced,
        Self::RunEvicted,
        Self::RunStopped,
        Self::LockFrozen,
        Self::LockPaused,
        Self::LockResumed,
        Self::EvidenceMissing,
        Self::RunMissing,
        Self::RestCleared,
        Self::RunForgotten,
        Self::PermitHandedOver,
        Self::WaiterSentAway,
    ];

    /// Returns the `detail-type` that a rule matches.
    #[must_use]
    pub const fn detail_type(self) -> &'static str {
        match self {
            Self::RunStarted => "Lockstep Run Started",
            Self::RunSucceeded => "Lockstep Run Succeeded",
            Self::RunFailed => "Lockstep Run Failed",
            Self::RunSkipped => "Lockstep Run Skipped",
            Self::RunDuplicate => "Lockstep Run Duplicate",
            Self::QueueFull => "Lockstep Queue Full",
            Self::WaitGivenUp => "Lockstep Wait Given Up",
            Self::LeaseLost => "Lockstep Lease Lost",
            Self::RunRecovered => "Lockstep Run Recovered",
            Self::RunReplaced => "Lockstep Run Replaced",
            Self::RunEvicted => "Lockstep Run Evicted",
            Self::RunStopped => "Lockstep Run Stopped",
            Self::LockFrozen => "Lockstep Lock Frozen",
            Self::LockPaused => "Lockstep Lock Paused",
            Self::LockResumed => "Lockstep Lock Resumed",
            Self::EvidenceMissing => "Lockstep Evidence Missing",
            Self::RunMissing => "Lockstep Run Missing",
            Self::RestCleared => "Lockstep Rest Cleared",
            Self::RunForgotten => "Lockstep Run Forgotten",
            Self::PermitHandedOver => "Lockstep Permit Handed Over",
            Self::WaiterSentAway => "Lockstep Waiter Sent Away",
        }
    }

    /// Returns whether an operator has to act on events of this kind. The topic of the alarms receives them,
    /// and docs/runbook.md has a section on each kind. Events of the other kinds are the normal effect of a
    /// lock, or of an operator's act.
    #[must_use]
    pub const fn calls_for_action(self) -> bool {
        matches!(
            self,
            Self::RunFailed
                | Self::QueueFull
                | Self::WaitGivenUp
                | Self::LeaseLost
                | Self::RunRecovered
                | Self::RunStopped
                | Self::LockFrozen
                | Self::EvidenceMissing
                | Self::RunMissing
        )
    }

    /// Returns the section of the runbook on this kind, if it calls for action.
    #[must_use]
    pub fn section(self) -> Option<String> {
        let name = self.detail_type().trim_start_matches("Lockstep ");
        let anchor = name.to_lowercase().replace(' ', "-");
        self.calls_for_action()
            .then(|| format!("docs/runbook.md#{anchor}"))
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.detail_type())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_type_is_the_name_of_its_kind_in_words() {
        for kind in EventKind::ALL {
            let joined = kind.detail_type().replace(' ', "");

            assert_eq!(joined, format!("Lockstep{kind:?}"));
            assert!(kind.detail_type().len() <= 128, "{kind:?} is too long");
        }
    }

    #[test]
    fn a_kind_that_calls_for_action_names_its_section_of_the_runbook() {
        let section = Some("docs/runbook.md#evidence-missing".into());
        assert_eq!(EventKind::EvidenceMissing.section(), section);
        assert_eq!(EventKind::RunSkipped.section(), None);
    }
}
