//! Compares what show predicts for a holder with what a check does to it, for random leases, evidence and
//! times.
//!
//! What a check has done is read from the table, from the stops and from the published events.

mod case;
mod due_in_closed;
mod frees_after_rest;
mod frees_before_freeze;
mod frees_of_replaced;
mod freeze_after_pause;
mod limit_in_frozen;
mod pause_without_end;
mod replace_after_rest;
mod replacer_gives_up;
mod replacer_lags;
mod suspect_due;

use crate::functions::{Functions, key};
use case::{Case, after, cases};
use lockstep::contract::{EventKind, parse_time};
use lockstep::domain::{Mode, Seconds, Timestamp};
use lockstep_tests::seeds::check;
use proptest::prelude::{prop_assert, prop_assert_eq};
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// The time between two sweeps.
const SWEEP: Seconds = Seconds::of(60);

fn is_frozen(mode: &Mode) -> bool {
    matches!(mode, Mode::Frozen { .. })
}

/// Returns what a check has done, as the table, the stops and the events show it.
async fn done(case: &Case, functions: &Functions) -> &'static str {
    let record = functions.record("nightly").await.expect("a record");
    let before = case.lease();
    let lease = record.holders.get(&case.holder());
    let missing = functions.has_published(EventKind::EvidenceMissing);
    let of_stop = missing
        && functions
            .event(EventKind::EvidenceMissing)
            .reason
            .starts_with("the run is not stopped");
    let stopped = !functions.executions.stops().is_empty() || !functions.tasks.stops().is_empty();
    let left = case.lease.replaced && record.queue.is_empty();
    match lease {
        _ if is_frozen(&record.gate.mode) && !is_frozen(&case.mode()) => "freeze",
        None => "recover",
        _ if stopped => "stop",
        Some(lease) if lease.exit.suspect != before.exit.suspect && !missing => "suspect",
        Some(lease) if lease.exit.ending != before.exit.ending => "markEnding",
        _ if left => "dropReplacer",
        _ if of_stop => "reportNotStopped",
        _ if missing => "reportMissingEvidence",
        _ if !functions.executions.ended().is_empty() => "wake",
        Some(_) => "leave",
    }
}

/// Returns what a check of the holder at `now` does.
async fn checked(case: &Case, now: Timestamp) -> &'static str {
    let functions = case.world(now).await;
    let deps = functions.deps_on(&functions.store);
    let (lock, holder, lease) = (key("nightly"), case.holder(), case.lease());
    let recovery = deps.recovery();
    let checked = recovery.check(&lock, &holder, &lease, None).await;
    checked.expect("a check");
    done(case, &functions).await
}

/// Returns what the sweeps have done to the holder by the time `by`, and the time of the last one: one at `now`,
/// and those of each minute from `from` on. A sweep looks only at a lock that the sweep before has left due.
async fn swept(case: &Case, [now, from, by]: [Timestamp; 3]) -> (&'static str, Timestamp) {
    let functions = case.world(now).await;
    functions.sweep().await;
    let mut found = done(case, &functions).await;
    let mut last = now;
    let mut next = from.max(now.plus(SWEEP));
    while found == "leave" && next <= by {
        let pause = next.millis_since(last);
        functions.clock.advance(Duration::from_millis(pause));
        functions.sweep().await;
        found = done(case, &functions).await;
        (last, next) = (next, next.plus(SWEEP));
    }
    (found, last)
}

/// Returns the action that show predicts for the holder, with its `from` and `by`.
async fn shown(case: &Case, now: Timestamp) -> Option<(String, Timestamp, Timestamp)> {
    let functions = case.world(now).await;
    let show = json!({ "act": "show", "lock": "nightly" });
    let shown = functions.operate(show).await.expect("it is shown");
    let next = &shown["holders"][0]["next"];
    let time = |field: &str| {
        let text = next[field].as_str().expect("a time");
        parse_time(field, text).expect("a time")
    };
    let action = next["action"].as_str()?.to_owned();
    Some((action, time("from"), time("by")))
}

/// Runs `ask` to its end, and returns its result.
fn wait<T>(ask: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(ask)
}

#[test]
fn show_predicts_what_a_check_does_to_a_holder() {
    let counts = RefCell::new(BTreeMap::<String, u32>::new());
    check(10_000, &cases(), |case| {
        let now = after(case.now);
        let next = wait(shown(&case, now));
        let action = match &next {
            Some((action, from, _)) if *from <= now => action.as_str(),
            Some(_) | None => "leave",
        };
        *counts.borrow_mut().entry(action.to_owned()).or_default() += 1;
        prop_assert_eq!(action, wait(checked(&case, now)), "now: {:?}", next);
        if let Some((action, from, by)) = &next {
            prop_assert!(from <= by, "{} from {:?} by {:?}", action, from, by);
            // The sweeps may have to do something before `action`. Where one does nothing, a check at its time
            // does nothing either: the holder has exceeded a limit since, which the lock does not enforce.
            let (found, last) = wait(swept(&case, [now, *from, *by]));
            if found == "leave" {
                let found = wait(checked(&case, last));
                prop_assert_eq!(found, "leave", "{} from {:?} by {:?}", action, from, by);
            }
        }
        if let Some((action, from, _)) = next.filter(|(_, from, _)| *from > now) {
            let before = Timestamp::from_millis(from.millis() - 1);
            prop_assert_eq!("leave", wait(checked(&case, before)), "before {:?}", from);
            prop_assert_eq!(&action, wait(checked(&case, from)), "from {:?}", from);
            *counts
                .borrow_mut()
                .entry(format!("later {action}"))
                .or_default() += 1;
        }
        Ok(())
    });
    let counts = counts.into_inner();
    println!("{counts:?}");
    for action in [
        "leave",
        "wake",
        "suspect",
        "dropReplacer",
        "recover",
        "markEnding",
        "stop",
        "freeze",
        "reportNotStopped",
        "reportMissingEvidence",
        "later suspect",
        "later recover",
        "later stop",
        "later freeze",
    ] {
        let count = counts.get(action).copied().unwrap_or_default();
        assert!(count >= 50, "{action} is drawn {count} times");
    }
}
