//! Requests of executions in flight: the functions answer the requests that the definitions of every version
//! send.

use crate::functions::Functions;
use crate::scene::{assert_has, merged};
use lockstep::domain::{Execution, ExecutionArn};
use serde_json::{Value, json};

/// The requests that definitions have sent, each with its state and its function.
const REQUESTS: &str = include_str!("golden_requests.jsonl");

/// Returns the holder that the requests name.
fn holder() -> ExecutionArn {
    let holder = "arn:aws:states:eu-west-1:1:execution:exclusive-run:one";
    ExecutionArn::new(holder.into()).expect("an execution")
}

/// Returns the request with the token of a fresh grant in place of each token that it names.
async fn under_grant(functions: &Functions, mut request: Value) -> Value {
    for pointer in ["/grant", "/redrive/grant"] {
        let Some(kept) = request.pointer_mut(pointer) else {
            continue;
        };
        let ask = json!({ "lock": kept["lock"], "holder": kept["holder"] });
        let grant = functions.granted_with(ask).await;
        *kept = merged(kept.take(), &json!({ "token": grant["token"] }));
    }
    request
}

#[tokio::test]
async fn the_requests_of_every_version_are_answered() {
    let mut states = Vec::new();
    for line in REQUESTS.lines() {
        let kept: Value = serde_json::from_str(line).expect("JSON");
        let functions = Functions::new();
        functions.executions.start(Execution {
            arn: holder(),
            started_at: functions.now(),
        });
        let request = under_grant(&functions, kept["request"].clone()).await;
        let (state, outcome) = (kept["state"].as_str().unwrap(), request["outcome"].as_str());

        let answer = match kept["function"].as_str() {
            Some("acquire-lock") => functions.acquire(request.clone()).await,
            Some("heartbeat") => functions.heartbeat(request.clone()).await,
            _ => functions.release(request.clone()).await,
        };

        let expected = match (state, outcome) {
            ("Keep Lease", _) => "renewed",
            ("Resume Run", _) => "alreadyHeld",
            (_, Some("stopping")) => "ending",
            (_, Some(_)) => "released",
            _ => "granted",
        };
        let answer = answer.unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_has(&answer, json!({ "status": expected }));
        if expected == "granted" {
            let default = if request["work"].is_object() { 900 } else { 60 };
            let lease = request["leaseSeconds"].as_u64().unwrap_or(default);
            assert_has(&answer, json!({ "leaseSeconds": lease }));
        }
        states.push(state.to_owned());
    }
    for state in [
        "Acquire Lock",
        "Wait For Turn",
        "Confirm Grant",
        "Resume Run",
        "Keep Lease",
        "Release Lock",
    ] {
        assert!(
            states.iter().any(|known| known == state),
            "{state}: {states:?}"
        );
    }
}
