//! The buttons of the pages: what a click does, and the error that a bad request shows.

use crate::faulty::Faulty;
use crate::functions::{Functions, key};
use crate::markup::parsed;
use crate::operate::is_paused;
use crate::scene::assert_says;
use crate::widget::{
    OPERATE, SCRIPT, assert_shows, button, event, field, problem, problems, signed,
};
use lockstep::contract::EventKind;
use lockstep::store::memory::LockItems;
use lockstep_operate::contract::Surface;
use serde_json::{Value, json};

#[tokio::test]
async fn a_click_pauses_resumes_and_evicts_with_name_and_note_of_the_form() {
    let functions = Functions::new();
    functions.granted("nightly", "a").await;
    let page = functions.page_of_the_lock().await;

    let paused = functions.press(&page, "Pause", "upgrade").await;
    let resumed = functions.press(&paused, "Resume", "done").await;
    let refused = functions.press(&resumed, "Evict", "hangs").await;
    let forced = functions.press(&refused, "Stop and evict", "hangs").await;

    let mut shown = parsed(&paused).into_iter();
    assert!(shown.any(|one| one.text.contains("Lock nightly is paused")));
    assert_shows(&resumed, &["Lock nightly is open."]);
    let alive = problem(&refused);
    assert!(alive.starts_with("Lockstep.LockHeld"), "{alive}");
    assert!(problems(&forced).is_empty(), "{forced}");
    for (kind, note) in [
        (EventKind::LockPaused, "upgrade"),
        (EventKind::LockResumed, "done"),
    ] {
        let reason = functions.event(kind).reason;
        assert_eq!(reason, format!("{note} (by jo@example.com)"));
    }
    let record = functions.record("nightly").await.unwrap();
    let evicted = record
        .holders
        .values()
        .all(|lease| lease.exit.ending.is_some());
    assert!(evicted, "{record:?}");
}

#[tokio::test]
async fn view_refuses_every_act_that_a_page_asks_for() {
    let functions = Functions::new();
    functions.granted("nightly", "a").await;
    for body in [
        json!({ "act": "pause", "lock": "nightly" }),
        json!({ "act": "evict", "lock": "nightly", "holder": "a", "force": true }),
    ] {
        let event = event(&body, signed("upgrade"));
        let page = functions.page_with(Surface::View, Some(OPERATE), event);
        let problem = problem(&page.await);
        assert_says(&problem, "view only reads");
    }
    assert!(!is_paused(&functions, "nightly").await);
    assert_eq!(functions.holders("nightly").await, ["a"]);
}

/// A bad request: its body, the fields of the form, and the text that its error has to contain.
type Bad<'a> = (Value, Value, &'a str);

/// Checks that each of `cases` shows one error and writes nothing.
async fn assert_refused(cases: Vec<Bad<'_>>) {
    let functions = Functions::new();
    functions.granted("nightly", "a").await;
    let before = functions.store.items(&key("nightly"));
    for (body, form, expected) in cases {
        let page = functions.click(&body, form).await;
        let problem = problem(&page);
        assert!(problem.starts_with("Lockstep.InvalidRequest"), "{problem}");
        assert!(problem.contains(expected), "{expected}: {problem}");
    }
    assert_eq!(functions.store.items(&key("nightly")), before);
    assert_eq!(functions.store.items(&key("unused")), LockItems::default());
}

#[tokio::test]
async fn a_bad_request_for_a_page_shows_one_error_with_field_value_and_rule() {
    let page = |lock: &str| json!({ "page": "lock", "lock": lock });
    let more = json!({ "page": "lock", "lock": "nightly", "more": 1 });
    let prefix = json!({ "namePrefix": "a b" });
    let cases = vec![
        (
            json!({ "page": "settings" }),
            json!({}),
            "page is \"settings\", but must be one of list, lock",
        ),
        (json!({ "page": 7 }), json!({}), "page is 7"),
        (json!({ "page": "lock" }), json!({}), "lock is missing"),
        (page("a b"), json!({}), "lock is \"a b\""),
        (page(SCRIPT), json!({}), "lock is \"<script>"),
        (page("unused"), json!({}), "acquired or paused before"),
        (more, json!({}), "more is 1, but must be left out"),
        (json!({}), json!({ "state": "busy" }), "state is \"busy\""),
        (json!({}), prefix, "prefix is \"a b\""),
        (json!({}), json!({ "limit": "501" }), "limit is \"501\""),
        (json!({ "next": "a b" }), json!({}), "next is \"a b\""),
    ];
    assert_refused(cases).await;
}

#[tokio::test]
async fn a_bad_click_shows_one_error_and_writes_nothing() {
    let pause = json!({ "act": "pause", "lock": "nightly" });
    let spaced = json!({ "act": "pause", "lock": "a b" });
    let all = json!({ "act": "pause", "all": true });
    let evict = json!({ "act": "evict", "lock": "nightly", "holder": "b" });
    let forget = json!({ "act": "forget", "lock": "nightly", "runKey": "k" });
    let long = "x".repeat(501);
    let unnamed = json!({ "actor": "Jo Doe", "note": "n" });
    let cases = vec![
        (pause.clone(), json!({}), "actor is \"\""),
        (pause.clone(), signed(""), "note is \"\""),
        (pause.clone(), signed(&long), "1 to 500 characters"),
        (pause, unnamed, "actor is \"Jo Doe\""),
        (spaced, signed("n"), "lock is \"a b\""),
        (all, signed("n"), "lock is missing"),
        (forget, signed("n"), "one of pause, resume, evict"),
        (evict, signed("n"), "a holder or a waiter"),
    ];
    assert_refused(cases).await;
}

#[tokio::test]
async fn an_error_of_a_button_keeps_what_was_typed() {
    let functions = Functions::new();
    functions.granted("nightly", "a").await;
    let form = json!({ "actor": "Jo \"<b>", "note": SCRIPT });

    let pause = json!({ "act": "pause", "lock": "nightly" });
    let page = functions.click(&pause, form).await;

    assert_eq!(field(&page, "actor").as_deref(), Some("Jo \"<b>"));
    assert_eq!(field(&page, "note").as_deref(), Some(SCRIPT));
}

#[tokio::test]
async fn a_page_shows_the_error_of_an_act_above_the_lock() {
    let functions = Functions::new();
    functions.granted("nightly", "a").await;
    let cut_off = Faulty::cut_off_after(&functions, 0);
    let pause = json!({ "act": "pause", "lock": "nightly" });
    let event = event(&pause, signed("upgrade"));

    let page = functions.page_on(&cut_off, Surface::Operate, Some(OPERATE), event);
    let page = page.await;

    assert!(problem(&page).starts_with("Lockstep.Unavailable"), "{page}");
    assert_eq!(button(&page, "Pause"), pause);
}
