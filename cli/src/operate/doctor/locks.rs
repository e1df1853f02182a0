//! Locks that need a person: frozen or unreadable ones, dead holders, orphaned work.
//!
//! That view answers at all shows that it can be invoked and reads the table, so a list that fails
//! is a check that could not be made.

use super::super::all;
use super::super::function::{ActError, Function, Surface};
use super::super::waits;
use super::Check;
use aws_config::SdkConfig;
use aws_sdk_cloudformation::types::Stack;
use lockstep::clock::{Clock, SystemClock};
use lockstep::contract::parse_time;
use lockstep::domain::Seconds;
use serde_json::{Value, json};

/// Most locks whose holders and work are shown, those that were granted last.
const SHOWN_MAX: usize = 100;

/// By when the sweep, which comes each minute, has freed the permit of a dead holder.
const SWEPT_AFTER: Seconds = Seconds::of(300);

/// Locks that need a person, as view lists them. So view works, and can read the table.
pub(super) async fn of_locks(sdk: &SdkConfig, stack: &Stack) -> Vec<Check> {
    let checked = async {
        let view = Function::of_stack(sdk, stack, Surface::View)?;
        let locks = all(&view, json!({ "act": "list" }), "locks", u32::MAX).await?;
        let shown = shown(&view, &locks).await?;
        Ok(vec![
            closed(&locks),
            dead(&shown),
            without_permit(&shown),
            circular(&shown),
        ])
    };
    let checked: Result<_, ActError> = checked.await;
    checked.unwrap_or_else(|error| vec![Check::unknown("locks", error.text)])
}

/// The locks that were granted last, with their holders and their latest runs.
async fn shown(view: &Function, locks: &[Value]) -> Result<Vec<Value>, ActError> {
    let mut granted: Vec<_> = locks
        .iter()
        .filter_map(|lock| Some((lock["grantedAt"].as_str()?, lock["lock"].as_str()?)))
        .collect();
    // Each lock that is shown is a call of view, with calls of Step Functions and ECS behind it.
    // Those that were granted last are in use.
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
    let advice = "lockstep show LOCK says why; check its run, then lockstep resume LOCK";
    found("locks", "is frozen or unreadable", names, advice)
}

/// Holders whose lease, execution or own task ended minutes ago, and that a check would act on: events and the
/// sweep do so earlier. A waiter that is still to learn of its grant is none of them.
fn dead(shown: &[Value]) -> Check {
    let now = SystemClock.now();
    let is_over = |time: &Value| {
        let time = time.as_str().and_then(|time| parse_time("time", time).ok());
        time.is_some_and(|time| time.plus(SWEPT_AFTER) < now)
    };
    let is_dead = |holder: &Value| {
        // Of a holder that is no execution, the only task is its own.
        let own = match &holder["execution"] {
            Value::Null => list(holder, "tasks").first().map(|task| &task["stoppedAt"]),
            execution => Some(&execution["stoppedAt"]),
        };
        let next = holder["next"]["action"].as_str();
        let acted_on = next.is_some_and(|next| next != "wake");
        acted_on && (is_over(&holder["expiresAt"]) || own.is_some_and(is_over))
    };
    let has_dead = |lock: &&Value| list(lock, "holders").iter().any(is_dead);
    let names = shown.iter().filter(has_dead).map(name_of);
    let advice = "lockstep show LOCK says what is known of the holder; see the log and the alarms of the reaper";
    found("dead holders", "has a holder that is dead", names, advice)
}

/// Work that goes on although its run has ended: tasks and executions that nothing has stopped.
fn without_permit(shown: &[Value]) -> Check {
    let has_work = |lock: &&Value| !list(lock, "withoutPermit").is_empty();
    let names = shown.iter().filter(has_work).map(name_of);
    let advice =
        "lockstep show LOCK names the tasks; stop them, unless their stale policy is yield";
    found("orphaned work", "has work without a permit", names, advice)
}

fn name_of(lock: &Value) -> &str {
    lock["lock"].as_str().unwrap_or_default()
}

/// Locks whose holders wait for each other. None of them is granted again until a wait ends.
fn circular(shown: &[Value]) -> Check {
    let circles = waits::circles(shown);
    let circles: Vec<_> = circles
        .iter()
        .map(|circle| waits::in_words(circle))
        .collect();
    let advice = "evict one of the holders; have all runs take these locks in the same order, and limit each wait by \
                  waitSeconds";
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

fn list<'a>(lock: &'a Value, field: &str) -> &'a [Value] {
    lock[field].as_array().map_or(&[], Vec::as_slice)
}

/// The check that no lock is as `wrong` says.
fn found<'a>(
    name: &str,
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
    use super::super::Status;
    use super::*;

    #[test]
    fn a_lock_needs_a_person_if_it_is_frozen_its_holder_is_dead_or_work_has_no_permit() {
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
            // It has not learned of its grant yet.
            (next("wake", silent.clone()), [Status::Ok; 3]),
            (json!({ "holders": [silent] }), [Status::Ok; 3]),
            (over(json!({ "execution": stopped })), is_dead),
            (over(json!({ "tasks": [stopped] })), is_dead),
            // Its work has ended, and the execution goes on.
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
