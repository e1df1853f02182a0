//! Renders guards as condition expressions. Every condition checks types, so that a damaged item fails it.
//! The conflict then returns the item, and the reader names the damaged attribute.
//!
//! In DynamoDB a condition on an attribute that is missing or of another type is false and not an error. So a
//! condition states it where an attribute must be absent, and where it must have a type. Otherwise a damaged
//! lease would count as a missing one.
//!
//! Clauses are plain data in the domain. The meaning of each is written twice: here, and in `Clause::holds`
//! for the memory store. One conformance suite and random sequences check that the two agree.

use super::expression::Expression;
use super::item::{
    EXPECT_EVERY, EXPECT_FROM, FROZEN, LAST_FAILURE, LAST_SUCCESS, MISSED_AT, OPEN, PAUSED,
    PAUSED_UNTIL, SCHEMA,
};
use lockstep_core::domain::{Clause, Guard, Timestamp, WaiterDrop};
use term::{all, integer_is, is_type, missing, missing_or, number_is, text_is, text_is_not};

mod lease;
mod run;
mod term;

pub(super) use run::run_condition;

/// Returns the condition expression of `guard`.
pub(super) fn condition(guard: &Guard, e: &mut Expression) -> String {
    let clauses = guard.0.iter().map(|clause| render(clause, e));
    all(&clauses.collect::<Vec<_>>())
}

/// Returns the condition that the item exists.
pub(super) fn exists(e: &mut Expression) -> String {
    format!("attribute_exists({})", e.path(&["pk"]))
}

/// Returns the condition that the item does not exist yet.
pub(super) fn absent(e: &mut Expression) -> String {
    missing(e, &["pk"])
}

/// Returns the condition for the deletion of a side item, or `None` if it may be deleted whatever it
/// contains.
pub(super) fn waiter_condition(drop: &WaiterDrop, e: &mut Expression) -> Option<String> {
    let seen = drop.task_token.as_ref()?;
    let same = match seen {
        Some(token) => text_is(e, &["taskToken"], token.reveal()),
        None => missing(e, &["taskToken"]),
    };
    Some(format!("{} OR {same}", missing(e, &["pk"])))
}

/// Returns the condition of a registration: no newer registration, and no item of another schema, exists.
pub(super) fn not_newer(since: Timestamp, e: &mut Expression) -> String {
    let (none, path) = (missing(e, &["pk"]), e.path(&["since"]));
    let known = number_is(e, &["schema"], SCHEMA);
    let since = e.number(since.millis());
    format!("{none} OR ({known} AND {path} <= {since})")
}

fn render(clause: &Clause, e: &mut Expression) -> String {
    match clause {
        Clause::Absent => absent(e),
        Clause::Readable => readable(e),
        Clause::Open => text_is(e, &["mode"], OPEN),
        Clause::NoPauseEnd => missing(e, &[PAUSED_UNTIL]),
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
        Clause::AtCapacity => {
            let (holders, permits) = (e.path(&["holders"]), e.path(&["permits"]));
            format!("size({holders}) >= {permits}")
        }
        Clause::OnlyHolder => {
            let (holders, one) = (e.path(&["holders"]), e.number(1));
            format!("size({holders}) = {one}")
        }
        Clause::LeaseSame(holder, lease) => lease::lease_same(holder, lease, e),
        Clause::DueNotAfter(time) => due_compares_or_missing(e, "<=", *time),
        Clause::DueNotBefore(time) => due_compares_or_missing(e, ">=", *time),
        Clause::DueIs(Some(time)) => number_is(e, &["dueAt"], time.millis()),
        Clause::DueIs(None) => missing(e, &["dueAt"]),
        Clause::SpacingPassed(now) => {
            let (not_before, now) = (e.path(&["notBefore"]), e.number(now.millis()));
            format!("{not_before} <= {now}")
        }
        Clause::RestIs(time) => number_is(e, &["notBefore"], time.millis()),
        Clause::TokenNewer(token) => {
            let (last, token) = (e.path(&["lastToken"]), e.number(token.number()));
            format!("{last} < {token}")
        }
        Clause::LeaseIs(holder, token) => lease::lease_is(holder, *token, e),
        Clause::RunKeyIs(holder, key) => lease::run_key_is(holder, key.as_ref(), e),
        Clause::NoBeat(holder) => lease::lacks(holder, "taskToken", e),
        Clause::NotEnding(holder) => lease::lacks(holder, "ending", e),
        // Zero is written as a missing attribute.
        Clause::RedrivesAre(holder, 0) => lease::lacks(holder, "redrives", e),
        Clause::RedrivesAre(holder, count) => number_is(
            e,
            &["holders", holder.as_str(), "redrives"],
            u64::from(*count),
        ),
        Clause::NoProgressIs(holder, most) => lease::no_progress_is(holder, *most, e),
        Clause::ProgressIsNot(holder, progress) => lease::progress_is_not(holder, progress, e),
        Clause::Confirmed(holder) => lease::lacks(holder, "call", e),
        Clause::EndsBy(holder, end) => lease::ends_by(holder, *end, e),
        Clause::NotSpent(holder, now) => lease::not_spent(holder, *now, e),
        Clause::ExpectedEvery(Some(every)) => number_is(e, &[EXPECT_EVERY], every.millis()),
        Clause::ExpectedEvery(None) => missing(e, &[EXPECT_EVERY]),
        Clause::VersionIs(version) => number_is(e, &["version"], *version),
    }
}

/// Returns the condition that the lock is not due for the sweep, or that its `dueAt` compares with `time` in
/// this way.
fn due_compares_or_missing(e: &mut Expression, comparison: &str, time: Timestamp) -> String {
    let (none, path) = (missing(e, &["dueAt"]), e.path(&["dueAt"]));
    format!(
        "({none} OR {path} {comparison} {})",
        e.number(time.millis())
    )
}

/// Returns the condition that this version can read the record: its schema number, and the type of each
/// attribute that a write on the fast path may leave unchanged. An item that fails the condition is returned
/// with the conflict, and the reader names the damaged attribute.
fn readable(e: &mut Expression) -> String {
    let modes = [OPEN, PAUSED, FROZEN].map(|word| e.text(word)).join(", ");
    let mut clauses = vec![
        number_is(e, &["schema"], SCHEMA),
        format!("{} IN ({modes})", e.path(&["mode"])),
        missing_or(e, &["note"], "S"),
        missing_or(e, &["dueAt"], "N"),
        missing_or(e, &[PAUSED_UNTIL], "N"),
        missing_or(e, &[LAST_SUCCESS], "N"),
        missing_or(e, &[LAST_FAILURE], "N"),
        missing_or(e, &[EXPECT_EVERY], "N"),
        missing_or(e, &[EXPECT_FROM], "N"),
        missing_or(e, &[MISSED_AT], "N"),
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

/// Returns the condition that the lock grants no permit at `now`: it is closed, full or at rest, or it has
/// waiters. An expired pause counts as no pause, also before the sweep has ended it.
fn must_wait(now: Timestamp, e: &mut Expression) -> String {
    let (holders, permits) = (e.path(&["holders"]), e.path(&["permits"]));
    let (queue, zero) = (e.path(&["queue"]), e.number(0));
    let (not_before, now) = (e.path(&["notBefore"]), e.number(now.millis()));
    let (open, paused) = (
        text_is_not(e, &["mode"], OPEN),
        text_is_not(e, &["mode"], PAUSED),
    );
    let (endless, until) = (missing(e, &[PAUSED_UNTIL]), e.path(&[PAUSED_UNTIL]));
    let closed = format!("({open} AND ({paused} OR {endless} OR {until} > {now}))");
    format!(
        "({closed} OR size({holders}) >= {permits} OR size({queue}) > {zero} OR {not_before} > {now})"
    )
}
