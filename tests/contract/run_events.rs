//! The events of the start and the end of a run, which a stack can turn on, and the starts that got no
//! permit.

use crate::functions::Functions;
use crate::scene::{assert_says, merged};
use lockstep::contract::EventKind;
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Carries out three runs: one that succeeds, one that fails, and one that gets the lock by a hand-over and
/// dies.
async fn three_runs(functions: &Functions) {
    functions.start(&["w"]);
    functions.ran("nightly", "first").await;
    let second = functions.granted("nightly", "second").await;
    functions.queue(&["w"]).await;
    functions.finish(&second, "failed").await;
    functions.end("w", ExecutionEnd::Aborted);
    functions.wait(1_000);
    functions.sweep().await;
}

#[tokio::test]
async fn with_run_events_each_run_has_one_start_and_one_end_event() {
    use EventKind::{RunFailed, RunStarted, RunSucceeded};
    for run_events in [false, true] {
        let mut functions = Functions::new();
        functions.run_events = run_events;

        three_runs(&functions).await;

        let published = functions.events.published();
        let runs = [RunStarted, RunSucceeded, RunFailed];
        let seen = published.iter().filter(|event| runs.contains(&event.kind));
        let mut seen: Vec<_> = seen
            .map(|event| {
                let holder = event.holder.as_ref().expect("a holder").as_str();
                assert!(event.token.is_some(), "{event:?}");
                (holder.rsplit(':').next().expect("a name"), event.kind)
            })
            .collect();
        // The hand-over to `w` is published before the end of the second run, so the order is not checked.
        seen.sort_unstable();
        let mut expected = [
            ("first", RunStarted),
            ("first", RunSucceeded),
            ("second", RunStarted),
            ("second", RunFailed),
            ("w", RunStarted),
            ("w", RunFailed),
        ];
        expected.sort_unstable();
        let expected: &[_] = if run_events { &expected } else { &[] };
        assert_eq!(seen, expected);
    }
}

#[tokio::test]
async fn a_repeated_acquire_repeats_run_started_and_a_release_no_end() {
    let mut functions = Functions::new();
    functions.run_events = true;
    functions.granted("nightly", "a").await;
    let grant = functions.granted("nightly", "a").await;
    for _ in 0..2 {
        functions.succeed(&grant).await;
    }

    use EventKind::{RunStarted, RunSucceeded};
    let kinds = functions.events.kinds();
    assert_eq!(kinds, [RunStarted, RunStarted, RunSucceeded]);
    let published = functions.events.published();
    let tokens: BTreeSet<_> = published.iter().map(|event| event.token).collect();
    assert_eq!(tokens.len(), 1, "{published:?}");
}

#[tokio::test]
async fn consecutive_skips_are_one_entry_of_the_history() {
    let functions = Functions::new();
    let first = functions.granted("nightly", "first").await;
    for start in ["b", "c", "d"] {
        functions.wait(5);
        skipped(&functions, start).await;
    }
    functions.wait(5);
    assert_eq!(functions.status(keyed("k")).await, "skipped");
    functions.wait(5);
    functions.succeed(&first).await;
    functions.wait(5);
    let second = functions.granted_with(keyed("k")).await;
    functions.wait(5);
    functions.succeed(&second).await;
    functions.wait(5);
    assert_eq!(functions.status(keyed("k2")).await, "duplicate");

    let until = json!({ "act": "history", "lock": "nightly", "to": functions.time_in(0) });
    let until = functions.view(until).await.unwrap();
    assert_eq!(
        until["entries"][0]["outcome"], "duplicate",
        "an entry at the time `to` is included"
    );
    for limit in [1, 2, 100] {
        let entries = history(&functions, limit).await;

        let seen = entries.iter().map(|entry| {
            let starts = entry["starts"].as_u64().unwrap_or_default();
            (entry["outcome"].as_str().expect("an outcome"), starts)
        });
        let seen: Vec<_> = seen.collect();
        let expected = [
            ("duplicate", 1),
            ("succeeded", 0),
            ("skipped", 4),
            ("succeeded", 0),
        ];
        assert_eq!(seen, expected, "{limit}");
        let row = &entries[2];
        assert_eq!(row["holder"], "k");
        assert!(row["since"].as_str() < row["at"].as_str(), "{row}");
        assert_says(row["reason"].as_str().unwrap(), "held by first");
    }
}

/// Returns all entries of the history, read in pages of `limit` runs.
async fn history(functions: &Functions, limit: u32) -> Vec<Value> {
    let request = json!({ "act": "history", "lock": "nightly", "limit": limit });
    let pages = functions.pages(request).await;
    let entries = pages.iter().map(|page| page["entries"].as_array());
    entries
        .flat_map(|some| some.expect("entries").clone())
        .collect()
}

/// Returns a request of `holder` with the run key `day`.
fn keyed(holder: &str) -> Value {
    json!({ "lock": "nightly", "holder": holder, "runKey": "day", "overlap": "skip" })
}

/// Starts a run of `holder`, which is skipped.
async fn skipped(functions: &Functions, holder: &str) {
    let request = json!({ "lock": "nightly", "holder": holder, "overlap": "skip" });
    assert_eq!(functions.status(request).await, "skipped", "{holder}");
}

#[tokio::test]
async fn skipped_in_a_row_counts_the_skips_since_the_latest_grant() {
    let functions = Functions::new();
    let in_a_row = async || {
        let list = json!({ "act": "list" });
        let list = functions.view(list).await.unwrap();
        let show = functions.shown().await;
        assert_eq!(list["locks"][0]["skippedInARow"], show["skippedInARow"]);
        show["skippedInARow"].clone()
    };
    let first = functions.granted("nightly", "first").await;
    assert_eq!(in_a_row().await, 0);
    for (start, row) in [("b", 1), ("c", 2)] {
        functions.wait(5);
        skipped(&functions, start).await;
        assert_eq!(in_a_row().await, row);
    }
    functions.succeed(&first).await;
    assert_eq!(in_a_row().await, 2, "a release does not reset the count");
    functions.wait(5);
    // A start is skipped at the very time of the next grant, and a duplicate follows that grant.
    let grant = functions.granted_with(keyed("k")).await;
    functions.succeed(&grant).await;
    let short = functions.granted("nightly", "short").await;
    skipped(&functions, "before").await;
    functions.succeed(&short).await;
    functions.granted("nightly", "second").await;
    assert_eq!(in_a_row().await, 0);
    functions.wait(5);
    assert_eq!(functions.status(keyed("k2")).await, "duplicate");
    assert_eq!(in_a_row().await, 0);
    functions.wait(5);
    skipped(&functions, "d").await;
    assert_eq!(in_a_row().await, 1);
}

#[tokio::test]
async fn skipped_in_a_row_of_a_list_counts_only_the_last_day() {
    let functions = Functions::new();
    let counted = async || {
        let list = functions.view(json!({ "act": "list" })).await.unwrap();
        list["locks"][0]["skippedInARow"].clone()
    };
    functions.granted("nightly", "first").await;
    functions.wait(5);
    skipped(&functions, "b").await;

    functions.wait(86_399);
    assert_eq!(counted().await, 1);
    functions.wait(2);
    assert_eq!(counted().await, 0);
}

#[tokio::test]
async fn a_log_that_cannot_be_read_leaves_starts_out_and_the_history_says_so() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "first").await;
    skipped(&functions, "b").await;
    functions.succeed(&grant).await;
    functions.events.close_log();

    let history = functions.history_page().await;
    let list = functions.view(json!({ "act": "list" })).await.unwrap();
    let show = functions.shown().await;

    assert_eq!(history["problem"], "the log cannot be read");
    assert_eq!(history["entries"].as_array().map(Vec::len), Some(1));
    for shown in [&list["locks"][0], &show] {
        assert!(shown.get("skippedInARow").is_none(), "{shown}");
    }
}

#[tokio::test]
async fn an_operator_who_ends_a_rest_or_frees_a_run_key_is_in_the_events() {
    let functions = Functions::new();
    let rested = json!({
        "lock": "nightly", "holder": "a", "minIntervalSeconds": 600, "runKey": "day",
    });
    let grant = functions.granted_with(rested).await;
    functions.succeed(&grant).await;

    let signed = json!({ "actor": "ops@example.com", "note": "wrong", "lock": "nightly" });
    for act in [
        json!({ "act": "clear-rest" }),
        json!({ "act": "forget", "runKey": "day" }),
        // The lock does not rest any more, so this act publishes no event.
        json!({ "act": "clear-rest" }),
    ] {
        let request = merged(signed.clone(), &act);
        functions.operate(request).await.unwrap();
    }

    use EventKind::{RestCleared, RunForgotten};
    assert_eq!(functions.events.kinds(), [RestCleared, RunForgotten]);
    for (kind, reason, advice) in [
        (RestCleared, "wrong", "the lock grants permits again"),
        (
            RunForgotten,
            "run key day is free: wrong",
            "a run may have the run key again",
        ),
    ] {
        let event = functions.event(kind);
        assert_eq!(event.reason, format!("{reason} (by ops@example.com)"));
        assert_eq!(event.advice, format!("nothing: {advice}"));
    }
}
