//! An invocation that is cut off between two writes. The next one finishes its work.

use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::replace::replacing;
use crate::scene::{execution, task, task_event, waiting};
use lockstep::domain::{ExecutionEnd, RunOutcome};

#[tokio::test]
async fn a_cut_off_event_is_handled_again_on_its_next_delivery() {
    for writes in 0.. {
        let (functions, grant) = Functions::at_work(&["a"]).await;
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

        let case = format!("cut off after {writes}: {second}");
        assert!(second["ignored"].is_null(), "{case}");
        assert!(functions.holders("nightly").await.is_empty(), "{case}");
        let run = functions.run_of(&grant).unwrap();
        assert_eq!(run.outcome(), Some(RunOutcome::Recovered));
        assert_eq!(run.task.unwrap().version, 2, "{case}");
    }
}

#[tokio::test]
async fn a_repeated_acquire_finishes_one_that_was_cut_off() {
    for writes in 0.. {
        let (functions, _) = Functions::held(&["a", "b"]).await;
        functions.end("a", ExecutionEnd::Failed);
        functions.wait(30);

        let table = Faulty::cut_off_after(&functions, writes);
        let first = functions.acquire_on(&table, waiting("b", "token-1")).await;
        if first.is_ok() && writes >= 2 {
            return;
        }
        // The place in the queue is the first write, the recovery the second. If only the second fails, the
        // run waits.
        let failed = first.err().map(|error| error.name().as_str());
        assert_eq!(failed, (writes == 0).then_some("Lockstep.Unavailable"));
        functions.acquire(waiting("b", "token-2")).await.unwrap();

        assert_eq!(functions.holders("nightly").await, [execution("b")]);
        assert_eq!(functions.output("token-2").unwrap()["status"], "granted");
        assert!(functions.record("nightly").await.unwrap().queue.is_empty());
    }
}

#[tokio::test]
async fn a_repeated_replace_finishes_one_that_was_cut_off() {
    for writes in 0.. {
        let (functions, grant) = Functions::held(&["a", "b"]).await;

        let table = Faulty::cut_off_after(&functions, writes);
        let first = functions
            .acquire_on(&table, replacing("b", "token-1"))
            .await;
        if first.is_ok() {
            return;
        }
        functions.acquire(replacing("b", "token-2")).await.unwrap();

        assert_eq!(functions.holders("nightly").await, [execution("b")]);
        assert_eq!(functions.output("token-2").unwrap()["status"], "granted");
        let outcome = functions.outcome_of(&grant);
        assert_eq!(outcome, RunOutcome::Replaced, "cut off after {writes}");
    }
}
