//! What becomes of a message: pure decisions.
//!
//! ```text
//!  once key         malformed                 put aside, until the queue moves it away
//!  lock             granted                   start the command
//!                   its key has succeeded     delete
//!                   in flight elsewhere       hide: lease, then twice that, and so on
//!                   all permits held          hide, likewise
//!                   no answer, or refused     hide: 15 s, a minute, four, …, and receive less
//!  command          ends with 0               release as succeeded, then delete
//!                   fails, or is over time    release as failed, then hide: 5 s, 10 s, 20 s, …
//!                   loses its lease           leave it: it is visible when others may take over
//!                   is stopped at shutdown    release as failed, then give back at once
//! ```

use crate::exec::ChildExit;
use crate::exec::supervise::StopCause;
use crate::worker::queue::CEILING;
use lockstep::contract::{AcquireResponse, Granted, ReleaseOutcome};
use std::time::Duration;

/// How long a message is hidden after its first failure.
const FIRST_BACKOFF: Duration = Duration::from_secs(5);
/// How long a message is hidden that trouble kept from its work, the first time.
const FIRST_TROUBLE: Duration = Duration::from_secs(15);
/// How long at most. Some queues have many more receives than five: there, a moment's trouble at the
/// tenth must not cost half a day.
const LONGEST_TROUBLE: Duration = Duration::from_secs(3_600);
/// Longest time that a message is hidden: what is left of [`CEILING`] is for the time between receive
/// and decision.
const LONGEST: Duration = CEILING.saturating_sub(Duration::from_secs(300));

/// What to do with a message in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// Its work is done.
    Delete,
    /// It comes back after that time, in whole seconds.
    Hide(Duration),
    /// It comes back when its visibility ends, which nobody extends any more.
    Leave,
}

impl Disposition {
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
        fate: Disposition,
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
        let bound = grown(FIRST_BACKOFF, 2, count).min(self.backoff_max);
        whole(bound.mul_f64(1.0 - dice / 2.0))
    }

    /// How long a message is hidden whose work is in flight elsewhere. Each look counts as a receive,
    /// so they get rarer: a long run next to its duplicate must not end in the dead-letter queue.
    pub(crate) fn while_in_flight(&self, count: u32) -> Duration {
        grown(self.lease, 2, count).min(LONGEST)
    }
}

/// `first` at the first receive, and `factor` times as much at each further one.
fn grown(first: Duration, factor: u32, count: u32) -> Duration {
    first.saturating_mul(factor.saturating_pow(count.saturating_sub(1)))
}

/// Whole seconds, at least one: SQS knows no parts of a second.
fn whole(length: Duration) -> Duration {
    let up = u64::from(length.subsec_nanos() > 0);
    Duration::from_secs((length.as_secs() + up).max(1))
}

/// What comes after an answer of the lock table about a message that was received `count` times.
pub(crate) fn after_answer(answer: AcquireResponse, count: u32, patience: &Patience) -> Next {
    let later = Disposition::Hide(patience.while_in_flight(count));
    let (fate, why) = match answer {
        AcquireResponse::Granted(granted) | AcquireResponse::AlreadyHeld(granted) => {
            return Next::Start(Box::new(granted));
        }
        AcquireResponse::Duplicate(run) if run.ended_at.is_some() => {
            (Disposition::Delete, run.message)
        }
        AcquireResponse::Duplicate(run) => (later, run.message),
        AcquireResponse::Skipped(skipped) => (later, skipped.message),
        // Not asked for.
        AcquireResponse::Queued(queued) => (later, queued.message),
        AcquireResponse::GaveUp(gone) => (later, gone.message),
        AcquireResponse::Finished(run) => (later, run.message),
    };
    Next::Skip { fate, why }
}

/// What becomes of a message that was kept from its work by what is not its own: the table, the state
/// of its lock, the protection of the task, this machine. `dice` takes up to a quarter off its wait.
///
/// It has five receives at the least, if the queue is as the manual asks, and no fault. So the first
/// wait is short, for a moment's trouble, and those after it grow fast: together they are over an
/// hour, and even a message with one receive left outlasts half an hour. The lease has no part in it,
/// because nobody works on the message.
///
/// A worker that is `stopping` gives it back at once: others may fare better, and try the table before
/// they receive.
pub(crate) fn after_trouble(count: u32, dice: f64, stopping: bool) -> Disposition {
    if stopping {
        return Disposition::GIVE_BACK;
    }
    let bound = grown(FIRST_TROUBLE, 4, count).min(LONGEST_TROUBLE);
    Disposition::Hide(whole(bound.mul_f64(1.0 - dice / 4.0)))
}

/// What the end of a command means. One that was stopped has not succeeded, whatever its code says.
pub(crate) fn after_end(
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
