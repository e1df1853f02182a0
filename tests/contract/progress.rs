//! Runs that hang or overran although their heartbeat comes, under the policy `terminate`.

use crate::scene::{assert_says, execution};
use crate::stale::{beat, held};
use lockstep::contract::EventKind;
use serde_json::json;

#[tokio::test]
async fn a_run_that_makes_progress_is_renewed() {
    let (functions, grant) = held("terminate").await;

    for step in ["1 of 3", "2 of 3", "3 of 3"] {
        functions.wait(20);

        let answer = beat(&functions, &grant, step).await.unwrap();

        assert_eq!(answer["status"], "renewed", "{step}");
    }
}

#[tokio::test]
async fn the_same_words_again_are_no_progress() {
    let (functions, grant) = held("terminate").await;
    functions.wait(20);
    beat(&functions, &grant, "1 of 3").await.unwrap();
    functions.wait(29);
    beat(&functions, &grant, "1 of 3").await.unwrap();
    functions.wait(1);

    let error = beat(&functions, &grant, "1 of 3").await.unwrap_err();

    assert_eq!(error.name().as_str(), "Lockstep.LeaseLost");
    assert_says(error.message(), "noProgressSeconds");
    assert_says(error.message(), "2026-03-01T06:00:50Z");
}

#[tokio::test]
async fn progress_in_the_last_moment_counts() {
    let (functions, grant) = held("terminate").await;
    functions.wait(31);

    let answer = beat(&functions, &grant, "1 of 3").await.unwrap();

    assert_eq!(answer["status"], "renewed");
}

#[tokio::test]
async fn terminate_fails_the_heartbeat_and_leaves_the_permit_to_the_workflows_own_release() {
    let (functions, grant) = held("terminate").await;
    functions.wait(31);

    let plain = json!({ "grant": grant });
    let lost = functions.heartbeat(plain).await.unwrap_err();
    let between = functions.holders("nightly").await;
    let released = functions.finish(&grant, "failed").await;

    assert_eq!(lost.name().as_str(), "Lockstep.LeaseLost");
    assert_eq!(between, [execution("a")]);
    assert_eq!(released["status"], "released");
    let event = functions.event(EventKind::LeaseLost);
    assert_says(&event.reason, "noProgressSeconds");
    assert_says(&event.advice, "stops the work");
    let metrics = functions.metrics.all();
    assert!(metrics.iter().any(|line| line["LeaseLost"] == 1.0));
}

#[tokio::test]
async fn a_run_that_overran_is_stale_however_much_progress_it_makes() {
    let (functions, grant) = held("terminate").await;
    for step in 1..5 {
        functions.wait(20);
        beat(&functions, &grant, &step.to_string()).await.unwrap();
    }
    functions.wait(20);

    let error = beat(&functions, &grant, "5").await.unwrap_err();

    assert_eq!(error.name().as_str(), "Lockstep.LeaseLost");
    assert_says(error.message(), "maxRunSeconds");
    assert_says(error.message(), "2026-03-01T06:01:40Z");
}
