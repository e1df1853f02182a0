//! The reaper's handling of events of executions.

use crate::faulty::{Behind, Faulty};
use crate::functions::{Functions, key};
use crate::scene::{
    arn, ask, ask_with, assert_has, assert_says, end_event, execution, execution_event, waiting,
};
use lockstep::domain::{ExecutionEnd, ExecutionState, RunOutcome};
use lockstep::executions::Executions;
use serde_json::json;

#[tokio::test]
async fn an_execution_that_ended_frees_what_it_held_and_lets_the_next_in() {
    let (functions, grant) = Functions::held(&["a", "b"]).await;
    functions.queue(&["b"]).await;
    functions.end("a", ExecutionEnd::Aborted);

    let report = functions.reap_end("a", "ABORTED").await;

    assert_eq!(report["freed"], 1);
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Recovered);
}

/// The heartbeat was under way when the execution ended. A heartbeat after a redrive that DescribeExecution
/// does not show yet looks the same.
#[tokio::test]
async fn a_holder_that_renewed_after_its_end_is_checked_once_more() {
    let (functions, grant) = Functions::held(&["a"]).await;
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
async fn an_event_of_an_execution_that_names_no_lock_or_runs_is_ignored() {
    let (functions, _) = Functions::held(&["a"]).await;
    functions.end("a", ExecutionEnd::Failed);

    let names_lock = json!("{\"lock\":\"nightly\"}");
    for (status, input, why) in [
        ("FAILED", json!(null), "names no lock"),
        ("FAILED", json!("{}"), "names no lock"),
        ("FAILED", json!("no JSON"), "names no lock"),
        ("FAILED", json!({ "lock": "nightly" }), "names no lock"),
        ("RUNNING", names_lock, "not ended"),
    ] {
        let event = execution_event("a", status, input);
        let report = functions.reap(event).await.unwrap();

        assert_says(report["ignored"].as_str().unwrap(), why);
    }
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
}

#[tokio::test]
async fn the_event_of_a_dead_waiter_drops_it_from_the_queue() {
    // The waiter may have registered in the millisecond of its end.
    for waited in [0, 1] {
        let (functions, _) = Functions::held(&["a", "b", "c"]).await;
        functions.queue(&["b", "c"]).await;
        functions.wait(waited);
        functions.end("b", ExecutionEnd::Aborted);

        let report = functions.reap_end("b", "ABORTED").await;

        assert_has(&report, json!({ "locks": 1, "holders": 0 }));
        let again = functions.acquire(waiting("c", "token-c2")).await.unwrap();
        let place = (&again["position"], &again["queueLength"]);
        assert_eq!(place, (&json!(1), &json!(1)));
        assert_eq!(functions.store.items(&key("nightly")).waiters.len(), 1);
    }
}

#[tokio::test]
async fn the_end_of_an_uninvolved_execution_costs_no_describe_execution() {
    let (functions, _) = Functions::held(&["a", "b"]).await;
    // The first call of DescribeExecution still shows it as running.
    functions.end_late("b", ExecutionEnd::Failed, 1);

    functions.reap_end("b", "FAILED").await;

    let seen = functions.executions.describe(&arn("b")).await.unwrap();
    assert_eq!(seen.unwrap().state, ExecutionState::Running);
}

/// No later event reports the dead waiter.
#[tokio::test]
async fn a_dead_waiter_whose_turn_comes_while_its_event_is_handled_is_found() {
    let (functions, grant) = Functions::held(&["a", "b", "c"]).await;
    functions.queue(&["b", "c"]).await;
    functions.wait(1);
    functions.end("b", ExecutionEnd::Aborted);

    let table = Faulty::behind_a_read(&functions, grant, Behind::Released);
    let event = end_event("b", "ABORTED");
    let report = functions.reap_on(&table, event).await.unwrap();

    assert_eq!(report["freed"], 1);
    assert_eq!(functions.holders("nightly").await, [execution("c")]);
}

/// The execution was redriven after the event. DescribeExecution shows it as running, or still shows the
/// earlier end.
#[tokio::test]
async fn an_old_event_drops_no_redriven_waiter_and_frees_no_redriven_holder() {
    for ended in [false, true] {
        let (functions, _) = Functions::held(&["a", "b"]).await;
        functions.queue(&["b"]).await;
        if ended {
            functions.end("b", ExecutionEnd::Aborted);
            functions.wait(1);
            functions.queue(&["b"]).await;
        }

        for (name, status) in [("b", "ABORTED"), ("a", "FAILED")] {
            let report = functions.reap_end(name, status).await;
            assert_eq!(report["freed"], 0, "{name}");
        }
        let again = functions.acquire(waiting("b", "token-b2")).await.unwrap();
        assert_eq!(again["position"], 1, "ended: {ended}");
        let record = functions.record("nightly").await.unwrap();
        assert_eq!((record.queue.len(), record.last_ticket.number()), (1, 1));
        assert_eq!(functions.holders("nightly").await, [execution("a")]);
    }
}

/// ListTasks may not yet list the task that the execution has started.
#[tokio::test]
async fn an_ended_execution_without_a_listed_task_is_checked_once_more() {
    let place = json!({ "work": { "cluster": "batches", "container": "app" } });
    let (functions, _) = Functions::held_with(&["a"], place).await;
    functions.wait(1);
    functions.end("a", ExecutionEnd::Aborted);

    let early = functions.status(ask("b")).await;
    let report = functions.reap_end("a", "ABORTED").await;

    assert_eq!(early, "skipped");
    assert_eq!(report["freed"], 1, "{report}");
    assert!(functions.holders("nightly").await.is_empty());
}

#[tokio::test]
async fn an_event_counts_although_describe_execution_lags_behind_it() {
    let (functions, _) = Functions::held(&["a"]).await;
    functions.wait(5);
    let mut event = end_event("a", "FAILED");
    event["detail"]["stopDate"] = json!(functions.now().millis());

    let report = functions.reap(event).await.unwrap();

    assert_eq!(
        report["freed"], 1,
        "DescribeExecution still shows RUNNING: {report}"
    );
}

/// A user's own workflow computes `redriveCount`, and may compute a wrong one.
#[tokio::test]
async fn a_wrong_redrive_count_does_not_keep_a_dead_run_alive() {
    let (functions, grant) = Functions::held(&["a"]).await;
    let beat = json!({ "grant": grant, "taskToken": "beat-a", "redriveCount": 7 });
    functions.heartbeat(beat).await.unwrap();
    functions.end("a", ExecutionEnd::Failed);
    let mut held = Vec::new();
    for seconds in [29, 1] {
        functions.wait(seconds);
        functions.status(ask("b")).await;
        held.push(functions.holders("nightly").await);
    }

    assert_eq!(held, [[execution("a")], [execution("b")]]);
    assert!(functions.executions.stops().is_empty());
}
