//! The bounds of one sweep, and the errors that do not stop it.

use crate::faulty::Faulty;
use crate::functions::{Functions, key};
use crate::scene::{ask, assert_has};
use lockstep::store::{SHARDS, shard};
use serde_json::json;
use std::time::Duration;

/// Returns the functions with `locks` locks, each with a dead holder.
async fn dead(locks: usize) -> Functions {
    let functions = Functions::new();
    functions.hold_locks(locks).await;
    functions.wait(62);
    functions
}

#[tokio::test]
async fn a_record_that_cannot_be_read_does_not_stop_the_sweep() {
    let functions = Functions::new();
    for lock in ["bad", "good-1", "good-2"] {
        functions.granted(lock, "run-1").await;
    }
    functions.wait(62);
    let before = functions.record("bad").await;

    let table = Faulty::corrupt(&functions, "bad");
    let report = functions.sweep_on(&table).await;

    assert_has(&report, json!({ "failed": 1, "freed": 2 }));
    let after = functions.record("bad").await;
    assert_eq!(after, before, "the unreadable record is not overwritten");
}

#[tokio::test]
async fn entries_of_the_index_that_cannot_be_read_are_counted() {
    let functions = dead(2).await;
    let table = Faulty::unreadable_entries(&functions, 3);

    let report = functions.sweep_on(&table).await;

    assert_has(&report, json!({ "failed": 3, "freed": 2 }));
    let unchecked = functions.metrics.all().last().unwrap()["LocksUnchecked"].clone();
    assert_eq!(unchecked, 3.0);
}

#[tokio::test]
async fn a_sweep_checks_every_lock_that_is_due_however_many() {
    let functions = dead(1003).await;

    let report = functions.sweep().await;

    let expected = json!({
        "locks": 1003, "holders": 1003, "freed": 1003, "failed": 0, "more": false
    });
    assert_eq!(report, expected);
}

#[tokio::test]
async fn a_sweep_ends_within_55_s_and_the_next_one_continues() {
    let functions = dead(30).await;
    let table = Faulty::slow(&functions, Duration::from_secs(3));
    let start = functions.now();

    let sweep = async || functions.sweep_on(&table).await;
    let first = sweep().await;
    let finished = functions.metrics.all().last().unwrap()["SweepFinished"].clone();
    let took = functions.now().millis_since(start);
    let mut freed = first["freed"].as_u64().unwrap();
    for _ in 0..10 {
        freed += sweep().await["freed"].as_u64().unwrap();
    }

    assert_eq!(first["more"], true);
    assert_eq!(finished, 0.0);
    assert!(took < 55_000, "{took} ms: the function ends after 60 s");
    assert_eq!(freed, 30);
}

#[tokio::test]
async fn a_record_without_a_response_costs_a_sweep_15_s() {
    let functions = dead(1).await;
    let table = Faulty::silent_after(&functions, 0);
    let start = functions.now();

    let report = functions.sweep_on(&table).await;

    assert_eq!(report["failed"], 1);
    assert_eq!(functions.now().millis_since(start), 15_000);
}

#[tokio::test]
async fn a_sweep_checks_the_longest_due_lock_of_a_shard_first() {
    let functions = Functions::new();
    let (old, new) = ("lock-old", "lock-new-0");
    assert_eq!(shard(&key(old)), shard(&key(new)));
    functions.granted(old, "run-1").await;
    functions.wait(30);
    functions.granted(new, "run-1").await;
    functions.wait(62);

    let table = Faulty::slow(&functions, Duration::from_secs(50));
    let report = functions.sweep_on(&table).await;

    assert_has(&report, json!({ "locks": 1, "more": true }));
    assert!(functions.holders(old).await.is_empty());
    assert_eq!(functions.holders(new).await, ["run-1"]);
}

#[tokio::test]
async fn an_old_index_entry_makes_the_sweep_change_nothing() {
    let functions = Functions::new();
    functions.ran("nightly", "a").await;
    functions.wait(1);
    functions.granted_with(ask("b")).await;
    let before = functions.record("nightly").await.unwrap();
    for lock in ["nightly", "never-used"] {
        let table = Faulty::old_entry(&functions, lock);

        let report = functions.sweep_on(&table).await;

        assert_has(&report, json!({ "locks": 1, "holders": 0 }));
    }
    let after = functions.record("nightly").await.unwrap();
    assert_eq!(after.holders, before.holders);
}

#[tokio::test]
async fn a_sweep_reads_every_shard_and_begins_with_another_one_each_minute() {
    let functions = Functions::new();
    for minute in 0..=SHARDS {
        let table = Faulty::slow(&functions, Duration::ZERO);

        functions.sweep_on(&table).await;

        // At the time of the test, a sweep begins with shard 0.
        let expected: Vec<_> = (0..SHARDS).map(|shard| (minute + shard) % SHARDS).collect();
        assert_eq!(table.shards(), expected, "minute {minute}");
        functions.wait(60);
    }
}

/// If a sweep has no time for all holders of a lock, the ones that it leaves out change from minute to
/// minute.
#[tokio::test]
async fn a_sweep_begins_with_another_holder_of_a_lock_each_minute() {
    let mut firsts = Vec::new();
    // The first two sweeps are in the same minute.
    for seconds in [62, 70, 122, 182] {
        let functions = Functions::new();
        for number in 0..5 {
            let ask = json!({ "lock": "many", "holder": format!("run-{number}"), "permits": 5 });
            functions.granted_with(ask).await;
        }
        functions.wait(seconds);

        functions.sweep().await;

        let events = functions.events.published().into_iter();
        let freed: Vec<_> = events.filter_map(|event| event.holder).collect();
        assert_eq!(freed.len(), 5, "{:?}", functions.events.kinds());
        firsts.push(freed[0].clone());
    }

    assert_eq!(firsts[0], firsts[1]);
    assert_ne!(firsts[1], firsts[2]);
    assert_ne!(firsts[2], firsts[3]);
}
