//! Renders the clauses about the lease of one holder.
//!
//! The name of a holder is a part of the path, `holders.<name>`. If the map does not have the holder, the
//! whole path is missing, and `attribute_not_exists` is true for each attribute of the lease. So a clause
//! about an absent attribute also requires that the lease exists.

use super::super::expression::Expression;
use super::super::item::{STALE, STATES, lease_values};
use super::term::{all, is_type, missing, missing_or, number_is, text_is};
use lockstep_core::domain::{FencingToken, HolderId, Lease, RunKey, Seconds, Timestamp};

/// Returns the condition that the holder holds the grant with this token, and that its lease can be read.
///
/// ```text
///  token      the grant itself: equal, so it is there and a number
///  expiresAt  \
///  leaseMs     > what a renewal reads or writes: of its type
///  taskToken  /
/// ```
pub(super) fn lease_is(holder: &HolderId, token: FencingToken, e: &mut Expression) -> String {
    let holder = holder.as_str();
    let mut clauses = vec![number_is(e, &["holders", holder, "token"], token.number())];
    for name in ["expiresAt", "leaseMs", "beatMs"] {
        clauses.push(is_type(e, &["holders", holder, name], "N"));
    }
    for name in [
        "runUntil",
        "maxRunMs",
        "noProgressMs",
        "stallsAt",
        "suspectAt",
        "endingAt",
        "redrives",
    ] {
        clauses.push(missing_or(e, &["holders", holder, name], "N"));
    }
    let texts = [
        "runKey",
        "taskToken",
        "progress",
        "cluster",
        "family",
        "container",
        "stateMachine",
        "replacedBy",
        "evicted",
        "ending",
        "parent",
    ];
    for name in texts {
        clauses.push(missing_or(e, &["holders", holder, name], "S"));
    }
    clauses.push(missing_or(e, &["holders", holder, "call"], "M"));
    let (stale, none) = (
        e.path(&["holders", holder, "stale"]),
        missing(e, &["holders", holder, "stale"]),
    );
    let work = (
        e.path(&["holders", holder, "work"]),
        missing(e, &["holders", holder, "work"]),
    );
    let states = e.text(STATES);
    clauses.push(format!("({} OR {} = {states})", work.1, work.0));
    let words = STALE.map(|(_, word)| e.text(word)).join(", ");
    clauses.push(format!("({none} OR {stale} IN ({words}))"));
    all(&clauses)
}

/// Returns the condition that the lease is equal to `lease`. It compares single attributes, so an attribute
/// that a newer version added makes no difference.
pub(super) fn lease_same(holder: &HolderId, lease: &Lease, e: &mut Expression) -> String {
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

/// Returns the condition that the lease has the run key `key`, or none if `key` is `None`.
pub(super) fn run_key_is(holder: &HolderId, key: Option<&RunKey>, e: &mut Expression) -> String {
    let path = ["holders", holder.as_str(), "runKey"];
    match key {
        Some(key) => text_is(e, &path, key.as_str()),
        None => all(&[is_type(e, &path[..2], "M"), missing(e, &path)]),
    }
}

/// Returns the condition that the holder exists, and that its lease has no attribute `name`.
pub(super) fn lacks(holder: &HolderId, name: &str, e: &mut Expression) -> String {
    let path = ["holders", holder.as_str(), name];
    all(&[is_type(e, &path[..2], "M"), missing(e, &path)])
}

/// Returns the condition that the lease ends at `end` or before.
pub(super) fn ends_by(holder: &HolderId, end: Timestamp, e: &mut Expression) -> String {
    let expires_at = e.path(&["holders", holder.as_str(), "expiresAt"]);
    format!("{expires_at} <= {}", e.number(end.millis()))
}

/// Returns the condition that the run exceeds neither its time limit nor its time without progress. A missing
/// attribute means no limit.
pub(super) fn not_spent(holder: &HolderId, now: Timestamp, e: &mut Expression) -> String {
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

/// Returns the condition that the lease has the limit `most`, from which the caller computed `stallsAt`.
pub(super) fn no_progress_is(
    holder: &HolderId,
    most: Option<Seconds>,
    e: &mut Expression,
) -> String {
    let name = "noProgressMs";
    match most {
        Some(most) => number_is(e, &["holders", holder.as_str(), name], most.millis()),
        None => lacks(holder, name, e),
    }
}

/// Returns the condition that `progress` differs from the progress of the lease. The same progress must not
/// restart the time without progress.
pub(super) fn progress_is_not(holder: &HolderId, progress: &str, e: &mut Expression) -> String {
    let path = ["holders", holder.as_str(), "progress"];
    let (lease, none) = (is_type(e, &path[..2], "M"), missing(e, &path));
    let (known, progress) = (e.path(&path), e.text(progress));
    format!("{lease} AND ({none} OR {known} <> {progress})")
}
