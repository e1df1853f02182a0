//! The acts that operate refuses, and the acts `pause` and `resume`.

use crate::bad_input::{Case, NULL, assert_invalid, assert_refuses, cases, with};
use crate::faulty::Faulty;
use crate::functions::{Functions, key};
use crate::scene::{ask_with, assert_fails, assert_has, assert_says, execution, merged};
use lockstep::contract::EventKind;
use lockstep::domain::Mode;
use serde_json::{Value, json};

/// Returns the request of `act` with a note, an actor and the fields of `more`.
pub(crate) fn act(act: &str, more: Value) -> Value {
    let request = json!({ "act": act, "note": "upgrade", "actor": "jo@example.com" });
    merged(request, &more)
}

/// Returns the request that evicts the execution `name`.
pub(crate) fn evict(name: &str) -> Value {
    let holder = execution(name);
    act("evict", json!({ "lock": "nightly", "holder": holder }))
}

/// Returns the request that evicts the execution `name` by force.
pub(crate) fn evict_by_force(name: &str) -> Value {
    merged(evict(name), &json!({ "force": true }))
}

impl Functions {
    /// Returns the answer of operate to `act` with the fields of `more`.
    pub(crate) async fn order(&self, act: &str, more: Value) -> Value {
        self.operate(self::act(act, more)).await.unwrap()
    }

    /// Checks that operate refuses `base` with each of `cases`.
    pub(crate) async fn assert_refused(&self, base: &Value, cases: Vec<Case<'_>>) {
        assert_refuses(self, Self::operate, base, cases).await;
    }
}

/// Returns whether an operator has paused the lock.
pub(crate) async fn is_paused(functions: &Functions, lock: &str) -> bool {
    let record = functions.record(lock).await.unwrap();
    matches!(record.gate.mode, Mode::Paused { .. })
}

#[tokio::test]
async fn a_wrong_act_that_writes_is_refused_with_field_value_and_rule() {
    let functions = Functions::new();
    let pause = act("pause", json!({ "lock": "nightly" }));
    let pause_cases = cases! {
        "lock", NULL => "lock", "missing", "unless `prefix` or `all` is";
        "lock", "a b" => "lock", "a b", "no spaces";
        "prefix", "n" => "prefix", "\"n\"", "left out where another";
        "all", true => "all", "is true", "left out where another";
        "all", false => "all", "is false", "true, or left out";
        "next", "nightly" => "next", "nightly", "left out where `lock`";
        "note", NULL => "missing field `note`";
        "note", "" => "note", "\"\"", "1 to 500";
        "note", "x".repeat(501) => "note", "1 to 500";
        "note", "a\u{7}b" => "note", "control character";
        "actor", NULL => "missing field `actor`";
        "actor", "Jo Doe" => "actor", "Jo Doe", "without spaces";
        "force", true => "unknown field `force`";
        "until", "tonight" => "until", "tonight", "RFC 3339";
        "until", "2026-03-01T06:00:00Z" => "until", "2026-03-01T06:00:00Z", "in the future";
        "until", "2027-03-02T06:00:00Z" => "until", "at most 365 days";
    };
    functions.assert_refused(&pause, pause_cases).await;
    let resume = act("resume", json!({ "prefix": "s/" }));
    let resume_cases = cases! {
        "prefix", NULL => "lock", "missing";
        "next", "t/a" => "next", "t/a", "the same request";
        "drain", true => "drain", "is true", "except in a pause";
        "until", "2026-03-02T06:00:00Z" => "until", "2026-03-02", "except in a pause";
    };
    functions.assert_refused(&resume, resume_cases).await;
    functions.granted("nightly", "a").await;
    let evict = act("evict", json!({ "lock": "nightly", "holder": "a" }));
    let evict_cases = cases! {
        "lock", "unused" => "lock", "\"unused\"", "acquired or paused before";
        "holder", "b" => "holder", "\"b\"", "a holder or a waiter of lock nightly";
        "holder", "b b" => "holder", "b b", "without spaces";
        "force", "yes" => "force", "string \"yes\"";
        "abandon", true => "abandon", "is true", "left out without `force`";
        "note", "" => "note", "1 to 500";
    };
    functions.assert_refused(&evict, evict_cases).await;
    let drop = act("drop-waiter", json!({ "lock": "nightly", "holder": "a" }));
    let drop_cases = cases! {
        "holder", NULL => "holder", "missing", "unless `id` is";
        "holder", "b" => "holder", "\"b\"", "a holder or a waiter of lock nightly";
        "id", "ba7816bf8f01cfea" => "id", "left out where `holder`";
    };
    functions.assert_refused(&drop, drop_cases).await;
    let short = with(&with(&drop, "holder", NULL), "id", json!("ba78"));
    let refused = functions.operate(short).await;
    assert_invalid(refused, "id", &["id", "ba78", "16 hex digits"]);

    assert!(!is_paused(&functions, "nightly").await);
    assert_eq!(functions.holders("nightly").await, ["a"]);
    assert!(functions.events.published().is_empty());
}

#[tokio::test]
async fn view_refuses_every_act_that_writes() {
    let functions = Functions::new();
    functions.granted("nightly", "a").await;
    let held = json!({ "lock": "nightly", "holder": "a" });
    for act in [
        act("pause", json!({ "lock": "nightly" })),
        act("resume", json!({ "all": true })),
        act("evict", with(&held, "force", json!(true))),
        act("drop-waiter", held),
    ] {
        let name = act["act"].as_str().unwrap().to_owned();
        let refused = functions.view(act).await;
        let parts = [
            name.as_str(),
            "one of list, show, history, version: view only reads",
        ];
        assert_invalid(refused, &name, &parts);
    }
    assert_eq!(functions.holders("nightly").await, ["a"]);
}

#[tokio::test]
async fn pause_and_resume_are_recorded_with_note_and_actor() {
    let functions = Functions::running(&["b"]);

    let nightly = json!({ "lock": "nightly" });
    let paused = functions.order("pause", nightly.clone()).await;
    let again = functions.order("pause", nightly.clone()).await;
    functions.queue(&["b"]).await;
    assert_eq!(functions.output("token-b"), None);
    let fails = functions.acquire(ask_with("c", json!({ "overlap": "fail" })));
    let signed = "upgrade (by jo@example.com)";
    assert_fails(fails.await, "Lockstep.LockPaused", &[signed]);
    let resumed = functions.order("resume", nightly).await;

    let answer = |act, done, unchanged| json!({ "act": act, "done": done, "unchanged": unchanged });
    assert_eq!(paused, answer("pause", 1, 0));
    assert_eq!(again, answer("pause", 0, 1));
    assert_eq!(resumed, answer("resume", 1, 0));
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    for (kind, outcome, advice) in [
        (EventKind::LockPaused, "paused", "resume the lock"),
        (EventKind::LockResumed, "resumed", "nothing"),
    ] {
        let event = functions.event(kind);
        assert_eq!(event.reason, signed);
        assert_says(&event.advice, advice);
        let history = functions.history_page().await;
        let entries = history["entries"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["outcome"] == outcome);
        let entry = entry.unwrap_or_else(|| panic!("{outcome}: {history}"));
        assert_has(entry, json!({ "actor": "jo@example.com", "note": signed }));
    }
}

#[tokio::test]
async fn a_pause_of_a_prefix_skips_frozen_locks() {
    let functions = Functions::new();
    functions.hold_locks(40).await;
    functions.granted("t/other", "a").await;
    let mut frozen = functions.record("s/007").await.unwrap();
    frozen.gate.mode = Mode::Frozen {
        note: "a hangs".into(),
    };
    functions.store.put(key("s/007"), frozen);

    let prefix = json!({ "prefix": "s/" });
    let paused = functions.order("pause", prefix.clone()).await;
    let all = functions.order("pause", json!({ "all": true })).await;
    let resumed = functions.order("resume", prefix).await;

    assert_has(&paused, json!({ "done": 39, "frozen": ["s/007"] }));
    assert_has(&all, json!({ "done": 1, "unchanged": 39 }));
    assert_has(&resumed, json!({ "done": 39, "unchanged": 0 }));
    assert!(is_paused(&functions, "t/other").await);
    let record = functions.record("s/007").await.unwrap();
    assert!(matches!(record.gate.mode, Mode::Frozen { .. }));
    let kinds = functions.events.kinds();
    assert_eq!(kinds.len(), 39 + 1 + 39, "{kinds:?}");

    let refused = act("pause", json!({ "lock": "s/007" }));
    let refused = functions.operate(refused).await;
    assert_fails(refused, "Lockstep.LockFrozen", &["s/007", "a hangs"]);
    let typo = act("resume", json!({ "lock": "s/07" }));
    assert_fails(
        functions.operate(typo).await,
        "Lockstep.InvalidRequest",
        &["s/07"],
    );
    let named = functions.order("resume", json!({ "lock": "s/007" })).await;
    assert_eq!(
        named["done"], 1,
        "a frozen lock is resumed only by its name"
    );
}

#[tokio::test]
async fn an_act_that_dies_half_way_through_a_prefix_is_repeated() {
    let functions = Functions::new();
    functions.hold_locks(40).await;
    let request = act("pause", json!({ "prefix": "s/" }));

    let dying = Faulty::cut_off_after(&functions, 20);
    let half = functions.operate_on(&dying, request.clone()).await.unwrap();
    let again = functions.operate(request).await.unwrap();

    assert_eq!(half["done"], 20);
    let failed = half["failed"].as_array().unwrap();
    assert_eq!(failed.len(), 20);
    assert_eq!(failed[0]["error"], "Lockstep.Unavailable");
    assert_has(&again, json!({ "done": 20, "unchanged": 20 }));
}

#[tokio::test]
async fn an_act_on_a_prefix_that_runs_out_of_time_returns_next() {
    let functions = Functions::new();
    functions.hold_locks(40).await;
    let slow = Faulty::slow(&functions, std::time::Duration::from_secs(2));
    let mut request = act("pause", json!({ "prefix": "s/" }));

    let mut done = 0;
    for call in 1.. {
        let response = functions.operate_on(&slow, request.clone()).await.unwrap();
        done += response["done"].as_u64().unwrap();
        match response.get("next") {
            Some(next) => request["next"] = next.clone(),
            None => {
                assert_eq!(call, 3, "16 locks in each call");
                break;
            }
        }
    }

    assert_eq!(done, 40);
}

#[tokio::test]
async fn a_pause_that_drains_names_at_most_100_held_locks() {
    let functions = Functions::new();
    functions.hold_locks(101).await;

    let drain = json!({ "prefix": "s/", "drain": true });
    let waited = functions.order("pause", drain).await;

    assert_has(&waited, json!({ "done": 101, "drained": false }));
    assert_eq!(waited["held"].as_array().map(Vec::len), Some(100));
}

#[tokio::test]
async fn a_pause_that_drains_waits_20_s_and_names_the_locks_still_held() {
    let functions = Functions::new();
    functions.granted("s/idle-soon", "a").await;
    let grant = functions.granted("s/held", "a").await;
    functions.ran("s/released", "a").await;
    let drain = json!({ "prefix": "s/", "drain": true });

    let began = functions.now();
    let waited = functions.order("pause", drain).await;
    let took = functions.now().millis_since(began);
    functions.succeed(&grant).await;
    let one = json!({ "lock": "s/held", "drain": true });
    let drained = functions.order("pause", one).await;

    assert_has(
        &waited,
        json!({ "drained": false, "held": ["s/held", "s/idle-soon"] }),
    );
    assert!((20_000..22_000).contains(&took), "{took} ms");
    assert_eq!(drained["drained"], true);
    assert!(drained.get("held").is_none(), "{drained}");
}
