//! The reaper on events of executions.

use crate::faulty::{Behind, Faulty};
use crate::functions::{Functions, key};
use crate::scene::{
    arn, ask, ask_with, assert_says, end_event, execution, execution_event, waiting,
};
use lockstep::domain::{ExecutionEnd, ExecutionState, RunOutcome};
use lockstep::executions::Executions;
use serde_json::json;

#[tokio::test]
async fn an_execution_that_ended_frees_what_it_held_and_lets_the_next_in() {
    let functions = Functions::running(&["a", "b"]);
    let grant = functions.granted_with(ask("a")).await;
    functions.acquire(waiting("b", "token-b")).await.unwrap();
    functions.end("a", ExecutionEnd::Aborted);

    let report = functions.reap_end("a", "ABORTED").await;

    assert_eq!(report["freed"], 1);
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Recovered);
}

/// Its heartbeat was under way when it ended, as after a redrive that is not described yet.
#[tokio::test]
async fn an_execution_that_seems_to_have_renewed_since_its_end_is_checked_once_more() {
    let functions = Functions::running(&["a", "b"]);
    let grant = functions.granted_with(ask("a")).await;
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(1);
    functions.beat(&grant, "beat-a").await;

    let report = functions.reap_end("a", "ABORTED").await;

    assert_eq!(report["freed"], 1);
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Recovered);
}

#[tokio::test]
async fn all_permits_of_one_execution_are_freed() {
    let functions = Functions::new();
    for holder in [execution("a"), format!("{}#2", execution("a"))] {
        let request = json!({ "lock": "nightly", "holder": holder, "permits": 3 });
        functions.granted_with(request).await;
        functions.wait(1);
    }
    let other = ask_with("b", json!({ "permits": 3 }));
    functions.granted_with(other).await;
    functions.end("a", ExecutionEnd::Failed);

    let report = functions.reap_end("a", "FAILED").await;

    assert_eq!(report["freed"], 2);
    assert_eq!(functions.holders("nightly").await, [execution("b")]);
}

#[tokio::test]
async fn an_event_of_an_execution_that_names_no_lock_is_left_to_the_sweep() {
    let functions = Functions::new();
    functions.granted_with(ask("a")).await;
    functions.end("a", ExecutionEnd::Failed);

    for input in [
        json!(null),
        json!("{}"),
        json!("no JSON"),
        json!({ "lock": "nightly" }),
    ] {
        let event = execution_event("a", "FAILED", input);
        let report = functions.reap(event).await.unwrap();

        assert_says(report["ignored"].as_str().unwrap(), "names no lock");
    }
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
}

#[tokio::test]
async fn a_dead_waiter_is_cleared_from_the_queue() {
    // It may have registered in the millisecond of its end.
    for waited in [0, 1] {
        let functions = Functions::running(&["a", "b", "c"]);
        functions.granted_with(ask("a")).await;
        functions.acquire(waiting("b", "token-b")).await.unwrap();
        functions.acquire(waiting("c", "token-c")).await.unwrap();
        functions.wait(waited);
        functions.end("b", ExecutionEnd::Aborted);

        let report = functions.reap_end("b", "ABORTED").await;

        assert_eq!(json!([report["locks"], report["holders"]]), json!([1, 0]));
        let again = functions.acquire(waiting("c", "token-c2")).await.unwrap();
        assert_eq!(again["position"], 1);
        assert_eq!(again["queueLength"], 1);
        assert_eq!(functions.store.items(&key("nightly")).waiters.len(), 1);
    }
}

#[tokio::test]
async fn the_end_of_an_execution_that_neither_holds_nor_waits_asks_for_no_description() {
    let functions = Functions::running(&["a", "b"]);
    functions.granted_with(ask("a")).await;
    // The first call of DescribeExecution still shows it as running.
    functions.end_late("b", ExecutionEnd::Failed, 1);

    functions.reap_end("b", "FAILED").await;

    let seen = functions.executions.describe(&arn("b")).await.unwrap();
    assert_eq!(seen.unwrap().state, ExecutionState::Running);
}

/// No other event is to come.
#[tokio::test]
async fn a_dead_waiter_whose_turn_comes_while_its_event_is_handled_is_found() {
    let functions = Functions::running(&["a", "b", "c"]);
    let grant = functions.granted_with(ask("a")).await;
    functions.acquire(waiting("b", "token-b")).await.unwrap();
    functions.acquire(waiting("c", "token-c")).await.unwrap();
    functions.wait(1);
    functions.end("b", ExecutionEnd::Aborted);

    let table = Faulty::behind_a_read(&functions, grant, Behind::Released);
    let event = end_event("b", "ABORTED");
    let report = functions.reap_on(&table, event).await.unwrap();

    assert_eq!(report["freed"], 1);
    assert_eq!(functions.holders("nightly").await, [execution("c")]);
}

/// DescribeExecution still shows the end from before its redrive.
#[tokio::test]
async fn an_event_of_an_end_before_the_waiter_registered_leaves_its_place() {
    let functions = Functions::running(&["a", "b"]);
    functions.granted_with(ask("a")).await;
    functions.acquire(waiting("b", "token-b")).await.unwrap();
    functions.end("b", ExecutionEnd::Aborted);
    functions.wait(1);
    functions.acquire(waiting("b", "token-b2")).await.unwrap();

    functions.reap_end("b", "ABORTED").await;

    assert_eq!(functions.record("nightly").await.unwrap().queue.len(), 1);
}

#[tokio::test]
async fn an_old_event_of_a_waiter_that_was_redriven_leaves_its_place() {
    let functions = Functions::running(&["a", "b"]);
    functions.granted_with(ask("a")).await;
    functions.acquire(waiting("b", "token-b")).await.unwrap();

    functions.reap_end("b", "FAILED").await;

    let again = functions.acquire(waiting("b", "token-b2")).await.unwrap();
    assert_eq!(again["position"], 1);
    let record = functions.record("nightly").await.unwrap();
    assert_eq!(record.last_ticket.number(), 1);
}

#[tokio::test]
async fn an_old_event_of_a_holder_that_was_redriven_leaves_its_permit() {
    let functions = Functions::running(&["a"]);
    functions.granted_with(ask("a")).await;

    let report = functions.reap_end("a", "FAILED").await;

    assert_eq!(report["freed"], 0);
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
}

#[tokio::test]
async fn an_execution_that_runs_is_no_news() {
    let functions = Functions::new();

    let report = functions.reap_end("a", "RUNNING").await;

    assert_says(report["ignored"].as_str().unwrap(), "not ended");
}

/// ECS may not list the task yet that the execution has started.
#[tokio::test]
async fn an_execution_that_ended_without_a_task_is_checked_once_more_on_its_event() {
    let functions = Functions::running(&["a"]);
    let place = json!({ "cluster": "batches", "container": "app" });
    let in_a_place = ask_with("a", json!({ "work": place }));
    functions.granted_with(in_a_place).await;
    functions.wait(1);
    functions.end("a", ExecutionEnd::Aborted);

    let early = functions.acquire(ask("b")).await.unwrap();
    let report = functions.reap_end("a", "ABORTED").await;

    assert_eq!(early["status"], "skipped");
    assert_eq!(report["freed"], 1, "{report}");
    assert!(functions.holders("nightly").await.is_empty());
}

#[tokio::test]
async fn an_event_counts_where_the_description_of_the_end_lags_behind_it() {
    let functions = Functions::running(&["a"]);
    functions.granted_with(ask("a")).await;
    functions.wait(5);
    let mut event = end_event("a", "FAILED");
    event["detail"]["stopDate"] = json!(functions.now().millis());

    let report = functions.reap(event).await.unwrap();

    assert_eq!(report["freed"], 1, "it is described as RUNNING: {report}");
}
