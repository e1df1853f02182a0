//! The one function that says what a command does to a lock.

mod acquire;
mod release;
mod renew;
#[cfg(test)]
mod tests;

use super::command::Command;
use super::guard::RunGuard;
use super::holder::HolderId;
use super::lease::Lease;
use super::record::LockRecord;
use super::refusal::Refusal;
use super::run::{Run, RunEnd, RunWrite};
use super::time::Timestamp;
use super::transition::{Snapshot, Transition};

pub(crate) use acquire::{new_lease, start_run};

/// What `command` does to a lock seen as `seen` at `now`.
///
/// Pure: the same arguments give the same answer, and nothing else is looked at.
///
/// # Errors
/// A [`Refusal`] when the command changes nothing and the caller has to know why.
pub fn decide(seen: &Snapshot, command: &Command, now: Timestamp) -> Result<Transition, Refusal> {
    match command {
        Command::Acquire(acquire) => acquire::decide(seen, acquire, now),
        Command::Renew(renew) => renew::decide(seen, renew, now),
        Command::Release(release) => Ok(release::decide(seen, release, now)),
    }
}

/// The refusal that the command's run alone tells, without a look at the record: a run key that has
/// had its success.
#[must_use]
pub fn refused_by_run(run: Option<&Run>, command: &Command, now: Timestamp) -> Option<Refusal> {
    let Command::Acquire(acquire) = command else {
        return None;
    };
    acquire::refuse_succeeded(run, acquire, now)
}

fn end_run(holder: &HolderId, lease: &Lease, end: RunEnd) -> (RunGuard, RunWrite) {
    let run = Run {
        holder: holder.clone(),
        token: lease.token,
        end: Some(end),
    };
    (
        RunGuard::OpenFor(lease.token),
        RunWrite {
            id: lease.run_id(),
            run,
        },
    )
}

fn oldest_first(record: &LockRecord) -> Vec<(HolderId, Lease)> {
    let mut holders: Vec<_> = record
        .holders
        .iter()
        .map(|(holder, lease)| (holder.clone(), lease.clone()))
        .collect();
    holders.sort_by_key(|(_, lease)| lease.token);
    holders
}
