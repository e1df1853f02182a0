//! What happens to a hand-over: the waiter confirms it, is passed over, or is woken once more.

use crate::functions::{Functions, task_token};
use crate::queue::two_wait;
use crate::scene::{arn, assert_has, assert_says, bus_event, execution, merged, waiting};
use lockstep::contract::EventKind;
use lockstep::domain::ExecutionEnd;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

#[tokio::test]
async fn a_waiter_that_registers_again_keeps_its_place_under_its_new_token() {
    let (functions, grant) = two_wait().await;

    let again = functions.acquire(waiting("b", "token-b2")).await.unwrap();
    functions.succeed(&grant).await;

    assert_has(&again, json!({ "position": 1, "queueLength": 2 }));
    assert_eq!(functions.output("token-b"), None);
    assert_eq!(functions.output("token-b2").unwrap()["status"], "granted");
}

/// The execution may have been redriven in the last 30 s. DescribeExecution may not show that yet.
#[tokio::test]
async fn a_waiter_is_passed_over_30_s_after_its_execution_ended() {
    for (ended_for, first) in [(30, "c"), (29, "b")] {
        let (functions, grant) = two_wait().await;
        functions.end("b", ExecutionEnd::Aborted);
        functions.executions.close(&task_token("token-b"));
        functions.wait(ended_for);

        functions.succeed(&grant).await;
        let holders = functions.holders("nightly").await;
        assert_eq!(holders, [execution(first)], "{ended_for} s");
        if first == "c" {
            let event = functions.event(EventKind::RunRecovered);
            assert_eq!(event.holder.unwrap().as_str(), execution("b"));
            assert_says(&event.reason, "ABORTED before the hand-over");
        }
        functions.reap_end("b", "ABORTED").await;

        assert_eq!(functions.holders("nightly").await, [execution("c")]);
        assert_eq!(functions.output("token-c").unwrap()["status"], "granted");
    }
}

/// DescribeExecution still shows the end from before the redrive. A user's own workflow sends no
/// `redriveCount`, but it registers again.
#[tokio::test]
async fn a_redriven_waiter_is_not_passed_over_because_of_its_old_end() {
    for (redrives, ended_for) in [(1, 0), (0, 60)] {
        let (functions, grant) = two_wait().await;
        functions.end("b", ExecutionEnd::Aborted);
        functions.wait(ended_for);
        let mut again = waiting("b", "token-b2");
        again["redriveCount"] = redrives.into();
        functions.acquire(again).await.unwrap();
        functions.executions.close(&task_token("token-b2"));
        if redrives > 0 {
            functions.reap_end("b", "ABORTED").await;
        }

        functions.succeed(&grant).await;
        functions.sweep().await;

        let holders = functions.holders("nightly").await;
        assert_eq!(holders, [execution("b")], "redrives: {redrives}");
    }
}

#[tokio::test]
async fn a_waiter_whose_state_timed_out_keeps_its_turn() {
    let (functions, grant) = two_wait().await;
    functions.executions.close(&task_token("token-b"));
    functions.succeed(&grant).await;
    assert_eq!(functions.holders("nightly").await, [execution("b")]);

    let answer = functions.acquire(waiting("b", "token-b2")).await.unwrap();

    assert_eq!(answer["status"], "alreadyHeld");
    assert_eq!(functions.output("token-b2"), Some(answer));
}

#[tokio::test]
async fn a_second_release_wakes_the_waiter_that_the_first_could_not_wake() {
    let (functions, grant) = two_wait().await;
    functions.lose_next(ExecutionsCall::EndState);

    let first = functions.succeed(&grant).await;
    let woken_before = functions.output("token-b");
    let second = functions.succeed(&grant).await;

    assert_eq!(first["alreadyReleased"], false);
    assert_eq!(woken_before, None);
    assert_eq!(second["alreadyReleased"], true);
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
}

#[tokio::test]
async fn the_reaper_wakes_a_waiter_after_a_hand_over_by_a_container() {
    let (functions, grant) = two_wait().await;
    functions.executions.set_inside(true);

    functions.succeed(&grant).await;
    let event = functions.event(EventKind::PermitHandedOver);
    let woken_before = functions.output("token-b");
    functions.executions.set_inside(false);
    let report = functions.reap(bus_event(&event)).await.unwrap();

    assert_eq!(report["locks"], 1);
    assert_eq!(event.holder.unwrap().as_str(), execution("b"));
    assert_eq!(woken_before, None);
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
}

/// Returns the term of a run that waits for at most 30 s.
fn impatient() -> Value {
    json!({ "waitUntil": "2026-03-01T06:00:30Z" })
}

/// Returns the run key of `a` as a term.
fn tick() -> Value {
    json!({ "runKey": "tick-1" })
}

/// Returns the functions with `a` as the holder and `b` in the queue on the terms of `more`, and the grant of
/// `a`. `a` has the run key of [`tick`], and came out of the queue. `b` has waited for 40 s. All task tokens
/// are sealed.
async fn waits_too_long(more: &Value) -> (Functions, Value) {
    let (functions, before) = Functions::held(&["z", "a", "b"]).await;
    functions.executions.seal_tokens();
    let a = merged(waiting("a", "token-a"), &tick());
    for ask in [a.clone(), merged(waiting("b", "token-b"), more)] {
        assert_eq!(functions.status(ask).await, "queued");
    }
    functions.succeed(&before).await;
    let grant = functions.acquire(a).await.unwrap()["grant"].clone();
    functions.wait(40);
    (functions, grant)
}

/// Releases `grant` with success from inside a container, which cannot end the waiting states of other runs.
async fn succeed_inside(functions: &Functions, grant: &Value) {
    functions.executions.set_inside(true);
    functions.succeed(grant).await;
    functions.executions.set_inside(false);
}

#[tokio::test]
async fn the_reaper_answers_a_waiter_that_a_container_sent_away() {
    for (more, status) in [
        (impatient(), "gaveUp"),
        (merged(impatient(), &tick()), "gaveUp"),
        (tick(), "duplicate"),
    ] {
        let (functions, first) = waits_too_long(&more).await;

        succeed_inside(&functions, &first).await;
        let event = functions.event(EventKind::WaiterSentAway);
        let report = functions.reap(bus_event(&event)).await.unwrap();

        assert_eq!(report["locks"], 1);
        assert_eq!(functions.output("token-b").unwrap()["status"], status);
    }
}

/// The event is not published again. The waiting state times out, and the workflow registers again.
#[tokio::test]
async fn a_waiter_whose_event_is_lost_gets_the_answer_when_it_registers_again() {
    for (more, is_held_again, status) in [
        (impatient(), false, "granted"),
        (impatient(), true, "gaveUp"),
        (tick(), false, "duplicate"),
    ] {
        let (functions, first) = waits_too_long(&more).await;
        succeed_inside(&functions, &first).await;
        if is_held_again {
            functions.granted("nightly", "other").await;
        }

        let again = merged(waiting("b", "token-b2"), &more);
        assert_eq!(functions.status(again).await, status);

        assert_eq!(functions.output("token-b2").unwrap()["status"], status);
    }
}

/// The reaper takes the event as a hint, and reads the table before it ends a state.
#[tokio::test]
async fn the_reaper_ignores_an_old_event_of_a_waiter_that_came_back() {
    for holds in [false, true] {
        let (functions, first) = waits_too_long(&impatient()).await;
        succeed_inside(&functions, &first).await;
        let event = functions.event(EventKind::WaiterSentAway);
        let mut others = vec![functions.granted("nightly", "other").await];
        functions.acquire(waiting("b", "token-b2")).await.unwrap();
        if holds {
            functions.succeed(&others.remove(0)).await;
        }

        let report = functions.reap(bus_event(&event)).await.unwrap();

        let why = report["ignored"].as_str().unwrap_or_default();
        assert!(why.contains("waits again, or holds"), "{holds}: {report}");
        assert_eq!(functions.output("token-b"), None, "{holds}");
    }
}

/// The function ends the waiting state itself, so the reaper needs no event.
#[tokio::test]
async fn a_function_that_sends_a_waiter_away_publishes_no_event_for_it() {
    let (functions, first) = waits_too_long(&impatient()).await;

    functions.succeed(&first).await;

    assert_eq!(functions.output("token-b").unwrap()["status"], "gaveUp");
    assert!(!functions.has_published(EventKind::WaiterSentAway));
}

/// When the rest of the lock is over, any waiter that asks again starts the hand-over to the first one.
#[tokio::test]
async fn a_waiter_that_asks_again_after_a_rest_grants_the_first_waiter() {
    let rests = json!({ "minIntervalSeconds": 60 });
    let (functions, first) = Functions::held_with(&["a", "b", "c"], rests).await;
    functions.succeed(&first).await;
    functions.queue(&["b", "c"]).await;
    functions.wait(61);

    functions.acquire(waiting("c", "token-c2")).await.unwrap();

    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    assert_eq!(functions.holders("nightly").await, [execution("b")]);
}

#[tokio::test]
async fn a_waiter_that_confirmed_its_grant_is_not_woken_again() {
    let (functions, grant) = two_wait().await;
    functions.succeed(&grant).await;
    let second = functions.output("token-b").unwrap()["grant"].clone();
    functions.beat(&second, "beat-b").await;

    functions.succeed(&grant).await;

    assert_eq!(functions.executions.ended().len(), 1);
    assert_eq!(functions.holders("nightly").await, [execution("b")]);
}

#[tokio::test]
async fn a_waiter_without_evidence_keeps_its_turn_until_its_lease_ends() {
    for throttled in [false, true] {
        let (functions, grant) = two_wait().await;
        functions.executions.close(&task_token("token-b"));
        functions.executions.forget(&arn("b"));
        if throttled {
            functions.lose_next(ExecutionsCall::Describe);
        }

        functions.succeed(&grant).await;
        let at_first = functions.holders("nightly").await;
        functions.wait(62);
        functions.sweep().await;

        assert_eq!(at_first, [execution("b")], "throttled: {throttled}");
        assert_eq!(functions.holders("nightly").await, [execution("c")]);
    }
}

#[tokio::test]
async fn the_sweep_passes_over_the_dead_waiters_that_a_release_left() {
    let (functions, grant) = Functions::held(&["a", "alive"]).await;
    for number in 0..90 {
        let name = format!("dead-{number}");
        functions.queue(&[&name]).await;
        functions.end(&name, ExecutionEnd::Aborted);
        let token = task_token(&format!("token-{name}"));
        functions.executions.close(&token);
    }
    functions.queue(&["alive"]).await;
    functions.wait(30);

    functions.succeed(&grant).await;
    let at_first = functions.output("token-alive");
    functions.wait(62);
    functions.sweep().await;

    assert_eq!(at_first, None);
    let answer = functions.output("token-alive").unwrap();
    assert_eq!(answer["status"], "granted");
    assert_eq!(functions.holders("nightly").await, [execution("alive")]);
}
