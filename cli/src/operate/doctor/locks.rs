//! Checks for locks that need an operator: frozen or unreadable locks, dead holders, orphaned work, and locks
//! whose holders wait for each other.
//!
//! The checks read the locks through view. If view cannot be invoked or cannot read the table, the result is
//! one check that could not be made.

use super::super::act_error::ActError;
use super::super::all;
use super::super::function::{Function, Surface};
use super::super::waits;
use super::check::Check;
use aws_config::SdkConfig;
use aws_sdk_cloudformation::types::Stack;
use lockstep::clock::{Clock, SystemClock};
use lockstep::contract::parse_time;
use lockstep::domain::Seconds;
use serde_json::{Value, json};

/// Maximum number of locks whose holders and work are checked. These are the locks with the latest grants.
const SHOWN_MAX: usize = 100;

/// Time within which the sweep, which runs every minute, has freed the permit of a dead holder.
const SWEPT_AFTER: Seconds = Seconds::of(300);

/// The locks that view lists, and those of them that `show` has described.
pub(super) struct Listed {
    pub(super) locks: Vec<Value>,
    shown: Vec<Value>,
}

/// Lists the locks of a stack.
///
/// # Errors
/// [`ActError`] if view cannot be invoked or cannot read the table.
pub(super) async fn list(sdk: &SdkConfig, stack: &Stack) -> Result<Listed, ActError> {
    let view = Function::of_stack(sdk, stack, Surface::View)?;
    let locks = all(&view, json!({ "act": "list" }), "locks", u32::MAX).await?;
    let shown = shown(&view, &locks).await?;
    Ok(Listed { locks, shown })
}

/// Checks the locks.
pub(super) fn check_locks(listed: Result<Listed, ActError>) -> Vec<Check> {
    match listed {
        Ok(Listed { locks, shown }) => vec![
            closed(&locks),
            dead(&shown),
            without_permit(&shown),
            circular(&shown),
        ],
        Err(error) => vec![Check::unanswered("locks", error)],
    }
}

/// Returns the [`SHOWN_MAX`] locks with the latest grants, as `show` returns them.
async fn shown(view: &Function, locks: &[Value]) -> Result<Vec<Value>, ActError> {
    let mut granted: Vec<_> = locks
        .iter()
        .filter_map(|lock| Some((lock["grantedAt"].as_str()?, lock["lock"].as_str()?)))
        .collect();
    // Each lock takes one invocation of view, which calls Step Functions and ECS. So the locks with the
    // latest grants come first, because these are in use.
    granted.sort_unstable();
    let mut shown = Vec::new();
    for (_, lock) in granted.into_iter().rev().take(SHOWN_MAX) {
        let show = json!({ "act": "show", "lock": lock });
        shown.push(view.act(&show).await?);
    }
    Ok(shown)
}

fn closed(locks: &[Value]) -> Check {
    let wrong = |lock: &&Value| lock["state"] == "frozen" || lock["state"] == "unreadable";
    let names = locks.iter().filter(wrong).map(name_of);
    let advice = "type lockstep show LOCK to see why; check its run, then type lockstep resume LOCK --note TEXT";
    found("locks", "is frozen or unreadable", names, advice)
}

/// Checks for dead holders. A holder counts as dead if its lease, its execution or its own task ended more
/// than [`SWEPT_AFTER`] ago and a check would still act on it: events and the sweep should have done so
/// before. A waiter that has not confirmed its grant yet does not count.
fn dead(shown: &[Value]) -> Check {
    let now = SystemClock.now();
    let is_over = |time: &Value| {
        let time = time.as_str().and_then(|time| parse_time("time", time).ok());
        time.is_some_and(|time| time.plus(SWEPT_AFTER) < now)
    };
    let is_dead = |holder: &Value| {
        // A holder that is not an execution has at most one task, in which it runs itself.
        let own = match &holder["execution"] {
            Value::Null => entries(holder, "tasks")
                .first()
                .map(|task| &task["stoppedAt"]),
            execution => Some(&execution["stoppedAt"]),
        };
        let next = holder["next"]["action"].as_str();
        let acted_on = next.is_some_and(|next| next != "wake");
        acted_on && (is_over(&holder["expiresAt"]) || own.is_some_and(is_over))
    };
    let has_dead = |lock: &&Value| entries(lock, "holders").iter().any(is_dead);
    let names = shown.iter().filter(has_dead).map(name_of);
    let advice = "type lockstep show LOCK to see the state of the holder; see the log and the alarms of the reaper";
    found("dead holders", "has a dead holder", names, advice)
}

/// Checks for work that is still running although its run has ended or has lost its permit.
fn without_permit(shown: &[Value]) -> Check {
    let has_work = |lock: &&Value| !entries(lock, "withoutPermit").is_empty();
    let names = shown.iter().filter(has_work).map(name_of);
    let advice =
        "type lockstep show LOCK to see the tasks; stop them, unless their stale policy is yield";
    found("orphaned work", "has work without a permit", names, advice)
}

fn name_of(lock: &Value) -> &str {
    lock["lock"].as_str().unwrap_or_default()
}

/// Checks for locks whose holders wait for each other. None of these locks is granted again until one of the
/// waits ends.
fn circular(shown: &[Value]) -> Check {
    let circles = waits::circles(shown);
    let circles: Vec<_> = circles
        .iter()
        .map(|circle| waits::in_words(circle))
        .collect();
    let advice = "type lockstep evict LOCK HOLDER --force --note TEXT for one of the holders; then have all runs acquire \
                  these locks in the same order, and limit each wait by waitSeconds";
    Check::new(
        "waiting in a circle",
        circles.is_empty(),
        match circles.is_empty() {
            true => "none".into(),
            false => circles.join("; "),
        },
        advice,
    )
}

fn entries<'a>(lock: &'a Value, field: &str) -> &'a [Value] {
    lock[field].as_array().map_or(&[], Vec::as_slice)
}

/// Returns a check that passes if `locks` is empty. `wrong` is a predicate that is true of each of the
/// `locks`.
fn found<'a>(
    name: &'static str,
    wrong: &str,
    locks: impl Iterator<Item = &'a str>,
    advice: &'static str,
) -> Check {
    let locks: Vec<_> = locks.collect();
    let found = match locks.len() {
        0 => format!("none {wrong}"),
        count => format!("{count}: {} {wrong}", locks.join(", ")),
    };
    Check::new(name, locks.is_empty(), found, advice)
}

#[cfg(test)]
mod tests {
    use super::super::check::Status;
    use super::*;

    #[test]
    fn doctor_names_locks_that_are_frozen_dead_or_without_permit() {
        let next = |action: &str, mut holder: Value| {
            holder["next"] = json!({ "action": action });
            json!({ "holders": [holder] })
        };
        let held = |expires_at: &str| next("recover", json!({ "expiresAt": expires_at }));
        let over = |state: Value| next("recover", state);
        let silent = json!({ "expiresAt": "2026-01-01T00:00:00Z" });
        let orphan = json!({ "holders": [], "withoutPermit": [{ "holder": "a" }] });
        let stopped = json!({ "stoppedAt": "2026-01-01T00:00:00Z" });
        let [is_frozen, is_dead, is_orphan] = [0, 1, 2].map(|failed| {
            let mut statuses = [Status::Ok; 3];
            statuses[failed] = Status::Failed;
            statuses
        });
        for (lock, expected) in [
            (json!({ "state": "idle" }), [Status::Ok; 3]),
            (json!({ "state": "frozen" }), is_frozen),
            (held("2999-01-01T00:00:00Z"), [Status::Ok; 3]),
            (held("2026-01-01T00:00:00Z"), is_dead),
            (next("reportMissingEvidence", silent.clone()), is_dead),
            // This waiter has not confirmed its grant yet.
            (next("wake", silent.clone()), [Status::Ok; 3]),
            (json!({ "holders": [silent] }), [Status::Ok; 3]),
            (over(json!({ "execution": stopped })), is_dead),
            (over(json!({ "tasks": [stopped] })), is_dead),
            // The work has ended, and the execution continues.
            (
                over(json!({ "execution": {}, "tasks": [stopped] })),
                [Status::Ok; 3],
            ),
            (orphan, is_orphan),
        ] {
            let locks = [lock];
            let checks = [closed(&locks), dead(&locks), without_permit(&locks)];
            assert_eq!(checks.map(|check| check.status), expected, "{locks:?}");
        }
    }
}
