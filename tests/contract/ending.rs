//! A retry waits for a holder that is ending.

use crate::faulty::{Behind, Faulty};
use crate::functions::Functions;
use crate::operate::evict;
use crate::scene::{CLUSTER, ask_with, assert_fails, execution, merged, status_of, task};
use lockstep::contract::EventKind;
use lockstep::domain::{Container, ExecutionEnd, RunOutcome, Task};
use serde_json::{Value, json};

pub(crate) fn run_of(name: &str, more: Value) -> Value {
    let work = json!({ "work": { "cluster": CLUSTER, "container": "app" }, "leaseSeconds": 60 });
    ask_with(name, merged(work, &more))
}

/// Returns the term that all attempts of one caller share.
fn parent() -> Value {
    json!({ "parent": execution("caller") })
}

/// Returns the stopped task of a run, whose container exited with `code` by itself.
pub(crate) fn exited(code: i64) -> Task {
    Task {
        ended_by_itself: true,
        containers: vec![Container {
            name: "app".into(),
            runtime_id: None,
            exit_code: Some(code),
            reason: None,
        }],
        started_at: Some(lockstep::domain::Timestamp::from_millis(1)),
        stopped_at: Some(lockstep::domain::Timestamp::from_millis(2)),
        ..task("t", 2, true)
    }
}

/// Returns the functions with `a` as the holder on the terms of `more`, whose task runs, and the grant of
/// `a`. The execution `b` runs too.
async fn working(more: &Value) -> (Functions, Value) {
    let functions = Functions::running(&["a", "b"]);
    let grant = functions.granted_with(run_of("a", more.clone())).await;
    functions.put_task("a", task("t", 1, false));
    (functions, grant)
}

/// Returns the functions with these executions, of which `a` has lost its permit under `yield`. Its run key is `tick`,
/// and its task runs on.
pub(crate) async fn yielded(names: &[&str]) -> Functions {
    let functions = Functions::running(names);
    let yields = json!({ "runKey": "tick", "stalePolicy": "yield" });
    functions.granted_with(run_of("a", yields)).await;
    functions.put_task("a", task("t", 1, false));
    functions.silent_for_long(60).await;
    functions.sweep().await;
    assert!(functions.holders("nightly").await.is_empty());
    functions
}

#[tokio::test]
async fn a_run_that_meets_its_own_dying_predecessor_learns_that_it_is_ending() {
    for same in [parent(), json!({ "runKey": "tick" })] {
        let (functions, _) = working(&same).await;
        functions.end("a", ExecutionEnd::Aborted);
        functions.wait(1);

        for request in [run_of("b", same.clone()), run_of("c", json!({}))] {
            let answer = functions.acquire(request).await.unwrap();

            assert_eq!(answer["status"], "skipped", "{same}");
            assert_eq!(answer["ending"], true, "{same}: {answer}");
        }
        assert_eq!(functions.holders("nightly").await, [execution("a")]);
        assert!(
            !functions.tasks.stops().is_empty(),
            "the task of `a` is stopped"
        );
    }
}

#[tokio::test]
async fn an_acquire_waits_only_for_an_earlier_attempt_and_at_most_3_s() {
    let (key, none) = (json!({ "runKey": "tick" }), json!({}));
    // Columns:
    // - the terms of both runs,
    // - whether the later run sets `waitForEnding`,
    // - for how many seconds the earlier run has been silent,
    // - how many calls of DescribeExecution still show the earlier run as running,
    // - how many seconds the answer takes,
    // - whether the answer says that the earlier run is ending.
    let cases = [
        (parent(), true, 0, 1, 1, true),
        (parent(), true, 0, 3, 3, true),
        (parent(), true, 0, 4, 3, false),
        (parent(), true, 0, 9, 3, false),
        (parent(), false, 0, 9, 0, false),
        (key, true, 0, 2, 2, true),
        (none.clone(), true, 0, 1, 0, false),
        (none.clone(), true, 0, 9, 0, false),
        (none.clone(), true, 40, 9, 0, false),
        (none, false, 40, 9, 0, false),
    ];
    for (same, waits, silent, calls, seconds, learns) in cases {
        let (functions, _) = working(&same).await;
        functions.end_late("a", ExecutionEnd::Aborted, calls);
        functions.wait(silent);
        let before = functions.now();

        let ask = merged(
            run_of("b", same.clone()),
            &json!({ "waitForEnding": waits }),
        );
        let answer = functions.acquire(ask).await.unwrap();

        let took = functions.now().millis_since(before) / 1000;
        let seen = (took, answer["ending"] == true);
        let case = format!("{same}, {waits}, {silent}, {calls}: {answer}");
        assert_eq!(seen, (seconds, learns), "{case}");
    }
}

/// The earlier run fails while the call waits for its end. The answer `duplicate` would drop the tick,
/// although no run has done the work.
#[tokio::test]
async fn an_acquire_that_has_waited_decides_on_the_newer_record() {
    let same = json!({ "runKey": "tick" });
    let (functions, grant) = working(&same).await;
    let table = Faulty::behind_a_read(&functions, grant, Behind::Failed);
    let ask = merged(run_of("b", same), &json!({ "waitForEnding": true }));

    let answer = functions.acquire_on(&table, ask).await.unwrap();

    assert_eq!(answer["status"], "granted", "{answer}");
}

/// The lease was renewed after the end of the execution. The heartbeat may have been under way at that time,
/// or belong to a redrive that DescribeExecution does not show yet.
#[tokio::test]
async fn a_retry_is_not_skipped_while_the_end_of_its_predecessor_is_in_doubt() {
    for same in [parent(), json!({ "runKey": "tick" })] {
        let (functions, grant) = working(&same).await;
        functions.end("a", ExecutionEnd::Aborted);
        functions.wait(1);
        functions.beat(&grant, "token-a").await;
        let ask = merged(run_of("b", same.clone()), &json!({ "waitForEnding": true }));

        let early = functions.acquire(ask.clone()).await;
        let own = functions.acquire(run_of("b", same.clone())).await;
        functions.wait(31);
        let late = functions.acquire(ask).await.unwrap();

        assert_ne!(
            status_of(&own),
            "Lockstep.Unavailable",
            "without `waitForEnding`"
        );
        assert_fails(early, "Lockstep.Unavailable", &["a retry is safe"]);
        assert_eq!(late["ending"], true, "{same}: {late}");
    }
}

/// The run in the queue may be an attempt in between that has died.
#[tokio::test]
async fn a_retry_learns_of_its_ending_predecessor_despite_a_queue() {
    for same in [parent(), json!({ "runKey": "tick" })] {
        let (functions, _) = working(&same).await;
        functions.end("a", ExecutionEnd::Aborted);
        functions.wait(1);
        let wait = json!({ "overlap": "queue", "taskToken": "token-c" });
        let queued = functions.acquire(run_of("c", merged(same.clone(), &wait)));
        assert_eq!(queued.await.unwrap()["status"], "queued", "{same}");
        let retry = merged(run_of("b", same.clone()), &json!({ "waitForEnding": true }));

        let answer = functions.acquire(retry).await.unwrap();

        assert_eq!(answer["ending"], true, "{same}: {answer}");
        assert!(
            !functions.has_counted("Skipped"),
            "a retry that waits is no skip"
        );
    }
}

/// The earlier attempt has ended, so the retry does not wait for it.
#[tokio::test]
async fn a_retry_after_the_end_of_its_predecessor_may_be_skipped() {
    let rest = json!({ "minIntervalSeconds": 600 });
    // Columns: the terms of the earlier attempt, whether another run came between, and what the message says.
    for (more, comes_between, says) in [
        (json!({}), true, "is held by"),
        (rest, false, "rests until"),
    ] {
        let functions = Functions::running(&["a", "b", "c"]);
        let terms = merged(parent(), &more);
        let grant = functions.granted_with(run_of("a", terms.clone())).await;
        functions.finish(&grant, "failed").await;
        if comes_between {
            functions.granted_with(run_of("c", json!({}))).await;
        }
        let retry = merged(run_of("b", terms), &json!({ "waitForEnding": true }));

        let answer = functions.acquire(retry).await.unwrap();

        assert_eq!(answer["status"], "skipped", "{says}: {answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
    }
}

#[tokio::test]
async fn an_answer_says_ending_only_if_no_waiter_gets_the_permit() {
    let (functions, grant) = working(&json!({})).await;
    functions.finish(&grant, "stopping").await;
    let wait = json!({ "overlap": "queue", "taskToken": "token-b" });
    functions.acquire(run_of("b", wait)).await.unwrap();

    let answer = functions.acquire(run_of("c", json!({}))).await.unwrap();

    assert_eq!(answer["status"], "skipped");
    assert_eq!(
        answer.get("ending"),
        None,
        "`b` gets the permit that becomes free"
    );
}

#[tokio::test]
async fn a_run_that_reports_stopping_keeps_its_permit_until_it_stopped() {
    let (functions, grant) = working(&json!({})).await;

    let first = functions.finish(&grant, "stopping").await;
    let early = functions.acquire(run_of("b", json!({}))).await.unwrap();
    functions.put_task("a", task("t", 2, true));
    let late = functions.status(run_of("b", json!({}))).await;
    let again = functions.finish(&grant, "stopping").await;

    assert_eq!(first["status"], "ending");
    assert_eq!(again["status"], "lost");
    assert_eq!(early["ending"], true);
    assert_eq!(late, "granted");
}

#[tokio::test]
async fn a_run_whose_container_exited_with_zero_before_its_abort_has_succeeded() {
    let functions = Functions::new();
    let key = json!({ "runKey": "tick" });
    let grant = functions.granted_with(run_of("a", key.clone())).await;
    functions.put_task("a", exited(0));
    functions.end("a", ExecutionEnd::Aborted);

    assert_eq!(functions.status(run_of("b", key)).await, "duplicate");
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Succeeded);
}

#[tokio::test]
async fn an_acquire_of_its_key_settles_a_run_that_yielded() {
    for (code, status) in [(0, "duplicate"), (1, "granted")] {
        let yields = json!({ "runKey": "tick", "stalePolicy": "yield" });
        let (functions, _) = working(&yields).await;
        functions.silent_for_long(60).await;
        functions.sweep().await;
        let key = json!({ "runKey": "tick" });

        let early = functions.status(run_of("b", key.clone())).await;
        functions.put_task("a", exited(code));
        functions.end("a", ExecutionEnd::Aborted);
        let late = functions.status(run_of("b", key)).await;

        assert_eq!([early, late], ["duplicate", status], "exit code {code}");
    }
}

/// The answer `duplicate` would end the caller's retry without a run.
#[tokio::test]
async fn a_retry_of_a_key_waits_while_the_yielded_work_is_being_stopped() {
    let yields = json!({ "runKey": "tick", "stalePolicy": "yield" });
    let (functions, _) = working(&yields).await;
    functions.silent_for_long(60).await;
    functions.sweep().await;
    let next = json!({ "runKey": "tick", "waitForEnding": true });

    let began = functions.now();
    let at_work = functions.status(run_of("b", next.clone())).await;
    let waited = functions.now();
    let own = functions
        .status(run_of("c", json!({ "runKey": "tick" })))
        .await;
    functions.end("a", ExecutionEnd::Aborted);
    let stopping = functions.acquire(run_of("b", next.clone())).await;
    functions.put_task("a", exited(1));
    let over = functions.status(run_of("b", next)).await;

    assert_eq!(
        waited.millis_since(began),
        3000,
        "for an end that shows late"
    );
    assert_eq!(functions.now(), waited, "no other answer is waited for");

    assert_eq!(at_work, "duplicate");
    assert_fails(stopping, "Lockstep.Unavailable", &["a retry is safe"]);
    assert_eq!(own, "duplicate", "without `waitForEnding`");
    assert_eq!(over, "granted");
}

/// The check that lets the run yield sees its execution run. The next look at it sees its end.
#[tokio::test]
async fn a_retry_under_which_a_run_yields_is_answered_by_the_work_of_that_run() {
    for (task, status) in [
        (task("t", 1, false), "Lockstep.Unavailable"),
        (exited(1), "granted"),
        (exited(0), "duplicate"),
    ] {
        let yields = json!({ "runKey": "tick", "stalePolicy": "yield" });
        let (functions, _) = working(&yields).await;
        functions.silent_for_long(60).await;
        functions.put_task("a", task);
        functions.end_late("a", ExecutionEnd::Aborted, 1);

        let next = json!({ "runKey": "tick", "waitForEnding": true });
        assert_eq!(functions.status(run_of("b", next)).await, status);
    }
}

#[tokio::test]
async fn an_earlier_attempt_whose_check_failed_is_checked_again() {
    // The first write is that of the request, which is refused. The second is the write of the check.
    for write in [2, u32::MAX] {
        let functions = Functions::running(&["a", "b"]);
        functions.granted_with(run_of("a", parent())).await;
        functions.end("a", ExecutionEnd::Aborted);
        functions.wait(120);
        let ask = merged(run_of("b", parent()), &json!({ "waitForEnding": true }));
        let table = Faulty::failing(&functions, write);

        let answer = functions.acquire_on(table, ask).await.unwrap();

        assert_eq!(answer["status"], "granted", "write {write}");
        assert_eq!(functions.holders("nightly").await, [execution("b")]);
    }
}

#[tokio::test]
async fn a_run_that_goes_on_to_wait_for_an_ending_is_not_counted_skipped() {
    // Columns: whether the holder is ending, whether the run sets `waitForEnding`, and whether it counts as
    // skipped.
    let cases = [
        (true, true, false),
        (true, false, true),
        (false, true, true),
        (false, false, true),
    ];
    for (ending, waits, skipped) in cases {
        let (functions, grant) = working(&json!({})).await;
        if ending {
            functions.finish(&grant, "stopping").await;
        }
        let ask = run_of("b", json!({ "waitForEnding": waits }));

        assert_eq!(functions.status(ask).await, "skipped");
        let is_published = functions.has_published(EventKind::RunSkipped);
        let seen = (is_published, functions.has_counted("Skipped"));
        assert_eq!(seen, (skipped, skipped), "{ending}, {waits}");
    }
}

#[tokio::test]
async fn an_eviction_frees_no_permit_while_the_work_may_be_stopping() {
    let states = json!({ "work": { "states": true } });
    let (functions, _) = Functions::held_with(&["a", "b"], states).await;
    functions.queue(&["b"]).await;
    functions.end("a", ExecutionEnd::Aborted);

    for (status, woken) in [("stopping", None), ("evicted", Some("granted"))] {
        let answer = functions.operate(evict("a")).await;
        assert_eq!(status_of(&answer), status);
        let output = functions.output("token-b");
        let output = output
            .as_ref()
            .map(|output| output["status"].as_str().unwrap());
        assert_eq!(output, woken, "{status}");
    }
}

#[tokio::test]
async fn a_run_key_stays_taken_when_the_run_whose_work_succeeded_is_evicted() {
    let functions = Functions::running(&["a", "b"]);
    let key = json!({ "runKey": "monday" });
    let grant = functions.granted_with(run_of("a", key.clone())).await;
    functions.put_task("a", exited(0));
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(90);

    let evicted = functions.operate(evict("a")).await;

    assert_eq!(status_of(&evicted), "evicted");
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Succeeded);
    assert_eq!(functions.status(run_of("b", key)).await, "duplicate");
}
