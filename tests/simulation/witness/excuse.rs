//! Why a promise may be broken: a closed list of the limits that docs/guarantees.md states. Each
//! excused run is counted, and `seeds` bounds the counts.

use crate::world::World;
use lockstep::domain::HolderId;

/// A reason that the project states in its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excuse {
    /// An operator evicted the run by force. It works on until its next heartbeat.
    Evicted,
    /// An operator made the run key free again after the success of another run.
    Forgotten,
    /// The policy of the run is `yield`: it lost its permit and works on.
    Yielded,
    /// An operator redrove the execution: it repeated work that had succeeded, or its first
    /// heartbeat has not been answered yet.
    Redriven,
    /// An operator redrove the execution while it was judged by its end.
    RedrivenMeanwhile,
    /// A replaced run was stopped for a replacer that had just ended. DescribeExecution did not
    /// show its end yet.
    ReplacerJustEnded,
    /// The process did not check the end of its lease: Lockstep stops no processes.
    Process,
    /// The last step of an execution's states was under way when the execution ended.
    LastStep,
    /// The first waiter waits for the end of a holder with its run key, which only the holder's
    /// lease can show. The waiters behind it wait too.
    BehindRunKey,
    /// A retry of a caller was skipped because of its attempt before, and other runs wait behind
    /// that attempt. The permit goes to them.
    RetryBehindQueue,
    /// A retry of a caller waited in the queue with the run key of the attempt before it, which had died unseen, or had
    /// lost its permit under `yield` and then failed. A hand-over does not check that attempt.
    KeyInQueue,
    /// A heartbeat was written late. It ends the silence of the holder, and does not move the end of the lease.
    LateHeartbeat,
    /// The registration of a waiting state arrived after its end, or broke off before its place in
    /// the queue. Its side item stays until its TTL.
    LateRegistration,
}

impl Excuse {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Evicted => "excuse: evicted",
            Self::Forgotten => "excuse: forgotten",
            Self::Yielded => "excuse: yielded",
            Self::Redriven => "excuse: redriven",
            Self::RedrivenMeanwhile => "excuse: redriven meanwhile",
            Self::ReplacerJustEnded => "excuse: replacer just ended",
            Self::Process => "excuse: process",
            Self::LastStep => "excuse: last step",
            Self::BehindRunKey => "excuse: behind run key",
            Self::RetryBehindQueue => "excuse: retry behind a queue",
            Self::KeyInQueue => "excuse: run key in the queue",
            Self::LateHeartbeat => "excuse: late heartbeat",
            Self::LateRegistration => "excuse: late registration",
        }
    }

    /// Counts the excuse, once for each run.
    pub(crate) fn count(self, world: &World, holder: &HolderId) {
        world.count_once(self.name(), holder.as_str());
    }
}
