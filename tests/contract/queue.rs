//! The queue: first come, first served. A release sends the grant to the waiting state of the first waiter.

use crate::functions::{Functions, key};
use crate::scene::{ask, ask_with, assert_fails, execution, merged, waiting_alone};
use lockstep::contract::EventKind;
use lockstep::domain::{ExecutionEnd, HolderId, RunOutcome, WaiterId};
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

/// Returns the functions with `a` as the holder and `b` and `c` in the queue, and the grant of `a`. All three
/// executions run.
pub(crate) async fn two_wait() -> (Functions, Value) {
    let (functions, grant) = Functions::held(&["a", "b", "c"]).await;
    functions.queue(&["b", "c"]).await;
    functions.wait(5);
    (functions, grant)
}

#[tokio::test]
async fn a_release_grants_the_first_waiter_in_its_own_write() {
    let (functions, grant) = two_wait().await;
    let before = functions.record("nightly").await.unwrap().version;

    functions.succeed(&grant).await;

    assert_eq!(functions.outcome_of(&grant), RunOutcome::Succeeded);
    let record = functions.record("nightly").await.unwrap();
    assert_eq!((record.version, record.queue.len()), (before + 1, 1));
    let left = functions.store.items(&key("nightly")).waiters;
    assert_eq!(left.len(), 1, "the hand-over deletes the side item");
    assert_eq!(functions.holders("nightly").await, [execution("b")]);
    assert_eq!(functions.output("token-c"), None);
    let pushed = functions.output("token-b").expect("the state was ended");
    assert!(pushed["grant"]["token"].as_u64() > grant["token"].as_u64());
    functions.wait(1);
    let mut asked = functions.acquire(ask("b")).await.unwrap();
    assert_eq!(asked["status"], "alreadyHeld");
    asked["status"] = json!("granted");
    assert_eq!(pushed, asked, "the pushed grant is that of acquire-lock");
}

#[tokio::test]
async fn a_full_queue_refuses_with_queue_full_and_keeps_nothing() {
    let (functions, _) = Functions::held(&["a"]).await;
    let first = waiting_alone("b", "token-b");
    functions.acquire(first).await.unwrap();

    let refused = functions.acquire(waiting_alone("c", "token-c")).await;

    let parts = ["maxQueue 1", &execution("a")];
    assert_fails(refused, "Lockstep.QueueFull", &parts);
    let event = functions.event(EventKind::QueueFull);
    assert_eq!(event.holder.unwrap().as_str(), execution("c"));
    assert_eq!(functions.metrics.all().last().unwrap()["QueueFull"], 1.0);
    let record = functions.record("nightly").await;
    assert_eq!(record.unwrap().queue.len(), 1);
}

#[tokio::test]
async fn a_run_that_skips_a_full_queue_counts_and_is_reported_as_skipped() {
    for mut waits in [
        json!({ "overlap": "queue", "maxQueue": 1 }),
        json!({ "overlap": "queue", "maxQueue": 1, "permits": 2 }),
    ] {
        let (functions, grant) = Functions::held(&["a"]).await;
        functions
            .acquire(waiting_alone("b", "token-b"))
            .await
            .unwrap();
        functions.finish(&grant, "stopping").await;
        waits["whenQueueFull"] = json!("skip");
        waits["taskToken"] = json!("token-c");

        let answer = functions.acquire(ask_with("c", waits)).await.unwrap();

        let message = answer["message"].as_str().unwrap();
        assert!(
            message.contains("the queue is full: 1 waiting, maxQueue 1; held by"),
            "{message}"
        );
        let known = ["status", "holder", "held", "queueLength"].map(|field| answer[field].clone());
        assert_eq!(json!(known), json!(["skipped", execution("a"), 1, 1]));
        assert_eq!(
            answer.get("ending"),
            None,
            "`b` waits before `c`, so the ending holder's permit is not for `c`"
        );
        assert_eq!(
            functions.output("token-c"),
            Some(answer),
            "the waiting state ends with the answer"
        );
        let event = functions.event(EventKind::RunSkipped);
        assert_eq!(event.holder.unwrap().as_str(), execution("c"));
        assert!(functions.has_counted("Skipped") && !functions.has_counted("QueueFull"));
        assert_eq!(functions.record("nightly").await.unwrap().queue.len(), 1);
    }
}

/// The event of the waiter's end was lost, and the sweep checks no waiter of a lock that is held.
#[tokio::test]
async fn a_run_at_a_full_queue_takes_the_place_of_a_dead_waiter() {
    let cases = [
        ("aborted", "queued"),
        ("redriven since", "Lockstep.QueueFull"),
        ("hidden", "Lockstep.QueueFull"),
        ("running", "Lockstep.QueueFull"),
    ];
    for (case, expected) in cases {
        let (functions, _) = Functions::held(&["a", "b", "c"]).await;
        functions
            .acquire(waiting_alone("b", "token-b"))
            .await
            .unwrap();
        functions.wait(5);
        match case {
            "aborted" => functions.end("b", ExecutionEnd::Aborted),
            "redriven since" => {
                functions.end("b", ExecutionEnd::Aborted);
                functions.wait(5);
                let again = merged(waiting_alone("b", "token-2"), &json!({ "redriveCount": 1 }));
                functions.acquire(again).await.unwrap();
            }
            "hidden" => functions.lose_every(ExecutionsCall::Describe),
            _ => {}
        }

        let answer = functions.acquire(waiting_alone("c", "token-c")).await;

        let seen = match &answer {
            Ok(answer) => answer["status"].as_str().unwrap().to_owned(),
            Err(error) => error.name().to_string(),
        };
        assert_eq!(seen, expected, "{case}");
        let queue = functions.record("nightly").await.unwrap().queue;
        let waits = if expected == "queued" { "c" } else { "b" };
        let id = WaiterId::of(&HolderId::new(execution(waits)).unwrap());
        assert!(
            queue.len() == 1 && queue.contains_key(&id),
            "{case}: {queue:?}"
        );
    }
}

/// A call of acquire-lock checks three waiters, and the first of them is another one in each second.
#[tokio::test]
async fn repeated_acquires_find_every_dead_waiter_of_a_long_queue() {
    let names = ["b", "c", "d", "e", "f"];
    for dead in names {
        let (functions, _) = Functions::held(&["a", "b", "c", "d", "e", "f", "g"]).await;
        functions.queue(&names).await;
        functions.wait(5);
        functions.end(dead, ExecutionEnd::Aborted);
        let most = json!({ "maxQueue": names.len() });
        let ask = merged(waiting_alone("g", "token-g"), &most);

        let mut has_place = false;
        for _ in names {
            functions.wait(1);
            has_place |= functions.acquire(ask.clone()).await.is_ok();
        }

        assert!(has_place, "{dead}");
    }
}

#[tokio::test]
async fn a_process_in_a_full_queue_keeps_its_place() {
    let (functions, _) = Functions::held(&["a", "c"]).await;
    let process = json!({ "holder": "process-1", "taskToken": null });
    let process = merged(waiting_alone("b", ""), &process);
    functions.acquire(process).await.unwrap();
    functions.wait(300);

    let refused = functions.acquire(waiting_alone("c", "token-c")).await;

    assert_fails(refused, "Lockstep.QueueFull", &["maxQueue 1"]);
}

#[tokio::test]
async fn when_queue_full_changes_nothing_for_a_run_that_does_not_wait() {
    for overlap in ["skip", "fail"] {
        let (functions, _) = Functions::held(&["a"]).await;
        let mut answers = Vec::new();
        for more in [
            json!({}),
            json!({ "whenQueueFull": "skip" }),
            json!({ "whenQueueFull": "fail" }),
        ] {
            let ask = ask_with("b", merged(json!({ "overlap": overlap }), &more));
            let answer = functions.acquire(ask).await;
            answers.push(answer.map_err(|error| error.to_string()));
        }

        assert_eq!(answers[1], answers[0], "{overlap}");
        assert_eq!(answers[2], answers[0], "{overlap}");
    }
}

/// The request with `mayWait` is the first of the two requests of exclusive-run. It does not wait itself.
#[tokio::test]
async fn a_request_with_may_wait_is_not_refused_for_its_permits() {
    let (functions, _) = Functions::held(&["a"]).await;
    let of_two = |more: Value| ask_with("b", merged(json!({ "permits": 2 }), &more));

    let first = functions.status(of_two(json!({ "mayWait": true }))).await;
    let alone = functions.acquire(of_two(json!({}))).await;

    assert_eq!(first, "skipped");
    assert_fails(alone, "Lockstep.PermitsMismatch", &["permits"]);
}
