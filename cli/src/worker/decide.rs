//! Decides the disposition of a message. Pure.
//!
//! ```text
//!  once key         malformed                 hide: as after a failure
//!  lock             granted                   start the command
//!                   its key has succeeded     delete
//!                   in flight elsewhere       hide: lease, then twice that, and so on
//!                   all permits held          hide, likewise
//!                   no answer, or refused     hide: 15 s, 1 min, …; open the breaker
//!  command          ends with 0               release as succeeded, then delete
//!                   fails, or is over time    release as failed, then hide: 5 s, 10 s, 20 s, …
//!                   loses its lease           leave: it is visible when others may take over
//!                   is stopped at shutdown    release as failed, then give back at once
//! ```

use crate::exec::ChildExit;
use crate::exec::supervise::StopCause;
use crate::worker::queue::CEILING;
use lockstep::contract::{AcquireResponse, Granted, ReleaseOutcome};
use std::time::Duration;

/// How long a message is hidden after its first failure.
const FIRST_BACKOFF: Duration = Duration::from_secs(5);
/// How long a message that could not begin is hidden at its first receive.
const FIRST_DEFERRAL: Duration = Duration::from_secs(15);
/// Longest time for which a message that could not begin is hidden. In a queue that allows many more than
/// five receives, a brief failure at the tenth receive must not cost half a day.
const LONGEST_DEFERRAL: Duration = Duration::from_secs(3_600);
/// Longest time for which a message is hidden. The rest of [`CEILING`] is for the time between the receive
/// and the decision.
const LONGEST: Duration = CEILING.saturating_sub(Duration::from_secs(300));

/// What to do with a message in the queue after its processing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// DeleteMessage: its work is done.
    Delete,
    /// ChangeMessageVisibility: the message becomes visible after this time, in whole seconds.
    Hide(Duration),
    /// No call: the message becomes visible when its visibility timeout ends.
    Leave,
}

impl Disposition {
    /// Makes the message visible at once.
    pub(crate) const GIVE_BACK: Self = Self::Hide(Duration::ZERO);
}

/// The kind of a processed message, for metrics and totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its command succeeded.
    Succeeded,
    /// Its command failed, exceeded a time limit, or lost its lease.
    Failed,
    /// Its work has succeeded before, or is in flight elsewhere.
    Skipped,
    /// It has no once key.
    Malformed,
    /// It was not begun or not finished for a reason outside of the message, such as a shutdown or a table
    /// that does not answer.
    GivenBack,
}

/// The decision on a response of the lock table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LockDecision {
    /// The command may start.
    Start(Box<Granted>),
    /// The command may not start.
    Skip {
        /// The disposition of the message.
        disposition: Disposition,
        /// The reason in a sentence, which names the holder.
        why: String,
    },
}

/// How long messages are hidden.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryDelays {
    /// The `--lease`.
    pub(crate) lease: Duration,
    /// The `--backoff-max`.
    pub(crate) backoff_max: Duration,
}

impl RetryDelays {
    /// Returns how long a message that failed at its `count`th receive is hidden. `jitter`, from 0 to 1,
    /// subtracts up to half of that time, so that messages that failed together become visible one by one.
    pub(crate) fn after_failure(&self, count: u32, jitter: f64) -> Duration {
        let bound = grown(FIRST_BACKOFF, 2, count).min(self.backoff_max);
        whole(bound.mul_f64(1.0 - jitter / 2.0))
    }

    /// Returns how long a message is hidden while its work is in flight elsewhere. The time doubles with each
    /// receive, so that the duplicate of a long run does not end in the dead-letter queue.
    pub(crate) fn while_in_flight(&self, count: u32) -> Duration {
        grown(self.lease, 2, count).min(LONGEST)
    }
}

/// Returns `first` at the first receive, and `factor` times as much at each further receive.
fn grown(first: Duration, factor: u32, count: u32) -> Duration {
    first.saturating_mul(factor.saturating_pow(count.saturating_sub(1)))
}

/// Rounds up to whole seconds, at least one: SQS takes no fractions of a second.
fn whole(length: Duration) -> Duration {
    let up = u64::from(length.subsec_nanos() > 0);
    Duration::from_secs((length.as_secs() + up).max(1))
}

/// Decides what the response of the lock table means for a message that was received `count` times.
pub(crate) fn decide_on_response(
    answer: AcquireResponse,
    count: u32,
    delays: &RetryDelays,
) -> LockDecision {
    let later = Disposition::Hide(delays.while_in_flight(count));
    let (disposition, why) = match answer {
        AcquireResponse::Granted(granted) | AcquireResponse::AlreadyHeld(granted) => {
            return LockDecision::Start(Box::new(granted));
        }
        AcquireResponse::Duplicate(run) if run.ended_at.is_some() => {
            (Disposition::Delete, run.message)
        }
        AcquireResponse::Duplicate(run) => (later, run.message),
        AcquireResponse::Skipped(skipped) => (later, skipped.message),
        // The worker does not request the queue of a lock.
        AcquireResponse::Queued(queued) => (later, queued.message),
        AcquireResponse::GaveUp(gone) => (later, gone.message),
        AcquireResponse::Finished(run) => (later, run.message),
    };
    LockDecision::Skip { disposition, why }
}

/// Returns the disposition of a message that could not begin because of a shared dependency: the table, the
/// state of its lock, the protection of the task, or this machine. `jitter`, from 0 to 1, subtracts up to a
/// quarter of the delay.
///
/// A queue that is set up as documented allows at least five receives. So the first delay is short, for a
/// brief failure, and the later ones grow by a factor of four: five of them last over an hour, and a message
/// with one receive left still outlasts a failure of half an hour. The length of the lease has no influence,
/// because no command runs.
///
/// A worker that is `stopping` gives the message back at once: another worker may succeed, and probes the
/// table before it receives.
pub(crate) fn deferred(count: u32, jitter: f64, stopping: bool) -> Disposition {
    if stopping {
        return Disposition::GIVE_BACK;
    }
    let bound = grown(FIRST_DEFERRAL, 4, count).min(LONGEST_DEFERRAL);
    Disposition::Hide(whole(bound.mul_f64(1.0 - jitter / 4.0)))
}

/// Decides on the outcome, the disposition and the kind of a message whose command has ended. A command that
/// was stopped has not succeeded, whatever its exit code.
pub(crate) fn decide_on_end(
    end: ChildExit,
    cause: Option<StopCause>,
    backoff: Duration,
) -> (ReleaseOutcome, Disposition, Kind) {
    let failed = ReleaseOutcome::Failed;
    match cause {
        None if end.is_success() => (
            ReleaseOutcome::Succeeded,
            Disposition::Delete,
            Kind::Succeeded,
        ),
        None | Some(StopCause::TimedOut) => (failed, Disposition::Hide(backoff), Kind::Failed),
        Some(StopCause::LeaseLost) => (failed, Disposition::Leave, Kind::Failed),
        Some(StopCause::Signal(_)) => (failed, Disposition::GIVE_BACK, Kind::GivenBack),
    }
}

#[cfg(test)]
mod tests;
