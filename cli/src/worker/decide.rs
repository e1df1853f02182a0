//! What becomes of a message: pure decisions.
//!
//! ```text
//!  once key         malformed                 put aside, until the queue moves it away
//!  lock             granted                   start the command
//!                   its key has succeeded     delete
//!                   in flight elsewhere       hide: lease, then twice that, and so on
//!                   all permits held          hide, likewise
//!                   the table gives no answer hide, and poll less
//!  command          ends with 0               release as succeeded, then delete
//!                   fails, or is over time    release as failed, then hide: 5 s, 10 s, 20 s, …
//!                   loses its lease           leave it: it is visible when others may take over
//!                   is stopped at shutdown    release as failed, then give back at once
//! ```

use crate::attend::Cause;
use crate::child::ChildEnd;
use crate::worker::queue::CEILING;
use lockstep::contract::{AcquireResponse, ErrorName, Granted, ReleaseOutcome};
use std::time::Duration;

/// How long a message is hidden after its first failure.
const FIRST_BACKOFF: Duration = Duration::from_secs(5);
/// What is left of [`CEILING`] for the time between receive and decision.
const MARGIN: Duration = Duration::from_secs(300);

/// What to do with a message in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its work is done.
    Delete,
    /// It comes back after that time, in whole seconds.
    Hide(Duration),
    /// It comes back when its visibility ends, which nobody extends any more.
    Leave,
}

impl Fate {
    /// It comes back at once.
    pub(crate) const GIVE_BACK: Self = Self::Hide(Duration::ZERO);
}

/// How a message counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its command succeeded.
    Succeeded,
    /// Its command failed, or was stopped for its own sake.
    Failed,
    /// Its work was done before, or is done elsewhere at the moment.
    Skipped,
    /// It has no once key.
    Malformed,
    /// It was not begun, or not finished, for a reason that is not its own.
    GivenBack,
}

/// What comes after an answer of the lock table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// The command may start.
    Start(Box<Granted>),
    /// It may not.
    Skip {
        /// What becomes of the message.
        fate: Fate,
        /// Why not: who holds it.
        why: String,
    },
}

/// How long messages are hidden.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// The `--lease`.
    pub(crate) lease: Duration,
    /// The `--backoff-max`.
    pub(crate) backoff_max: Duration,
}

impl Patience {
    /// How long a message is hidden that failed when it was received for the `count`th time. `dice`,
    /// from 0 to 1, takes up to a half off: messages that failed together come back one by one.
    pub(crate) fn after_failure(&self, count: u32, dice: f64) -> Duration {
        let bound = doubled(FIRST_BACKOFF, count).min(self.backoff_max);
        whole(bound.mul_f64(1.0 - dice / 2.0))
    }

    /// How long a message is hidden whose work is in flight elsewhere. Each look counts as a receive,
    /// so they get rarer: a long run next to its duplicate must not end in the dead-letter queue.
    pub(crate) fn while_in_flight(&self, count: u32) -> Duration {
        doubled(self.lease, count).min(CEILING.saturating_sub(MARGIN))
    }
}

/// `first` at the first receive, and twice as much at each further one.
fn doubled(first: Duration, count: u32) -> Duration {
    first.saturating_mul(1 << count.saturating_sub(1).min(20))
}

/// Whole seconds, at least one: SQS knows no parts of a second.
fn whole(length: Duration) -> Duration {
    let up = u64::from(length.subsec_nanos() > 0);
    Duration::from_secs((length.as_secs() + up).max(1))
}

/// What comes after an answer of the lock table about a message that was received `count` times.
pub(crate) fn after_answer(answer: AcquireResponse, count: u32, patience: &Patience) -> Next {
    let later = Fate::Hide(patience.while_in_flight(count));
    let (fate, why) = match answer {
        AcquireResponse::Granted(granted) | AcquireResponse::AlreadyHeld(granted) => {
            return Next::Start(Box::new(granted));
        }
        AcquireResponse::Duplicate(run) if run.ended_at.is_some() => (Fate::Delete, run.message),
        AcquireResponse::Duplicate(run) => (later, run.message),
        AcquireResponse::Skipped(skipped) => (later, skipped.message),
        // Not asked for.
        AcquireResponse::Queued(queued) => (later, queued.message),
        AcquireResponse::GaveUp(gone) => (later, gone.message),
    };
    Next::Skip { fate, why }
}

/// Whether an error of the lock table would meet any other message too, so that receiving more of
/// them only wears out their receive counts.
pub(crate) fn is_trouble(error: ErrorName) -> bool {
    matches!(error, ErrorName::Unavailable | ErrorName::Denied)
}

/// What the end of a command means. One that was stopped has not succeeded, whatever its code says.
pub(crate) fn after_end(
    end: ChildEnd,
    cause: Option<Cause>,
    backoff: Duration,
) -> (ReleaseOutcome, Fate, Kind) {
    let failed = ReleaseOutcome::Failed;
    match cause {
        None if end.is_success() => (ReleaseOutcome::Succeeded, Fate::Delete, Kind::Succeeded),
        None | Some(Cause::TimedOut) => (failed, Fate::Hide(backoff), Kind::Failed),
        Some(Cause::Lost) => (failed, Fate::Leave, Kind::Failed),
        Some(Cause::Told(_)) => (failed, Fate::GIVE_BACK, Kind::GivenBack),
    }
}

#[cfg(test)]
mod tests;
