//! Decides what a command does to a lock.
//!
//! One module for each group of commands. A decision reads no clock and does no I/O: the same
//! snapshot, command and time always give the same transition, so the model checks every
//! interleaving of the decisions that the functions make. What a decision relies on is in the guard
//! of its write, and a write whose guard fails is decided anew on what the failure returned.
//!
//! ```text
//!  acquire    grants, gives a place in the queue, or refuses; frees no permit
//!  renew      moves the lease on, puts a redriven grant back, or applies the stale policy
//!  release    frees the permit and writes how the run ended
//!  recover    the same for a holder that is dead or stale, on evidence
//!  mark       marks a suspect or an ending, commits a stop: all keep the permit
//!  operator   what operators and the sweep do to a lock
//!  settle     the end of a run that lost its permit and worked on
//!  builder    what these share: ends of leases, grants, hand-overs, entries in the history
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

/// Shortest time until the sweep checks a lock again that it could do nothing for.
///
/// Without it, a holder that cannot be judged (its lease is over, and its execution cannot be
/// described) would be due in each sweep, and many of those would keep a bounded sweep from the
/// rest.
const LOOK_AGAIN: Seconds = Seconds::of(30);

/// What `command` does at `now` to a lock that was read as `seen`.
///
/// A pure function: the result depends on nothing but the arguments.
///
/// A command that finds nothing to do is no error: its outcome is [`Outcome::Unchanged`], because
/// all commands can be executed twice, and the second time has nothing left to change.
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
/// // The record that the first decision writes is what the second one sees.
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

/// The refusal that follows from the command's run alone, without the record: its run key has had a
/// success.
///
/// A duplicate of a success so takes one request: the conflict on the marker has returned the run,
/// and the record is not read for it.
#[must_use]
pub fn refused_by_run(seen: &Snapshot, command: &Command, now: Timestamp) -> Option<Refusal> {
    let Command::Acquire(acquire) = command else {
        return None;
    };
    acquire::refuse_succeeded(seen, &acquire.terms, now)
}

/// Lets the first waiter in where a permit is free. Executed as the effect of a commit that could
/// let only one waiter in, and by the sweep, for a hand-over that was cut off.
fn hand_over(seen: &Snapshot, now: Timestamp) -> Transition {
    let Some(record) = &seen.record else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let mut builder = TransitionBuilder::of(record);
    builder.let_in(seen, now);
    builder.finish_if_changed(Outcome::Done, now)
}

/// Makes a lock that was checked and left as it is due when its next lease ends, and at the
/// earliest after [`LOOK_AGAIN`].
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

/// Notes that no success came in time, so that it is reported once.
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
