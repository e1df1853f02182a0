//! Decides what a command does to a lock.

mod acquire;
mod builder;
mod operator;
mod recover;
mod reinstate;
mod release;
mod renew;
mod settle;
mod stop;
#[cfg(test)]
#[cfg(feature = "test-util")]
mod tests;

use self::builder::TransitionBuilder;
use super::command::Command;
use super::expectation::Expectation;
use super::guard::RunGuard;
use super::record::LockRecord;
use super::refusal::Refusal;
use super::run::{Retention, Run, RunEnd, RunId, RunOutcome, RunWrite};
use super::terms::Terms;
use super::time::{Seconds, Timestamp};
use super::token::FencingToken;
use super::transition::{Outcome, Snapshot, Transition};

/// Shortest time until the sweep checks a lock again that it could do nothing for.
const LOOK_AGAIN: Seconds = Seconds::of(30);

/// What `command` does at `now` to a lock that was read as `seen`.
///
/// A pure function: the result depends on nothing but the arguments.
///
/// # Errors
/// A [`Refusal`], if the command changes nothing and the caller needs the reason.
pub fn decide(seen: &Snapshot, command: &Command, now: Timestamp) -> Result<Transition, Refusal> {
    match command {
        Command::Acquire(acquire) => acquire::decide(seen, acquire, now),
        Command::Renew(renew) => renew::decide(seen, renew, now),
        Command::Release(release) => Ok(release::decide(seen, release, now)),
        Command::Recover(recover) => Ok(recover::decide(seen, recover, now)),
        Command::HandOver => Ok(hand_over(seen, now)),
        Command::Suspect(suspect) => Ok(stop::suspect(seen, suspect, now)),
        Command::Stop(stop) => Ok(stop::commit(seen, stop, now)),
        Command::MarkEnding(mark) => Ok(stop::mark_ending(seen, mark, now)),
        Command::Settle(settle) => Ok(settle::decide(seen, settle, now)),
        Command::Freeze(freeze) => Ok(recover::freeze(seen, freeze, now)),
        Command::Pause(audit, until) => Ok(operator::pause(seen, audit, *until, now)),
        Command::Resume(audit) => Ok(operator::resume(seen, audit, now)),
        Command::EndPause(audit) => Ok(operator::end_pause(seen, audit, now)),
        Command::ClearRest(audit) => Ok(operator::clear_rest(seen, audit, now)),
        Command::Forget(forget) => operator::forget(seen, forget, now),
        Command::Evict(evict) => Ok(operator::evict(seen, evict, now)),
        Command::StopEvicted(evict) => Ok(stop::evicted(seen, evict, now)),
        Command::DropUnread(drop) => Ok(operator::drop_unread(seen, drop, now)),
        Command::DropWaiter(evict) => Ok(operator::drop_waiter(seen, evict, now)),
        Command::NoteTask(note) => Ok(recover::note_task(seen, note)),
        Command::Reschedule => Ok(reschedule(seen, now)),
        Command::NoteMissing => Ok(note_missing(seen, now)),
    }
}

/// The refusal that follows from the command's run alone, without the record: its run key has had a
/// success.
#[must_use]
pub fn refused_by_run(seen: &Snapshot, command: &Command, now: Timestamp) -> Option<Refusal> {
    let Command::Acquire(acquire) = command else {
        return None;
    };
    acquire::refuse_succeeded(seen, &acquire.terms, now)
}

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

/// The marker of a run key, from the grant on.
pub(crate) fn start_run(terms: &Terms, token: FencingToken) -> Option<RunWrite> {
    let key = terms.run_key.clone()?;
    let run = Run::started(terms.holder.clone(), token, Some(key.clone()));
    Some(RunWrite {
        id: RunId::Key(key),
        run,
    })
}

/// The entries of a run that ends: its own, and the marker of its run key. A run that `runs_on`
/// without its permit keeps the key.
pub(crate) fn end_run(run: &Run, runs_on: bool, retention: Retention) -> Vec<(RunGuard, RunWrite)> {
    let end = run.end.as_ref().filter(|_| !runs_on);
    let marker = run.run_key.clone().map(|key| RunWrite {
        id: RunId::Key(key),
        run: Run {
            task: None,
            end: end.map(|end| end.of_marker(retention)),
            lease: run.lease.clone().filter(|_| runs_on),
            ..run.clone()
        },
    });
    let entry = RunWrite {
        id: RunId::Token(run.token),
        run: run.clone(),
    };
    let writes = std::iter::once(entry).chain(marker);
    writes
        .map(|write| (RunGuard::OpenFor(run.token), write))
        .collect()
}

/// The end of a run, or an act, at `now`, as the history keeps it.
pub(crate) fn ended(
    outcome: RunOutcome,
    evidence: Option<String>,
    retention: Retention,
    now: Timestamp,
) -> RunEnd {
    RunEnd {
        outcome,
        at: now,
        retain_until: now.plus(retention.history),
        evidence,
    }
}
