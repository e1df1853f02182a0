//! The reaper's sweep: what no event reported.

use crate::functions::Functions;
use crate::scene::{ask, ask_with, execution, waiting};
use lockstep::domain::{ExecutionEnd, RunOutcome, Seconds};
use lockstep::executions::memory::ExecutionsCall;
use serde_json::json;

#[tokio::test]
async fn a_holder_whose_end_came_without_an_event_is_recovered() {
    let functions = Functions::running(&["a"]);
    let grant = functions.granted_with(ask("a")).await;
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
    assert_eq!(sweep["SweepFinished"], 1.0);
    assert_eq!(sweep["LocksUnchecked"], 0.0);
}

#[tokio::test]
async fn a_schedule_asks_for_a_sweep_as_well() {
    let functions = Functions::new();
    functions.granted("nightly", "run-1").await;
    functions.wait(62);
    let tick = json!({ "source": "aws.events", "detail-type": "Scheduled Event", "detail": {} });

    let report = functions.reap(tick).await.unwrap();

    assert_eq!(report["freed"], 1);
}

#[tokio::test]
async fn a_lease_is_not_judged_before_it_is_over_for_longer_than_clocks_differ() {
    let functions = Functions::new();
    functions.granted("nightly", "run-1").await;

    functions.wait(61);
    let early = functions.sweep().await;
    functions.wait(1);
    let late = functions.sweep().await;

    assert_eq!(json!([early["locks"], early["freed"]]), json!([0, 0]));
    assert_eq!(json!([late["locks"], late["freed"]]), json!([1, 1]));
}

#[tokio::test]
async fn a_run_that_renews_is_looked_at_once_and_comes_up_again_when_its_lease_ends() {
    let functions = Functions::new();
    let grant = functions.granted_with(ask("a")).await;
    functions.wait(50);
    functions.renew(&grant).await;
    functions.wait(12);

    let first = functions.sweep().await;
    functions.wait(40);
    let second = functions.sweep().await;

    assert_eq!(json!([first["locks"], first["holders"]]), json!([1, 0]));
    assert_eq!(second["locks"], 0);
    let due = functions.record("nightly").await.unwrap().due.unwrap();
    assert_eq!(due, functions.now().plus(Seconds::of(8)));
}

#[tokio::test]
async fn an_idle_lock_is_never_looked_at() {
    let functions = Functions::new();
    let grant = functions.granted_with(ask("a")).await;
    functions.succeed(&grant).await;
    functions.wait(100_000);

    let report = functions.sweep().await;

    assert_eq!(report["locks"], 0);
    assert_eq!(functions.record("nightly").await.unwrap().due, None);
}

#[tokio::test]
async fn a_waiter_gets_its_turn_when_the_lock_has_rested() {
    let functions = Functions::running(&["a", "b"]);
    let rest = json!({ "minIntervalSeconds": 90 });
    let grant = functions.granted_with(ask_with("a", rest)).await;
    functions.acquire(waiting("b", "token-b")).await.unwrap();
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
async fn a_waiter_that_could_not_be_woken_is_woken() {
    let functions = Functions::running(&["a", "b"]);
    let grant = functions.granted_with(ask("a")).await;
    functions.acquire(waiting("b", "token-b")).await.unwrap();
    functions.lose_next(ExecutionsCall::EndState);
    functions.succeed(&grant).await;
    assert_eq!(functions.output("token-b"), None);
    functions.wait(62);

    functions.sweep().await;

    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    assert_eq!(functions.holders("nightly").await, [execution("b")]);
}

#[tokio::test]
async fn a_waiter_that_could_not_be_woken_is_woken_before_its_lease_is_over() {
    let functions = Functions::running(&["a", "b"]);
    let grant = functions.granted_with(ask("a")).await;
    functions.acquire(waiting("b", "token-b")).await.unwrap();
    functions.wait(50);
    functions.lose_next(ExecutionsCall::EndState);
    functions.succeed(&grant).await;
    functions.wait(12);

    functions.sweep().await;

    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
}

#[tokio::test]
async fn a_waiter_that_never_confirms_its_grant_is_stopped_after_the_longest_wait() {
    let functions = Functions::running(&["a", "b", "c"]);
    let grant = functions.granted_with(ask("a")).await;
    for (name, token) in [("b", "token-b"), ("c", "token-c")] {
        functions.acquire(waiting(name, token)).await.unwrap();
    }
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
async fn a_lock_whose_holder_cannot_be_asked_comes_up_again_after_half_a_minute() {
    let functions = Functions::new();
    functions.granted_with(ask("a")).await;
    functions.end("a", ExecutionEnd::Failed);
    functions.lose_next(ExecutionsCall::Describe);
    functions.wait(62);

    let first = functions.sweep().await;
    functions.wait(29);
    let between = functions.sweep().await;
    functions.wait(3);
    let second = functions.sweep().await;

    assert_eq!(json!([first["holders"], first["freed"]]), json!([1, 0]));
    assert_eq!(between["locks"], 0);
    assert_eq!(second["freed"], 1);
}
