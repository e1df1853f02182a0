//! The release of a success ends the heartbeat state. It fails, and is repeated, until Step Functions answers
//! the call that ends the state.

use crate::functions::Functions;
use crate::scene::{assert_fails, assert_has};
use lockstep::executions::ExecutionsError;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

/// Returns the functions with a run that has a heartbeat state, and its grant.
async fn beating() -> (Functions, Value) {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "run-1").await;
    functions.beat(&grant, "AQC-beat").await;
    (functions, grant)
}

/// Returns the request that releases `grant`.
fn end(grant: &Value, outcome: &str) -> Value {
    json!({ "grant": grant, "outcome": outcome })
}

/// Returns the task tokens of the states that were ended.
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
    assert!(free, "the permit is free although the release failed");
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
async fn only_a_success_waits_for_its_state_and_at_most_two_minutes() {
    let refused = || ExecutionsError::Denied("no permission".into());
    let lost = || ExecutionsError::Unavailable("no answer".into());
    for (outcome, error, seconds, fails) in [
        ("succeeded", lost(), 0, true),
        ("succeeded", lost(), 119, true),
        ("succeeded", lost(), 120, false),
        // A repeated call would be denied again.
        ("succeeded", refused(), 0, false),
        // The workflow fails, and Step Functions ends its heartbeat state.
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

/// Lambda may run an invocation twice. In the second run, nothing shows that the state of this heartbeat has
/// ended.
#[tokio::test]
async fn a_release_ends_the_state_of_the_heartbeat_that_ran_last() {
    let (functions, grant) = beating().await;
    functions.beat(&grant, "AQC-next").await;
    functions.beat(&grant, "AQC-beat").await;

    functions.succeed(&grant).await;

    assert_eq!(ended(&functions), ["AQC-beat"]);
    assert!(functions.holders("nightly").await.is_empty());
}
