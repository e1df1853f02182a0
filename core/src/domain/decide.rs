//! Decides what a command does to a lock.
//!
//! There is one module for each group of commands. A decision reads no clock and does no I/O: the same
//! snapshot, command and time always give the same transition. So the model checks every interleaving of
//! the decisions that the deployed functions make. The guard of a write contains all that the decision
//! relies on. If the guard fails, the command is decided again on the record that the failure returned.
//!
//! ```text
//!  acquire    grants a permit, gives a place in the queue, or refuses; frees no permit
//!  renew      renews the lease, reinstates the grant of a redriven run, or applies the stale policy
//!  release    frees the permit and writes how the run ended
//!  recover    does the same for a holder that is dead or stale, on evidence
//!  mark       marks a suspect or an ending, or commits a stop; the holder keeps its permit
//!  operator   pauses, opens, drops waiters and frees run keys for operators and the sweep
//!  settle     records the end of a run that lost its permit and continued without it
//!  builder    builds the parts that these share: ends of leases, grants, hand-overs, history
//! ```

mod acquire;
mod builder;
mod mark;
mod operator;
mod recover;
mod reinstate;
mod release;
mod renew;
mod settle;
#[cfg(test)]
#[cfg(feature = "test-util")]
mod tests;

use self::builder::TransitionBuilder;
use super::command::Command;
use super::expectation::Expectation;
use super::record::LockRecord;
use super::refusal::Refusal;
use super::time::{Seconds, Timestamp};
use super::transition::{Outcome, Snapshot, Transition};

/// Shortest time until the sweep checks a lock again on which it took no action.
///
/// Without this time, a holder that cannot be judged (its lease has expired, and its execution cannot be
/// described) would be due in each sweep. Many such holders would take all the time of a sweep, and the
/// other locks would not be checked.
const LOOK_AGAIN: Seconds = Seconds::of(30);

/// Decides what `command` does at `now` to a lock that was read as `seen`.
///
/// This is a pure function: the result depends only on the arguments.
///
/// A command that finds nothing to do is not an error. Every command may be executed twice, and the
/// second time there is nothing left to change: the outcome is [`Outcome::Unchanged`], or the outcome of
/// the first time.
///
/// # Errors
/// A [`Refusal`], if the command changes nothing and the caller needs the reason.
///
/// # Examples
/// ```
/// use lockstep_core::domain::{
///     Acquire, Command, HolderId, Outcome, Refusal, Retention, Seconds, Snapshot, Terms, Timestamp, decide,
/// };
///
/// let now = Timestamp::from_millis(1_800_000_000_000);
/// let retention = Retention { history: Seconds::of(172_800), run_keys: Seconds::of(86_400) };
/// let request = |name: &str| -> Result<Command, lockstep_core::domain::Invalid> {
///     let terms = Terms::new(HolderId::new(name)?, retention);
///     Ok(Command::Acquire(Acquire::new(terms)))
/// };
///
/// // A lock without a record is free.
/// let granted = decide(&Snapshot::default(), &request("run-1")?, now).expect("a grant");
/// assert!(matches!(granted.outcome, Outcome::Granted { .. }));
///
/// // The second decision sees the record that the first one writes.
/// let seen = Snapshot { record: granted.next, ..Snapshot::default() };
/// let refused = decide(&seen, &request("run-2")?, now);
/// assert!(matches!(refused, Err(Refusal::Held { .. })));
/// # Ok::<(), lockstep_core::domain::Invalid>(())
/// ```
pub fn decide(seen: &Snapshot, command: &Command, now: Timestamp) -> Result<Transition, Refusal> {
    match command {
        Command::Acquire(acquire) => acquire::decide(seen, acquire, now),
        Command::Renew(renew) => renew::decide(seen, renew, now),
        Command::Release(release) => Ok(release::decide(seen, release, now)),
        Command::Recover(recover) => Ok(recover::decide(seen, recover, now)),
        Command::HandOver => Ok(hand_over(seen, now)),
        Command::Mark(mark) => Ok(mark::decide(seen, mark, now)),
        Command::Settle(settle) => Ok(settle::decide(seen, settle, now)),
        Command::Freeze(freeze) => Ok(recover::freeze(seen, freeze, now)),
        Command::Pause(audit, until) => operator::pause(seen, audit, *until, now),
        Command::Open(opening, audit) => Ok(operator::open(seen, *opening, audit, now)),
        Command::Forget(forget) => operator::forget(seen, forget, now),
        Command::NoteStart(audit) => Ok(operator::note_start(seen, audit, now)),
        Command::DropWaiter(drop) => Ok(operator::drop_waiter(seen, drop, now)),
        Command::NoteTask(note) => Ok(recover::note_task(seen, note)),
        Command::Reschedule => Ok(reschedule(seen, now)),
        Command::NoteMissing => Ok(note_missing(seen, now)),
    }
}

/// Returns the refusal of an acquire whose run key has had a success within the retention. It follows
/// from the marker of the run key alone.
///
/// So a duplicate of a success takes one request: the conflict returns the marker, and the record need
/// not be read.
#[must_use]
pub fn refused_by_run(seen: &Snapshot, command: &Command, now: Timestamp) -> Option<Refusal> {
    let Command::Acquire(acquire) = command else {
        return None;
    };
    acquire::refuse_succeeded(seen, &acquire.terms, now)
}

/// Grants a free permit to the first waiter. Executed as the effect of a commit, which can grant a
/// permit to one waiter only, and by the sweep for a hand-over that did not complete.
fn hand_over(seen: &Snapshot, now: Timestamp) -> Transition {
    let Some(record) = &seen.record else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let mut builder = TransitionBuilder::of(record);
    builder.let_in(seen, now);
    builder.finish_if_changed(Outcome::Done, now)
}

/// Sets the time at which the lock is due again, after a sweep that took no action on it: the next time
/// at which something is to be done, and at the earliest after [`LOOK_AGAIN`].
fn reschedule(seen: &Snapshot, now: Timestamp) -> Transition {
    let Some(record) = &seen.record else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let due = record.next_due().map(|due| due.max(now.plus(LOOK_AGAIN)));
    if record.due == due {
        return Transition::unchanged(Outcome::Unchanged);
    }
    let mut next = record.clone();
    next.due = due;
    Transition::to(next, Outcome::Done)
}

/// Records that no success came in time, so that the missing success is reported once.
fn note_missing(seen: &Snapshot, now: Timestamp) -> Transition {
    let due = |record: &&LockRecord| record.success_due().is_some_and(|due| due <= now);
    let Some(record) = seen.record.as_ref().filter(due) else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let mut next = record.clone();
    next.expectation = record.expectation.map(|expected| Expectation {
        missed_at: Some(now),
        ..expected
    });
    next.due_if_idle();
    Transition::to(next, Outcome::Done)
}
