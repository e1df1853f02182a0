//! acquire-lock meets a holder whose heartbeat is overdue: it gathers evidence, and acts on it.

use crate::functions::Functions;
use crate::scene::{LATE, ask, ask_with, execution, waiting_alone};
use lockstep::contract::EventKind;
use lockstep::domain::{ExecutionEnd, RunOutcome};
use serde_json::json;

#[tokio::test]
async fn a_dead_holder_is_recovered_before_its_lease_is_over_and_the_caller_is_granted() {
    let functions = Functions::running(&["a", "b"]);
    let dead = functions.granted_with(ask("a")).await;
    functions.end("a", ExecutionEnd::TimedOut);
    functions.wait(LATE);

    let answer = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(answer["status"], "granted");
    assert_eq!(answer["takenFrom"], execution("a"));
    assert!(answer["grant"]["token"].as_u64() > dead["token"].as_u64());
    let end = functions.run_of(&dead).unwrap().end.unwrap();
    assert_eq!(end.outcome, RunOutcome::Recovered);
    assert!(end.evidence.unwrap().contains("TIMED_OUT"));
    assert_eq!(functions.metrics.all().last().unwrap()["Recovered"], 1.0);
}

#[tokio::test]
async fn a_holder_whose_heartbeat_is_in_time_is_not_even_asked_about() {
    let functions = Functions::new();
    functions.granted_with(ask("a")).await;
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(20);

    let answer = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(answer["status"], "skipped");
}

#[tokio::test]
async fn a_live_holder_with_a_late_heartbeat_is_left() {
    let functions = Functions::running(&["a", "b"]);
    functions.granted_with(ask("a")).await;
    functions.wait(LATE);
    let before = functions.record("nightly").await;

    let answer = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(answer["status"], "skipped");
    assert_eq!(answer["holder"], execution("a"));
    assert_eq!(functions.record("nightly").await, before);
    assert!(functions.executions.stops().is_empty());
    assert_eq!(functions.events.kinds(), [EventKind::RunSkipped]);
}

#[tokio::test]
async fn a_dead_holder_makes_way_for_overlap_fail_and_for_another_capacity_as_well() {
    for more in [json!({ "overlap": "fail" }), json!({ "permits": 3 })] {
        let functions = Functions::new();
        functions.granted_with(ask("a")).await;
        functions.end("a", ExecutionEnd::Aborted);
        functions.wait(LATE);

        let request = ask_with("b", more.clone());
        let answer = functions.acquire(request).await.unwrap();

        assert_eq!(answer["status"], "granted", "{more}");
    }
}

#[tokio::test]
async fn of_several_holders_only_the_dead_one_loses_its_permit() {
    let functions = Functions::running(&["a", "b", "c"]);
    let of_two = |name| ask_with(name, json!({ "permits": 2 }));
    functions.granted_with(of_two("a")).await;
    functions.wait(1);
    functions.granted_with(of_two("b")).await;
    functions.end("b", ExecutionEnd::Failed);
    functions.wait(LATE);

    let answer = functions.acquire(of_two("c")).await.unwrap();

    assert_eq!(answer["takenFrom"], execution("b"));
    let holders = functions.holders("nightly").await;
    assert_eq!(holders, [execution("a"), execution("c")]);
}

#[tokio::test]
async fn an_acquire_that_arrives_after_its_execution_ended_holds_only_until_somebody_looks() {
    let functions = Functions::new();
    functions.end("a", ExecutionEnd::Aborted);
    functions.granted_with(ask("a")).await;
    functions.wait(LATE);

    let answer = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(answer["takenFrom"], execution("a"));
}

#[tokio::test]
async fn an_execution_that_began_so_recently_that_it_is_not_known_is_left() {
    let functions = Functions::new();
    functions.granted_with(ask("a")).await;
    functions.wait(LATE);

    let answer = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(answer["status"], "skipped");
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
}

#[tokio::test]
async fn a_queue_that_a_dead_holder_had_filled_takes_the_caller() {
    let functions = Functions::running(&["a", "b", "c"]);
    functions.granted_with(ask("a")).await;
    let first = waiting_alone("b", "token-b");
    functions.acquire(first).await.unwrap();
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(LATE);

    let second = waiting_alone("c", "token-c");
    let answer = functions.acquire(second).await.unwrap();

    assert_eq!(answer["status"], "queued");
    assert_eq!(answer["holder"], execution("b"));
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
}
