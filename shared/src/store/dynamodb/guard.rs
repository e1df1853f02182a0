//! The rendering of guards. Every condition is strict about types, so that a damaged item fails it
//! and comes back with the answer, where the reader names what is wrong with it.

use super::expression::Expression;
use super::item::{
    FROZEN, OPEN, OUTCOMES, PAUSED, SCHEMA, STALE, integer, lease_values, outcome_word,
};
use crate::domain::{
    Clause, FencingToken, Guard, HolderId, Lease, RunGuard, RunKey, RunOutcome, Timestamp,
    WaiterDrop,
};

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
        RunGuard::EndedAt(token, at) => {
            let ended = run_condition(RunGuard::EndedUnder(token), e);
            all(&[ended, number_is(e, &["endedAt"], at.millis())])
        }
        RunGuard::EndedUnder(token) => {
            let mut clauses = vec![number_is(e, &["token"], token.number()), any_outcome(e)];
            clauses.extend(ended_well(e));
            all(&clauses)
        }
    }
}

/// The condition expression of a side item's deletion; none where it does not matter what it is.
pub(super) fn waiter_condition(drop: &WaiterDrop, e: &mut Expression) -> Option<String> {
    let seen = drop.task_token.as_ref()?;
    let same = match seen {
        Some(token) => text_is(e, &["taskToken"], token.reveal()),
        None => missing(e, &["taskToken"]),
    };
    Some(format!("{} OR {same}", missing(e, &["pk"])))
}

/// The condition of a registration: neither a newer one nor one of a newer version is there.
pub(super) fn not_newer(since: Timestamp, e: &mut Expression) -> String {
    let (none, path) = (missing(e, &["pk"]), e.path(&["since"]));
    let known = number_is(e, &["schema"], SCHEMA);
    let since = e.number(since.millis());
    format!("{none} OR ({known} AND {path} <= {since})")
}

fn any_outcome(e: &mut Expression) -> String {
    let words = OUTCOMES.map(|(_, word)| e.text(word)).join(", ");
    format!("{} IN ({words})", e.path(&["outcome"]))
}

fn render(clause: &Clause, e: &mut Expression) -> String {
    match clause {
        Clause::Absent => missing(e, &["pk"]),
        Clause::Readable => readable(e),
        Clause::Open => text_is(e, &["mode"], OPEN),
        Clause::NotFrozen => text_is_not(e, &["mode"], FROZEN),
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
        Clause::QueueBelow(most) => {
            let queue = e.path(&["queue"]);
            let most = u64::try_from(*most).unwrap_or(u64::MAX);
            format!("size({queue}) < {}", e.number(most))
        }
        Clause::NotQueued(id) => missing(e, &["queue", id.as_str()]),
        Clause::TicketIs(id, ticket) => integer_is(e, &["queue", id.as_str()], ticket.number()),
        Clause::FrontIs(ticket) => integer_is(e, &["frontTicket"], ticket.number()),
        Clause::MustWait(now) => must_wait(*now, e),
        Clause::OnlyHolder => {
            let (holders, one) = (e.path(&["holders"]), e.number(1));
            format!("size({holders}) = {one}")
        }
        Clause::LeaseSame(holder, lease) => lease_same(holder, lease, e),
        Clause::DueNotAfter(time) => {
            let (none, path) = (missing(e, &["dueAt"]), e.path(&["dueAt"]));
            format!("({none} OR {path} <= {})", e.number(time.millis()))
        }
        Clause::DueIs(Some(time)) => number_is(e, &["dueAt"], time.millis()),
        Clause::DueIs(None) => missing(e, &["dueAt"]),
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
        Clause::NotSpent(holder, now) => not_spent(holder, *now, e),
        Clause::VersionIs(version) => number_is(e, &["version"], *version),
    }
}

fn readable(e: &mut Expression) -> String {
    let modes = [OPEN, PAUSED, FROZEN].map(|word| e.text(word)).join(", ");
    let mut clauses = vec![
        number_is(e, &["schema"], SCHEMA),
        format!("{} IN ({modes})", e.path(&["mode"])),
        missing_or(e, &["note"], "S"),
        missing_or(e, &["dueAt"], "N"),
    ];
    let numbers = [
        "version",
        "lastToken",
        "lastTicket",
        "frontTicket",
        "permits",
        "notBefore",
    ];
    for number in numbers {
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
    let mut clauses = vec![number_is(e, &["holders", holder, "token"], token.number())];
    for name in ["expiresAt", "leaseMs", "beatMs"] {
        clauses.push(is_type(e, &["holders", holder, name], "N"));
    }
    for name in ["runUntil", "noProgressMs", "stallsAt"] {
        clauses.push(missing_or(e, &["holders", holder, name], "N"));
    }
    let texts = [
        "runKey",
        "taskToken",
        "progress",
        "cluster",
        "family",
        "replacedBy",
    ];
    for name in texts {
        clauses.push(missing_or(e, &["holders", holder, name], "S"));
    }
    clauses.push(missing_or(e, &["holders", holder, "call"], "M"));
    let (stale, none) = (
        e.path(&["holders", holder, "stale"]),
        missing(e, &["holders", holder, "stale"]),
    );
    let words = STALE.map(|(_, word)| e.text(word)).join(", ");
    clauses.push(format!("({none} OR {stale} IN ({words}))"));
    all(&clauses)
}

/// By attribute: one that a newer version added does not make it another lease.
fn lease_same(holder: &HolderId, lease: &Lease, e: &mut Expression) -> String {
    let clauses = lease_values(lease).into_iter().map(|(name, value)| {
        let path = ["holders", holder.as_str(), name];
        match value {
            Some(value) => {
                let value = e.value(value);
                format!("{} = {value}", e.path(&path))
            }
            None => missing(e, &path),
        }
    });
    all(&clauses.collect::<Vec<_>>())
}

fn must_wait(now: Timestamp, e: &mut Expression) -> String {
    let (holders, permits) = (e.path(&["holders"]), e.path(&["permits"]));
    let (queue, zero) = (e.path(&["queue"]), e.number(0));
    let (not_before, now) = (e.path(&["notBefore"]), e.number(now.millis()));
    let closed = text_is_not(e, &["mode"], OPEN);
    format!(
        "({closed} OR size({holders}) >= {permits} OR size({queue}) > {zero} OR {not_before} > {now})"
    )
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

fn not_spent(holder: &HolderId, now: Timestamp, e: &mut Expression) -> String {
    let holder = holder.as_str();
    let lease = is_type(e, &["holders", holder], "M");
    let ends = ["runUntil", "stallsAt"].map(|name| {
        let path = ["holders", holder, name];
        let unbounded = missing(e, &path);
        let (end, now) = (e.path(&path), e.number(now.millis()));
        format!("({unbounded} OR {end} > {now})")
    });
    format!("{lease} AND {}", all(&ends))
}

/// An ended run that leaves its key free: it did not succeed, or its success is past its retention.
fn over(now: Timestamp, e: &mut Expression) -> String {
    let outcome = e.path(&["outcome"]);
    let others = OUTCOMES.iter().skip(1).map(|(_, word)| e.text(word));
    let others = others.collect::<Vec<_>>().join(", ");
    let succeeded = e.text(outcome_word(RunOutcome::Succeeded));
    let (retain, now) = (e.path(&["retainUntil"]), e.number(now.millis()));
    let mut clauses = vec![
        is_type(e, &["token"], "N"),
        format!("({outcome} IN ({others}) OR ({outcome} = {succeeded} AND {retain} <= {now}))"),
    ];
    clauses.extend(ended_well(e));
    all(&clauses)
}

/// What every ended run has, and of which type.
fn ended_well(e: &mut Expression) -> Vec<String> {
    let mut clauses = vec![
        number_is(e, &["schema"], SCHEMA),
        is_type(e, &["holder"], "S"),
        is_type(e, &["endedAt"], "N"),
        is_type(e, &["retainUntil"], "N"),
    ];
    for name in ["evidence", "runKey"] {
        clauses.push(missing_or(e, &[name], "S"));
    }
    clauses.push(missing_or(e, &["lease"], "M"));
    clauses
}

fn running_under(token: FencingToken, e: &mut Expression) -> String {
    let clauses = [
        number_is(e, &["schema"], SCHEMA),
        is_type(e, &["holder"], "S"),
        number_is(e, &["token"], token.number()),
        missing(e, &["outcome"]),
        missing(e, &["endedAt"]),
        missing(e, &["retainUntil"]),
        missing(e, &["evidence"]),
        missing_or(e, &["runKey"], "S"),
        missing_or(e, &["lease"], "M"),
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

fn integer_is(e: &mut Expression, path: &[&str], number: i64) -> String {
    let number = e.value(integer(number));
    format!("{} = {number}", e.path(path))
}

fn text_is_not(e: &mut Expression, path: &[&str], text: &str) -> String {
    format!("{} <> {}", e.path(path), e.text(text))
}

fn text_is(e: &mut Expression, path: &[&str], text: &str) -> String {
    format!("{} = {}", e.path(path), e.text(text))
}
