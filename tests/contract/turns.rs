//! What becomes of a turn: taken up, passed over, or pushed once more.

use crate::functions::{Functions, task_token};
use crate::queue::two_wait;
use crate::scene::{arn, ask, ask_with, assert_says, bus_event, execution, merged, waiting};
use lockstep::contract::EventKind;
use lockstep::domain::ExecutionEnd;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

#[tokio::test]
async fn a_waiter_that_registers_again_keeps_its_place_and_is_woken_by_its_new_token() {
    let (functions, grant) = two_wait().await;

    let again = functions.acquire(waiting("b", "token-b2")).await.unwrap();
    functions.succeed(&grant).await;

    assert_eq!(again["position"], 1);
    assert_eq!(again["queueLength"], 2);
    assert_eq!(functions.output("token-b"), None);
    assert_eq!(functions.output("token-b2").unwrap()["status"], "granted");
}

#[tokio::test]
async fn a_waiter_whose_execution_ended_is_passed_over() {
    let (functions, grant) = two_wait().await;
    functions.end("b", ExecutionEnd::Aborted);
    functions.executions.close(&task_token("token-b"));
    functions.wait(30);

    functions.succeed(&grant).await;

    assert_eq!(functions.holders("nightly").await, [execution("c")]);
    assert_eq!(functions.output("token-c").unwrap()["status"], "granted");
    let event = functions.event(EventKind::RunRecovered);
    assert_eq!(event.holder.unwrap().as_str(), execution("b"));
    assert_says(&event.reason, "ABORTED before the hand-over");
}

/// It may have been redriven since, which DescribeExecution does not show yet.
#[tokio::test]
async fn a_waiter_whose_execution_ended_a_moment_ago_keeps_its_turn_until_its_event() {
    let (functions, grant) = two_wait().await;
    functions.end("b", ExecutionEnd::Aborted);
    functions.executions.close(&task_token("token-b"));
    functions.wait(29);

    functions.succeed(&grant).await;
    assert_eq!(functions.holders("nightly").await, [execution("b")]);
    functions.reap_end("b", "ABORTED").await;

    assert_eq!(functions.holders("nightly").await, [execution("c")]);
}

/// DescribeExecution still shows the end from before the redrive.
#[tokio::test]
async fn a_waiter_that_has_reported_its_redrive_is_not_passed_over_for_the_end_before() {
    let (functions, grant) = two_wait().await;
    functions.end("b", ExecutionEnd::Aborted);
    let mut again = waiting("b", "token-b2");
    again["redriveCount"] = 1.into();
    functions.acquire(again).await.unwrap();
    functions.executions.close(&task_token("token-b2"));
    functions.reap_end("b", "ABORTED").await;

    functions.succeed(&grant).await;
    functions.sweep().await;

    assert_eq!(functions.holders("nightly").await, [execution("b")]);
}

/// As above, where no redrive is reported: a workflow of the user's own does not count them.
#[tokio::test]
async fn a_waiter_that_has_registered_again_is_not_passed_over_for_the_end_before() {
    let (functions, grant) = two_wait().await;
    functions.end("b", ExecutionEnd::Aborted);
    functions.wait(60);
    functions.acquire(waiting("b", "token-b2")).await.unwrap();
    functions.executions.close(&task_token("token-b2"));

    functions.succeed(&grant).await;

    assert_eq!(functions.holders("nightly").await, [execution("b")]);
}

#[tokio::test]
async fn a_waiter_whose_state_timed_out_keeps_its_turn_and_ends_its_next_state_itself() {
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
async fn a_waiter_that_a_container_lets_in_is_woken_by_the_reaper() {
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

/// `b` waits half a minute at most.
fn impatient() -> Value {
    let until = json!({ "waitUntil": "2026-03-01T06:00:30Z" });
    merged(waiting("b", "token-b"), &until)
}

/// The run of `grant` succeeds in a container, which cannot end the states of others.
async fn succeed_inside(functions: &Functions, grant: &Value) {
    functions.executions.set_inside(true);
    functions.succeed(grant).await;
    functions.executions.set_inside(false);
}

#[tokio::test]
async fn a_waiter_that_a_container_sends_away_is_answered_by_the_reaper() {
    let until = "2026-03-01T06:00:30Z";
    for (more, status) in [
        (json!({ "waitUntil": until }), "gaveUp"),
        (json!({ "waitUntil": until, "runKey": "tick-1" }), "gaveUp"),
        (json!({ "runKey": "tick-1" }), "duplicate"),
    ] {
        let functions = Functions::new();
        let keyed = json!({ "runKey": "tick-1" });
        let first = functions.granted_with(ask_with("a", keyed)).await;
        functions.executions.seal_tokens();
        let ask = merged(waiting("b", "token-b"), &more);
        functions.acquire(ask).await.unwrap();
        functions.wait(40);

        succeed_inside(&functions, &first).await;
        let event = functions.event(EventKind::WaiterSentAway);
        let report = functions.reap(bus_event(&event)).await.unwrap();

        assert_eq!(report["locks"], 1);
        assert_eq!(functions.output("token-b").unwrap()["status"], status);
    }
}

/// The event is not published again. The attempt of the waiting state times out, and the workflow
/// registers again.
#[tokio::test]
async fn a_waiter_whose_event_is_lost_gets_the_answer_when_it_registers_again() {
    let until = "2026-03-01T06:00:30Z";
    for (more, is_held_again, status) in [
        (json!({ "waitUntil": until }), false, "granted"),
        (json!({ "waitUntil": until }), true, "gaveUp"),
        (json!({ "runKey": "tick-1" }), false, "duplicate"),
    ] {
        let functions = Functions::new();
        let keyed = json!({ "runKey": "tick-1" });
        let first = functions.granted_with(ask_with("a", keyed)).await;
        functions.executions.seal_tokens();
        let attempt = |token| functions.acquire(merged(waiting("b", token), &more));
        attempt("token-b1").await.unwrap();
        functions.wait(40);
        succeed_inside(&functions, &first).await;
        if is_held_again {
            functions.granted("nightly", "other").await;
        }

        let answer = attempt("token-b2").await.unwrap();

        assert_eq!(answer["status"], status);
        assert_eq!(functions.output("token-b2").unwrap()["status"], status);
    }
}

/// The reaper takes the event for what it is: a hint.
#[tokio::test]
async fn a_waiter_that_was_sent_away_and_has_come_back_is_left_alone() {
    for holds in [false, true] {
        let functions = Functions::new();
        functions.executions.seal_tokens();
        let first = functions.granted_with(ask("a")).await;
        functions.acquire(impatient()).await.unwrap();
        functions.wait(40);
        succeed_inside(&functions, &first).await;
        let event = functions.event(EventKind::WaiterSentAway);
        let mut others = vec![functions.granted("nightly", "other").await];
        functions.acquire(waiting("b", "token-b2")).await.unwrap();
        if holds {
            functions.succeed(&others.remove(0)).await;
        }

        let report = functions.reap(bus_event(&event)).await.unwrap();

        let why = report["ignored"].as_str().unwrap_or_default();
        assert!(why.contains("waits, or holds"), "{holds}: {report}");
        assert_eq!(functions.output("token-b"), None, "{holds}");
    }
}

/// No event asks the reaper for what is done.
#[tokio::test]
async fn a_waiter_that_a_function_sends_away_needs_no_event_for_that() {
    let functions = Functions::new();
    functions.executions.seal_tokens();
    let first = functions.granted_with(ask("a")).await;
    functions.acquire(impatient()).await.unwrap();
    functions.wait(40);

    functions.succeed(&first).await;

    assert_eq!(functions.output("token-b").unwrap()["status"], "gaveUp");
    let kinds = functions.events.kinds();
    assert!(!kinds.contains(&EventKind::WaiterSentAway), "{kinds:?}");
}

/// After the rest of the lock, any that asks again lets the first in.
#[tokio::test]
async fn a_waiter_that_asks_again_lets_the_first_in() {
    let functions = Functions::running(&["a", "b", "c"]);
    let more = json!({ "minIntervalSeconds": 60 });
    let first = functions.granted_with(ask_with("a", more)).await;
    functions.succeed(&first).await;
    functions.acquire(waiting("b", "token-b")).await.unwrap();
    functions.acquire(waiting("c", "token-c")).await.unwrap();
    functions.wait(61);

    functions.acquire(waiting("c", "token-c2")).await.unwrap();

    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    assert_eq!(functions.holders("nightly").await, [execution("b")]);
}

#[tokio::test]
async fn a_waiter_that_took_its_turn_up_is_not_woken_again() {
    let (functions, grant) = two_wait().await;
    functions.succeed(&grant).await;
    let second = functions.output("token-b").unwrap()["grant"].clone();
    functions.beat(&second, "beat-b").await;

    functions.succeed(&grant).await;

    assert_eq!(functions.executions.ended().len(), 1);
    assert_eq!(functions.holders("nightly").await, [execution("b")]);
}

#[tokio::test]
async fn a_waiter_that_is_not_known_or_cannot_be_asked_keeps_its_turn_for_its_lease() {
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
async fn more_dead_waiters_than_one_call_passes_over_are_passed_over_by_the_sweep() {
    let functions = Functions::running(&["a", "alive"]);
    let grant = functions.granted_with(ask("a")).await;
    for number in 0..90 {
        let (name, token) = (format!("dead-{number}"), format!("token-{number}"));
        let answer = functions.acquire(waiting(&name, &token)).await.unwrap();
        assert_eq!(answer["status"], "queued");
        functions.end(&name, ExecutionEnd::Aborted);
        functions.executions.close(&task_token(&token));
    }
    let alive = waiting("alive", "token-alive");
    functions.acquire(alive).await.unwrap();
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
