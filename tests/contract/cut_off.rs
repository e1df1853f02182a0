//! An invocation that is cut off between its writes: the next one does what was left.

use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::scene::{CLUSTER, ask, ask_with, execution, task, task_event, waiting};
use lockstep::domain::{ExecutionEnd, RunOutcome};
use serde_json::{Value, json};

#[tokio::test]
async fn an_event_that_was_not_dealt_with_to_the_end_is_not_taken_for_one_that_was() {
    for writes in 0.. {
        let functions = Functions::running(&["a"]);
        let work = json!({ "work": { "cluster": CLUSTER } });
        let grant = functions.granted_with(ask_with("a", work)).await;
        functions.end("a", ExecutionEnd::Failed);
        let stopped = task("t", 2, true);
        functions.put_task("a", stopped.clone());
        let event = task_event("a", &stopped, &grant, "STOPPED");

        let table = Faulty::cut_off_after(&functions, writes);
        let first = functions.reap_on(&table, event.clone()).await;
        if first.is_ok() {
            assert!(writes >= 2, "the recovery and the note are two writes");
            return;
        }
        let second = functions.reap(event).await.unwrap();

        assert!(
            second["ignored"].is_null(),
            "cut off after {writes}: {second}"
        );
        assert!(
            functions.holders("nightly").await.is_empty(),
            "cut off after {writes}"
        );
        let run = functions.run_of(&grant).unwrap();
        assert_eq!(run.outcome(), Some(RunOutcome::Recovered));
        assert_eq!(run.task.unwrap().version, 2, "cut off after {writes}");
    }
}

#[tokio::test]
async fn an_acquire_that_was_cut_off_is_done_by_the_next_try() {
    for writes in 0.. {
        let functions = Functions::running(&["a", "b"]);
        functions.granted_with(ask("a")).await;
        functions.end("a", ExecutionEnd::Failed);
        functions.wait(30);

        let table = Faulty::cut_off_after(&functions, writes);
        let first = functions.acquire_on(&table, waiting("b", "token-1")).await;
        if first.is_ok() && writes >= 2 {
            return;
        }
        // The place is one write, the recovery another: without the second the run waits.
        let failed = first.err().map(|error| error.name().as_str());
        assert_eq!(failed, (writes == 0).then_some("Lockstep.Unavailable"));
        functions.acquire(waiting("b", "token-2")).await.unwrap();

        assert_eq!(functions.holders("nightly").await, [execution("b")]);
        assert_eq!(functions.output("token-2").unwrap()["status"], "granted");
        assert!(functions.record("nightly").await.unwrap().queue.is_empty());
    }
}

#[tokio::test]
async fn a_replace_that_was_cut_off_is_done_by_the_next_try() {
    let replace = |token: &str| -> Value {
        ask_with("b", json!({ "overlap": "replace", "taskToken": token }))
    };
    for writes in 0.. {
        let functions = Functions::running(&["a", "b"]);
        let grant = functions.granted_with(ask("a")).await;

        let table = Faulty::cut_off_after(&functions, writes);
        let first = functions.acquire_on(&table, replace("token-1")).await;
        if first.is_ok() {
            return;
        }
        functions.acquire(replace("token-2")).await.unwrap();

        assert_eq!(functions.holders("nightly").await, [execution("b")]);
        assert_eq!(functions.output("token-2").unwrap()["status"], "granted");
        assert_eq!(
            functions.outcome_of(&grant),
            RunOutcome::Replaced,
            "cut off after {writes}"
        );
    }
}
