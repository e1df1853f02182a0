//! Renders the guards of run items.
//!
//! ```text
//!  marker   none ── NotTaken ──▶ open ── OpenFor ──▶ ended ── NotTaken ──▶ open, by the next run
//!                                           (no success, or one past its retention)
//!  entry    none ── OpenFor ───▶ ended ── EndedUnder ──▶ open, by a redrive
//! ```
//!
//! An item whose attributes are neither those of an open run nor those of an ended one fails every guard. The
//! conflict returns it, and the reader reports it as damaged.

use super::super::expression::Expression;
use super::super::item::SCHEMA;
use super::term::{all, is_type, missing, missing_or, number_is};
use lockstep_core::domain::{FencingToken, RunGuard, RunOutcome, Timestamp};

/// Returns the condition expression of a run's guard.
pub(in super::super) fn run_condition(guard: RunGuard, e: &mut Expression) -> String {
    match guard {
        RunGuard::NotTaken(now) => format!("{} OR ({})", missing(e, &["pk"]), over(now, e)),
        RunGuard::RunningUnder(token) => running_under(token, e),
        RunGuard::LeftUnder(token) => all(&[running_under(token, e), missing(e, &["lease"])]),
        RunGuard::OpenFor(token) => {
            format!("{} OR ({})", missing(e, &["pk"]), running_under(token, e))
        }
        RunGuard::EndedAt(token, at) => {
            let ended = run_condition(RunGuard::EndedUnder(token), e);
            all(&[ended, number_is(e, &["endedAt"], at.millis())])
        }
        RunGuard::EndedUnder(token) => {
            let mut clauses = vec![number_is(e, &["token"], token.number()), any_outcome(e)];
            clauses.extend(has_ended_attributes(e));
            all(&clauses)
        }
    }
}

/// Returns the condition that this version knows the outcome. What any other outcome means for the run key is
/// not known.
fn any_outcome(e: &mut Expression) -> String {
    let words = RunOutcome::ALL
        .map(|outcome| e.text(outcome.as_str()))
        .join(", ");
    format!("{} IN ({words})", e.path(&["outcome"]))
}

/// Returns the condition that an ended run leaves its run key free: it did not succeed, or the retention of
/// its success is over.
fn over(now: Timestamp, e: &mut Expression) -> String {
    let outcome = e.path(&["outcome"]);
    let others = RunOutcome::ALL
        .iter()
        .skip(1)
        .map(|outcome| e.text(outcome.as_str()));
    let others = others.collect::<Vec<_>>().join(", ");
    let succeeded = e.text(RunOutcome::Succeeded.as_str());
    let (retain, now) = (e.path(&["retainUntil"]), e.number(now.millis()));
    let mut clauses = vec![
        is_type(e, &["token"], "N"),
        format!("({outcome} IN ({others}) OR ({outcome} = {succeeded} AND {retain} <= {now}))"),
    ];
    clauses.extend(has_ended_attributes(e));
    all(&clauses)
}

/// Returns the conditions that an item has the attributes of an ended run, with their types.
fn has_ended_attributes(e: &mut Expression) -> Vec<String> {
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

/// Returns the condition that the item is the run of this grant, and has no attribute of an end.
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
