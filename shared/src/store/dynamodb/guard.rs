//! The rendering of guards. Every condition is strict about types, so that a damaged item fails it
//! and comes back with the answer, where the reader names what is wrong with it.

use super::expression::Expression;
use super::item::{FAILED, FROZEN, LOST, OPEN, PAUSED, SCHEMA, SUCCEEDED};
use crate::domain::{Clause, FencingToken, Guard, HolderId, RunGuard, RunKey, Timestamp};

/// The condition expression of `guard`.
pub(super) fn condition(guard: &Guard, e: &mut Expression) -> String {
    let clauses = guard.0.iter().map(|clause| render(clause, e));
    all(&clauses.collect::<Vec<_>>())
}

/// The item is there.
pub(super) fn exists(e: &mut Expression) -> String {
    format!("attribute_exists({})", e.path(&["pk"]))
}

/// The condition expression of a run's guard.
pub(super) fn run_condition(guard: RunGuard, e: &mut Expression) -> String {
    match guard {
        RunGuard::NotTaken(now) => format!("{} OR ({})", missing(e, &["pk"]), over(now, e)),
        RunGuard::RunningUnder(token) => running_under(token, e),
        RunGuard::OpenFor(token) => {
            format!("{} OR ({})", missing(e, &["pk"]), running_under(token, e))
        }
    }
}

fn render(clause: &Clause, e: &mut Expression) -> String {
    match clause {
        Clause::Absent => missing(e, &["pk"]),
        Clause::Readable => readable(e),
        Clause::Open => text_is(e, &["mode"], OPEN),
        Clause::PermitsAre(permits) => number_is(e, &["permits"], permits.get().into()),
        Clause::BelowCapacity => {
            let (holders, permits) = (e.path(&["holders"]), e.path(&["permits"]));
            format!("size({holders}) < {permits}")
        }
        Clause::NotHeldBy(holder) => missing(e, &["holders", holder.as_str()]),
        Clause::QueueEmpty => {
            let (queue, zero) = (e.path(&["queue"]), e.number(0));
            format!("size({queue}) = {zero}")
        }
        Clause::SpacingPassed(now) => {
            let (not_before, now) = (e.path(&["notBefore"]), e.number(now.millis()));
            format!("{not_before} <= {now}")
        }
        Clause::TokenNewer(token) => {
            let (last, token) = (e.path(&["lastToken"]), e.number(token.number()));
            format!("{last} < {token}")
        }
        Clause::LeaseIs(holder, token) => lease_is(holder, *token, e),
        Clause::RunKeyIs(holder, key) => run_key_is(holder, key.as_ref(), e),
        Clause::NoBeat(holder) => no_beat(holder, e),
        Clause::NotOverrun(holder, now) => not_overrun(holder, *now, e),
        Clause::VersionIs(version) => number_is(e, &["version"], *version),
    }
}

fn readable(e: &mut Expression) -> String {
    let modes = [OPEN, PAUSED, FROZEN].map(|word| e.text(word)).join(", ");
    let mut clauses = vec![
        number_is(e, &["schema"], SCHEMA),
        format!("{} IN ({modes})", e.path(&["mode"])),
        missing_or(e, &["note"], "S"),
    ];
    for number in ["version", "lastToken", "lastTicket", "permits", "notBefore"] {
        clauses.push(is_type(e, &[number], "N"));
    }
    for map in ["holders", "queue"] {
        clauses.push(is_type(e, &[map], "M"));
    }
    all(&clauses)
}

/// ```text
///  token      the grant itself: equal, so it is there and a number
///  expiresAt  \
///  leaseMs     > what a renewal reads or writes: of its type
///  taskToken  /
/// ```
fn lease_is(holder: &HolderId, token: FencingToken, e: &mut Expression) -> String {
    let holder = holder.as_str();
    let clauses = [
        number_is(e, &["holders", holder, "token"], token.number()),
        is_type(e, &["holders", holder, "expiresAt"], "N"),
        is_type(e, &["holders", holder, "leaseMs"], "N"),
        missing_or(e, &["holders", holder, "runUntil"], "N"),
        missing_or(e, &["holders", holder, "runKey"], "S"),
        missing_or(e, &["holders", holder, "taskToken"], "S"),
    ];
    all(&clauses)
}

fn run_key_is(holder: &HolderId, key: Option<&RunKey>, e: &mut Expression) -> String {
    let path = ["holders", holder.as_str(), "runKey"];
    match key {
        Some(key) => text_is(e, &path, key.as_str()),
        None => all(&[is_type(e, &path[..2], "M"), missing(e, &path)]),
    }
}

fn no_beat(holder: &HolderId, e: &mut Expression) -> String {
    let path = ["holders", holder.as_str(), "taskToken"];
    all(&[is_type(e, &path[..2], "M"), missing(e, &path)])
}

fn not_overrun(holder: &HolderId, now: Timestamp, e: &mut Expression) -> String {
    let path = ["holders", holder.as_str(), "runUntil"];
    let lease = is_type(e, &path[..2], "M");
    let unbounded = missing(e, &path);
    let (end, now) = (e.path(&path), e.number(now.millis()));
    format!("{lease} AND ({unbounded} OR {end} > {now})")
}

/// An ended run that leaves its key free: it did not succeed, or its success is past its retention.
fn over(now: Timestamp, e: &mut Expression) -> String {
    let outcome = e.path(&["outcome"]);
    let (failed, lost, succeeded) = (e.text(FAILED), e.text(LOST), e.text(SUCCEEDED));
    let (retain, now) = (e.path(&["retainUntil"]), e.number(now.millis()));
    let clauses = [
        number_is(e, &["schema"], SCHEMA),
        is_type(e, &["holder"], "S"),
        is_type(e, &["token"], "N"),
        is_type(e, &["endedAt"], "N"),
        is_type(e, &["retainUntil"], "N"),
        format!(
            "({outcome} IN ({failed}, {lost}) OR ({outcome} = {succeeded} AND {retain} <= {now}))"
        ),
    ];
    all(&clauses)
}

fn running_under(token: FencingToken, e: &mut Expression) -> String {
    let clauses = [
        number_is(e, &["schema"], SCHEMA),
        is_type(e, &["holder"], "S"),
        number_is(e, &["token"], token.number()),
        missing(e, &["outcome"]),
        missing(e, &["endedAt"]),
        missing(e, &["retainUntil"]),
    ];
    all(&clauses)
}

fn all(clauses: &[String]) -> String {
    clauses.join(" AND ")
}

fn missing(e: &mut Expression, path: &[&str]) -> String {
    format!("attribute_not_exists({})", e.path(path))
}

fn is_type(e: &mut Expression, path: &[&str], of: &str) -> String {
    format!("attribute_type({}, {})", e.path(path), e.text(of))
}

fn missing_or(e: &mut Expression, path: &[&str], of: &str) -> String {
    format!("({} OR {})", missing(e, path), is_type(e, path, of))
}

fn number_is(e: &mut Expression, path: &[&str], number: u64) -> String {
    format!("{} = {}", e.path(path), e.number(number))
}

fn text_is(e: &mut Expression, path: &[&str], text: &str) -> String {
    format!("{} = {}", e.path(path), e.text(text))
}
