//! The golden files of each version: requests that its definitions sent, and sessions with its functions. Executions,
//! processes and events in flight were begun by another version, so each later version answers them as it did.

mod scripts;
mod session;

use crate::functions::Functions;
use crate::scene::{assert_fails, assert_has, merged};
use lockstep::contract::EventKind;
use lockstep::domain::{Execution, ExecutionArn};
use lockstep_tests::{golden, schemas};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The requests that definitions have sent, each with its state and its function. The simulation writes it.
const REQUESTS: &str = "requests.jsonl";
/// The sessions: what was asked, and what was answered.
const SESSIONS: &str = "sessions.jsonl";

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

/// Sends a request of a definition, and checks its answer. Returns the state that sent it.
async fn answers(kept: &Value) -> String {
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
    let answer = answer.unwrap_or_else(|error| panic!("{kept}: {error}"));
    assert_has(&answer, json!({ "status": expected }));
    if expected == "granted" {
        let default = if request["work"].is_object() { 900 } else { 60 };
        let lease = request["leaseSeconds"].as_u64().unwrap_or(default);
        assert_has(&answer, json!({ "leaseSeconds": lease }));
    }
    state.to_owned()
}

#[tokio::test]
async fn the_requests_of_every_version_are_answered() {
    for release in golden::releases() {
        let mut states = BTreeSet::new();
        for kept in release.lines(REQUESTS) {
            states.insert(answers(&kept).await);
        }
        for state in [
            "Acquire Lock",
            "Wait For Turn",
            "Confirm Grant",
            "Resume Run",
            "Keep Lease",
            "Release Lock",
        ] {
            assert!(states.contains(state), "{release:?}: {state}: {states:?}");
        }
    }
}

#[tokio::test]
async fn the_sessions_of_every_version_go_as_they_did() {
    for release in golden::releases() {
        for session in release.lines(SESSIONS) {
            let name = format!("{} of {}", session["session"], release.version);
            let steps = session["steps"].as_array().expect("steps");
            for newer in [false, true] {
                session::replay(&name, steps, newer).await;
            }
        }
    }
}

#[tokio::test]
async fn the_sessions_of_this_version_are_kept() {
    let mut text = String::new();
    for (name, script) in scripts::all() {
        let steps = session::recorded(&script).await;
        text += &format!("{}\n", json!({ "session": name, "steps": steps }));
    }
    golden::current().keep(SESSIONS, &text);
}

#[tokio::test]
async fn acquire_lock_and_operate_refuse_each_unknown_field_by_its_name() {
    for session in golden::current().lines(SESSIONS) {
        for step in session["steps"].as_array().expect("steps") {
            let functions = Functions::new();
            let mut request = step["request"].clone();
            let parts = [session::UNKNOWN];
            match step["function"].as_str() {
                Some("acquire-lock") => {
                    request[session::UNKNOWN] = json!(1);
                    assert_fails(
                        functions.acquire(request).await,
                        "Lockstep.InvalidRequest",
                        &parts,
                    );
                }
                Some("operate") => {
                    request[session::UNKNOWN] = json!(1);
                    assert_fails(
                        functions.operate(request).await,
                        "Lockstep.InvalidRequest",
                        &parts,
                    );
                }
                _ => {}
            }
        }
    }
}

/// Returns the values at `pointer` of all steps of this version's sessions that call `function`.
fn sent(function: &str) -> Vec<Value> {
    let sessions = golden::current().lines(SESSIONS).into_iter();
    let steps = sessions.flat_map(|session| session["steps"].as_array().expect("steps").clone());
    let calls = steps.filter(|step| step["function"] == function);
    calls.map(|step| step["request"].clone()).collect()
}

#[test]
fn the_sessions_have_each_field_of_a_request_each_act_and_each_event() {
    for (name, schema) in schemas::all() {
        let Some(function) = name.strip_suffix(".request.json") else {
            continue;
        };
        let requests = sent(function);
        for field in schema.as_value()["properties"]
            .as_object()
            .into_iter()
            .flatten()
        {
            let known = requests
                .iter()
                .any(|request| request.get(field.0).is_some());
            assert!(known, "no request to {function} has {}", field.0);
        }
    }
    let acts: BTreeSet<_> = [sent("operate"), sent("view")]
        .concat()
        .into_iter()
        .map(|one| one["act"].to_string())
        .collect();
    let known = schemas::all()
        .into_iter()
        .find(|(name, _)| *name == "operate.request.json")
        .expect("a schema")
        .1;
    for act in known.as_value()["oneOf"].as_array().expect("acts") {
        let act = act["properties"]["act"]["const"].to_string();
        assert!(acts.contains(&act), "no request has the act {act}");
    }
    let sessions = golden::current().text(SESSIONS);
    for kind in EventKind::ALL {
        assert!(
            sessions.contains(&format!("{:?}", kind.detail_type())),
            "no session has the event {kind}"
        );
    }
}

/// The events of Lockstep that the reaper acts on.
const ITS_OWN: [EventKind; 2] = [EventKind::PermitHandedOver, EventKind::WaiterSentAway];

#[tokio::test]
async fn the_reaper_reads_its_events_of_every_version() {
    let kinds = ITS_OWN.map(|kind| kind.detail_type());
    for release in golden::releases() {
        let sessions = release.lines(SESSIONS);
        let steps = sessions
            .iter()
            .flat_map(|session| session["steps"].as_array().expect("steps"));
        let events = steps.flat_map(|step| step["are"].as_array().into_iter().flatten());
        let own = events.filter(|event| kinds.iter().any(|kind| event["detail-type"] == *kind));
        let mut count = 0;
        for event in own {
            let functions = Functions::new();
            let event = merged(event.clone(), &json!({ "source": "lockstep" }));
            let read = functions.reap(event.clone()).await;
            let read = read.map(drop).map_err(|error| error.to_string());
            assert_eq!(read, Ok(()), "{}: {event}", release.version);
            count += 1;
        }
        assert!(
            count >= kinds.len(),
            "{count} events of {}",
            release.version
        );
    }
}

// `make golden` writes the digest last, when all other files are written.
#[test]
fn digests_of_the_golden_files_are_as_they_were() {
    assert_eq!(golden::check_digests(), Ok(()));
}
