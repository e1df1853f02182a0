//! The end of the heartbeat state behind a success: a release is repeated until the call that ends the state is answered.

use crate::functions::Functions;
use crate::scene::{assert_fails, assert_has};
use lockstep::executions::ExecutionsError;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

/// A run with a heartbeat state.
async fn beating() -> (Functions, Value) {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "run-1").await;
    functions.beat(&grant, "AQC-beat").await;
    (functions, grant)
}

/// The request that ends the run of `grant`.
fn end(grant: &Value, outcome: &str) -> Value {
    json!({ "grant": grant, "outcome": outcome })
}

/// The tokens of the states that were ended.
fn ended(functions: &Functions) -> Vec<String> {
    let ended = functions.executions.ended();
    ended
        .iter()
        .map(|token| token.reveal().to_owned())
        .collect()
}

#[tokio::test]
async fn a_success_whose_heartbeat_state_did_not_end_is_released_again() {
    let (functions, grant) = beating().await;

    functions.lose_next(ExecutionsCall::EndState);
    let first = functions.release(end(&grant, "succeeded")).await;
    let free = functions.holders("nightly").await.is_empty();
    let second = functions.succeed(&grant).await;

    assert_fails(first, "Lockstep.Unavailable", &["heartbeat state"]);
    assert!(free, "the permit waits for nothing");
    assert_has(
        &second,
        json!({ "status": "released", "alreadyReleased": true }),
    );
    assert_eq!(ended(&functions), ["AQC-beat"]);
    let lines = functions.metrics.all();
    let released = lines.iter().filter(|line| line["Released"] == 1.0);
    assert_eq!(released.count(), 1, "{lines:?}");
}

#[tokio::test]
async fn a_success_whose_end_of_state_gets_no_answer_in_time_is_released_again() {
    let (functions, grant) = beating().await;

    functions.executions.silence();
    let first = functions.release(end(&grant, "succeeded")).await;
    functions.executions.heal();
    functions.succeed(&grant).await;

    assert_fails(first, "Lockstep.Unavailable", &["heartbeat state"]);
    assert_eq!(ended(&functions), ["AQC-beat"]);
}

#[tokio::test]
async fn only_a_success_waits_for_its_state_and_for_two_minutes_at_most() {
    let refused = || ExecutionsError::Denied("no permission".into());
    let lost = || ExecutionsError::Unavailable("no answer".into());
    for (outcome, error, seconds, fails) in [
        ("succeeded", lost(), 0, true),
        ("succeeded", lost(), 119, true),
        ("succeeded", lost(), 120, false),
        // No repetition helps.
        ("succeeded", refused(), 0, false),
        // The workflow fails, and its heartbeat state with it.
        ("failed", lost(), 0, false),
    ] {
        let (functions, grant) = beating().await;
        functions
            .executions
            .fail_every(ExecutionsCall::EndState, error);

        let mut answer = functions.release(end(&grant, outcome)).await;
        if seconds > 0 {
            functions.wait(seconds);
            answer = functions.release(end(&grant, outcome)).await;
        }

        let case = format!("{outcome} after {seconds} s: {answer:?}");
        assert_eq!(answer.is_err(), fails, "{case}");
        assert!(functions.holders("nightly").await.is_empty(), "{case}");
    }
}

/// Lambda may run an invocation twice. Nothing in the second run shows that its state is over.
#[tokio::test]
async fn a_release_ends_the_state_of_the_heartbeat_that_ran_last() {
    let (functions, grant) = beating().await;
    functions.beat(&grant, "AQC-next").await;
    functions.beat(&grant, "AQC-beat").await;

    functions.succeed(&grant).await;

    assert_eq!(ended(&functions), ["AQC-beat"]);
    assert!(functions.holders("nightly").await.is_empty());
}
