//! The auditor: sees every write of the table, knows the truth, and checks each promise of the
//! lock.

mod book;
mod ending;
mod granting;
mod line;

pub(crate) use book::{Audit, Book, GrantEntry};
pub(crate) use ending::finish;

use crate::cloud::Cloud;
use crate::engine::locked;
use crate::world::World;
use lockstep::domain::{ActKind, Change, LockKey, LockRecord};

/// An error that says what is wrong, if anything is.
type Verdict = Result<(), String>;

/// Returns the error of `what` unless the promise holds.
fn kept(holds: bool, what: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(what()) }
}

/// Returns the first of these promises that is broken, as an error.
fn all_kept(rules: &[(bool, &str)]) -> Verdict {
    let broken = rules.iter().find(|(holds, _)| !holds);
    broken.map_or(Ok(()), |(_, rule)| Err((*rule).into()))
}

/// Checks one write of a lock, and reports a broken promise to the world.
pub(crate) fn committed(
    world: &World,
    lock: &LockKey,
    change: &Change,
    before: Option<&LockRecord>,
    after: Option<&LockRecord>,
) {
    let verdict = check(world, lock, change, before, after);
    if let Err(what) = verdict {
        world.break_promise(format!("{lock}: {what}"));
    }
}

fn check(
    world: &World,
    lock: &LockKey,
    change: &Change,
    before: Option<&LockRecord>,
    after: Option<&LockRecord>,
) -> Verdict {
    let after = after.ok_or("a record was deleted")?;
    after
        .check_invariants()
        .map_err(|broken| broken.to_string())?;
    let cloud = locked(&world.cloud);
    let mut audit = locked(&world.audit);
    let mut book = audit.books.remove(lock).unwrap_or_default();
    let write = Write {
        world,
        cloud: &cloud,
        audit: &audit,
        lock,
        change,
        before,
        after,
    };
    let verdict = only_forward(&write)
        .and_then(|()| ending::check(&write, &mut book))
        .and_then(|()| granting::check(&write, &mut book))
        .and_then(|()| line::check(&write, &mut book));
    audit.books.insert(lock.clone(), book);
    verdict
}

/// One write that the auditor checks, and what it checks the write by.
pub(crate) struct Write<'a> {
    world: &'a World,
    cloud: &'a Cloud,
    audit: &'a Audit,
    lock: &'a LockKey,
    change: &'a Change,
    before: Option<&'a LockRecord>,
    after: &'a LockRecord,
}

/// Checks that the version counts every write, that tokens and tickets never go back, and that only
/// a resume ends a freeze.
fn only_forward(write: &Write<'_>) -> Verdict {
    let Some(before) = write.before else {
        return Ok(());
    };
    let after = write.after;
    let version = before.version + u64::from(before != after);
    let thaws = before.gate.is_frozen() && !after.gate.is_frozen();
    let resumed = write.change.act.as_ref();
    let resumed = resumed.is_some_and(|act| act.kind == ActKind::Resumed);
    let front = after.front_ticket <= before.front_ticket;
    all_kept(&[
        (
            after.version == version,
            "the version did not count a write",
        ),
        (
            after.last_token >= before.last_token,
            "the last token went back",
        ),
        (
            after.last_ticket >= before.last_ticket,
            "the last ticket went back",
        ),
        (front, "the front ticket went back"),
        (!thaws || resumed, "a freeze ended without a resume"),
    ])
}
