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
async fn functions_that_are_not_lenient_refuse_each_unknown_field_by_name() {
    let mut refusing = BTreeSet::new();
    for session in golden::current().lines(SESSIONS) {
        for step in session["steps"].as_array().expect("steps") {
            let Some(function) = step["function"].as_str() else {
                continue;
            };
            if session::LENIENT.contains(&function) {
                continue;
            }
            let mut request = step["request"].clone();
            request[session::UNKNOWN] = json!(1);
            let answer = session::answered(&Functions::new(), step, request).await;
            assert_fails(answer, "Lockstep.InvalidRequest", &[session::UNKNOWN]);
            refusing.insert(function.to_owned());
        }
    }
    let expected = [
        "acquire-lock",
        "check-running-executions",
        "operate",
        "view",
    ];
    assert_eq!(refusing, expected.map(str::to_owned).into());
}

/// Returns the steps of this version's sessions.
fn steps() -> Vec<Value> {
    let sessions = golden::current().lines(SESSIONS).into_iter();
    let steps = sessions.flat_map(|session| session["steps"].as_array().expect("steps").clone());
    steps.collect()
}

/// Returns the requests of this version's sessions to one of `functions`.
fn sent(functions: &[&str]) -> Vec<Value> {
    let is_one = |step: &Value| functions.iter().any(|name| step["function"] == *name);
    let calls = steps().into_iter().filter(is_one);
    calls.map(|step| step["request"].clone()).collect()
}

/// Returns the schema in this file.
fn schema(file: &str) -> Value {
    let mut all = schemas::all().into_iter();
    let found = all.find(|(name, _)| *name == file);
    found.expect(file).1.to_value()
}

/// Checks that one of `requests` has each field of the object that `schema` describes.
fn assert_sent(requests: &[Value], schema: &Value, what: &str) {
    for field in schema["properties"].as_object().expect(what).keys() {
        let known = requests.iter().any(|request| request.get(field).is_some());
        assert!(known, "no request to {what} has {field}");
    }
}

#[test]
fn the_sessions_have_each_field_of_each_request_and_act() {
    for function in [
        "acquire-lock",
        "heartbeat",
        "release-lock",
        "check-running-executions",
    ] {
        let of_function = schema(&format!("{function}.request.json"));
        assert_sent(&sent(&[function]), &of_function, function);
    }
    let requests = sent(&["operate", "view"]);
    let of_acts = schema("operate.request.json");
    for of_act in of_acts["oneOf"].as_array().expect("acts") {
        let act = &of_act["properties"]["act"]["const"];
        let mut of_this = requests.clone();
        of_this.retain(|request| request["act"] == *act);
        assert_sent(&of_this, of_act, &act.to_string());
    }
}

#[test]
fn the_sessions_have_each_event() {
    let sessions = golden::current().text(SESSIONS);
    for kind in EventKind::ALL {
        assert!(
            sessions.contains(&format!("{:?}", kind.detail_type())),
            "no session has the event {kind}"
        );
    }
}

/// Adds the name of each field in `value`, at every depth, and `status=WORD` for each status.
fn add_fields(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| add_fields(value, found)),
        Value::Object(fields) => {
            for (field, value) in fields {
                found.insert(field.clone());
                if let ("status", Some(word)) = (field.as_str(), value.as_str()) {
                    found.insert(format!("status={word}"));
                }
                add_fields(value, found);
            }
        }
        _ => {}
    }
}

/// Adds what [`add_fields`] adds for an answer that has each field and each status that `schema` describes.
fn add_described(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Array(parts) => parts.iter().for_each(|part| add_described(part, found)),
        Value::Object(parts) => {
            let properties = parts.get("properties").and_then(Value::as_object);
            for (field, of_field) in properties.into_iter().flatten() {
                found.insert(field.clone());
                if let ("status", Some(word)) = (field.as_str(), of_field["const"].as_str()) {
                    found.insert(format!("status={word}"));
                }
            }
            parts.values().for_each(|part| add_described(part, found));
        }
        _ => {}
    }
}

/// Definitions and commands decide by these answers. The output of a state that waited for its turn is one.
#[test]
fn the_sessions_have_each_field_and_status_of_each_answer_of_a_run() {
    let mut known = BTreeSet::new();
    for step in steps() {
        add_fields(&step["answer"], &mut known);
        add_fields(&step["is"], &mut known);
    }
    for function in ["acquire-lock", "heartbeat", "release-lock"] {
        let mut described = BTreeSet::new();
        let of_function = schema(&format!("{function}.response.json"));
        add_described(&of_function, &mut described);
        assert!(!described.is_empty(), "{function}");
        let missing: Vec<_> = described.difference(&known).collect();
        assert!(missing.is_empty(), "no answer of {function}: {missing:?}");
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
