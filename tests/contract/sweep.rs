//! The reaper's sweep finds what no event has reported.

use crate::functions::Functions;
use crate::scene::{assert_has, execution};
use lockstep::domain::{ExecutionEnd, RunOutcome, Seconds};
use lockstep::executions::memory::ExecutionsCall;
use serde_json::json;

#[tokio::test]
async fn a_holder_whose_end_came_without_an_event_is_recovered() {
    let (functions, grant) = Functions::held(&["a"]).await;
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(62);

    let report = functions.sweep().await;

    let expected = json!({ "locks": 1, "holders": 1, "freed": 1, "failed": 0, "more": false });
    assert_eq!(report, expected);
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Recovered);
    let metrics = functions.metrics.all();
    let [.., recovered, sweep] = metrics.as_slice() else {
        panic!("{metrics:?}");
    };
    assert_eq!(recovered["Recovered"], 1.0);
    assert_has(
        sweep,
        json!({ "SweepFinished": 1.0, "LocksUnchecked": 0.0 }),
    );
}

#[tokio::test]
async fn a_lease_is_recovered_two_seconds_after_its_end_and_not_earlier() {
    let functions = Functions::new();
    functions.granted("nightly", "run-1").await;

    functions.wait(61);
    let early = functions.sweep().await;
    functions.wait(1);
    let late = functions.sweep().await;

    assert_has(&early, json!({ "locks": 0, "freed": 0 }));
    assert_has(&late, json!({ "locks": 1, "freed": 1 }));
}

#[tokio::test]
async fn the_sweep_checks_a_renewed_lease_again_only_at_its_new_end() {
    let (functions, grant) = Functions::held(&["a"]).await;
    functions.wait(50);
    functions.renew(&grant).await;
    functions.wait(12);

    let first = functions.sweep().await;
    functions.wait(40);
    let second = functions.sweep().await;

    assert_has(&first, json!({ "locks": 1, "holders": 0 }));
    assert_eq!(second["locks"], 0);
    let due = functions.record("nightly").await.unwrap().due.unwrap();
    assert_eq!(due, functions.now().plus(Seconds::of(8)));
}

#[tokio::test]
async fn the_sweep_reads_no_idle_lock() {
    let functions = Functions::new();
    functions.ran("nightly", "a").await;
    functions.wait(100_000);

    let report = functions.sweep().await;

    assert_eq!(report["locks"], 0);
    assert_eq!(functions.record("nightly").await.unwrap().due, None);
}

#[tokio::test]
async fn the_sweep_grants_the_first_waiter_after_a_rest() {
    let rest = json!({ "minIntervalSeconds": 90 });
    let (functions, grant) = Functions::held_with(&["a", "b"], rest).await;
    functions.queue(&["b"]).await;
    functions.succeed(&grant).await;
    functions.wait(62);
    functions.sweep().await;
    let early = functions.output("token-b");
    functions.wait(61);

    functions.sweep().await;

    assert_eq!(early, None);
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
}

#[tokio::test]
async fn the_sweep_wakes_a_waiter_whose_wake_up_was_lost() {
    for (before, after) in [(0, 62), (50, 12)] {
        let (functions, grant) = Functions::held(&["a", "b"]).await;
        functions.queue(&["b"]).await;
        functions.wait(before);
        functions.lose_next(ExecutionsCall::EndState);
        functions.succeed(&grant).await;
        assert_eq!(functions.output("token-b"), None);
        functions.wait(after);

        functions.sweep().await;

        let woken = functions.output("token-b").unwrap();
        assert_eq!(woken["status"], "granted", "{before} s");
        assert_eq!(functions.holders("nightly").await, [execution("b")]);
    }
}

#[tokio::test]
async fn a_waiter_that_never_confirms_its_grant_is_stopped() {
    let (functions, grant) = Functions::held(&["a", "b", "c"]).await;
    functions.queue(&["b", "c"]).await;
    functions.succeed(&grant).await;
    functions.wait(7_900);
    functions.sweep().await;
    assert!(functions.executions.stops().is_empty());
    functions.silent_for_long(100).await;

    functions.sweep().await;

    assert_eq!(functions.executions.stops().len(), 1);
    assert_eq!(functions.holders("nightly").await, [execution("c")]);
    assert_eq!(functions.output("token-c").unwrap()["status"], "granted");
}

#[tokio::test]
async fn a_holder_that_cannot_be_described_is_checked_again_within_30_s() {
    let (functions, _) = Functions::held(&["a"]).await;
    functions.end("a", ExecutionEnd::Failed);
    functions.lose_next(ExecutionsCall::Describe);
    functions.wait(62);

    let first = functions.sweep().await;
    functions.wait(19);
    let between = functions.sweep().await;
    functions.wait(3);
    let second = functions.sweep().await;

    assert_has(&first, json!({ "holders": 1, "freed": 0 }));
    assert_eq!(between["locks"], 0);
    assert_eq!(second["freed"], 1);
}
