//! What view answers: lists, and single locks.

use crate::faulty::Faulty;
use crate::functions::{Functions, task_token};
use crate::scene::{ask, ask_with, assert_says, audit_note, execution, task, waiting, work};
use crate::workflow_work::held;
use lockstep::domain::{Command, ExecutionEnd, ExecutionState, Seconds, rfc3339};
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};
use std::time::Duration;

/// Locks in every state: held, paused and held, waiting for the end of a rest, and idle.
async fn locks_in_every_state() -> Functions {
    let functions = Functions::running(&["w"]);
    let rested = json!({ "lock": "s/waiting", "holder": "a", "minIntervalSeconds": 60 });
    let grant = functions.granted_with(rested).await;
    functions.succeed(&grant).await;
    let wait = json!({ "lock": "s/waiting", "holder": execution("w"), "overlap": "queue" });
    let queued = functions.acquire(wait).await.unwrap();
    assert_eq!(queued["status"], "queued");
    functions.granted("s/held", "b").await;
    functions.granted("s/paused", "c").await;
    let pause = Command::Pause(audit_note("upgrade"), None);
    functions.command("s/paused", pause.clone()).await;
    functions.command("s/unused", pause).await;
    let grant = functions.granted("s/idle", "d").await;
    functions.succeed(&grant).await;
    functions.granted("t/other", "e").await;
    functions
}

fn names(list: &Value) -> Vec<(&str, &str)> {
    let locks = list["locks"].as_array().expect("locks");
    let named = locks.iter();
    named
        .map(|of| (of["lock"].as_str().unwrap(), of["state"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn a_list_has_every_lock_of_the_prefix_whatever_its_state() {
    let functions = locks_in_every_state().await;

    let list = json!({ "act": "list", "prefix": "s/" });
    let all = functions.view(list).await.unwrap();

    let expected = [
        ("s/held", "held"),
        ("s/idle", "idle"),
        ("s/paused", "paused"),
        ("s/unused", "paused"),
        ("s/waiting", "waiting"),
    ];
    assert_eq!(names(&all), expected);
    assert!(all.get("next").is_none(), "{all}");
    assert_eq!(all["locks"][0]["holders"], json!(["b"]));
    assert_eq!(all["locks"][2]["note"], "upgrade (by ops@example.com)");
    assert_eq!(all["locks"][4]["queueLength"], 1);
    assert!(all["locks"][3].get("grantedAt").is_none(), "never granted");
}

#[tokio::test]
async fn a_list_comes_in_pages_and_by_state() {
    let functions = locks_in_every_state().await;

    let all = [
        ("s/held", "held"),
        ("s/idle", "idle"),
        ("s/paused", "paused"),
        ("s/unused", "paused"),
        ("s/waiting", "waiting"),
        ("t/other", "held"),
    ];
    for state in [None, Some("paused"), Some("held"), Some("frozen")] {
        for limit in [1, 2, 5, 6, 100] {
            let mut request = json!({ "act": "list", "limit": limit });
            if let Some(state) = state {
                request["state"] = json!(state);
            }

            let pages = functions.pages(request).await;

            for page in &pages {
                assert!(names(page).len() <= limit, "{state:?}, {limit}: {page}");
            }
            let found: Vec<_> = pages.iter().flat_map(names).collect();
            let of_state = |lock: &(&str, &str)| state.is_none_or(|state| lock.1 == state);
            let expected: Vec<_> = all.into_iter().filter(of_state).collect();
            assert_eq!(found, expected, "{state:?}, {limit}");
        }
    }
}

#[tokio::test]
async fn a_lock_with_room_is_free_and_one_that_rests_says_until_when() {
    let functions = Functions::new();
    let two = json!({ "lock": "two", "holder": "a", "permits": 2, "minIntervalSeconds": 60 });
    functions.granted_with(two).await;
    let rests_until = rfc3339(functions.now().plus(Seconds::of(60)));
    let show = json!({ "act": "show", "lock": "two" });

    let resting = functions.view(show.clone()).await.unwrap();
    functions.wait(60);
    let rested = functions.view(show).await.unwrap();

    let rests = format!("A permit is free, and the lock rests until {rests_until}.");
    assert_eq!(resting["restsUntil"], rests_until);
    assert_eq!(resting["frees"], rests);
    assert_eq!(rested.get("restsUntil"), None);
    assert_eq!(rested["frees"], "A permit is free.");
}

#[tokio::test]
async fn waiters_are_shown_in_the_order_of_their_turns() {
    let functions = Functions::new();
    functions.granted_with(ask("a")).await;
    let names = ["b", "c", "d", "e", "f", "g"];
    functions.start(&names);
    for name in names {
        functions.acquire(waiting(name, name)).await.unwrap();
    }

    let shown = functions.shown().await;

    let waiters = shown["waiters"].as_array().unwrap();
    let shown: Vec<_> = waiters.iter().map(|of| of["holder"].clone()).collect();
    assert_eq!(shown, names.map(execution));
}

#[tokio::test]
async fn a_shown_holder_has_the_state_of_the_workflow_that_is_its_work() {
    for (state, expected) in [
        (None, "UNKNOWN"),
        (Some(ExecutionState::Running), "RUNNING"),
        (Some(ExecutionState::Ended(ExecutionEnd::Failed)), "FAILED"),
    ] {
        let (functions, _, work) = held().await;
        if let Some(state) = state {
            functions.executions.set(&work, state);
        }

        let shown = functions.shown().await;

        let workflow = &shown["holders"][0]["workflow"];
        assert_eq!(workflow["status"], expected, "{shown}");
    }
}

#[tokio::test]
async fn a_damaged_record_hides_no_other_lock() {
    let functions = Functions::new();
    for lock in ["a", "b", "c"] {
        functions.granted(lock, "x").await;
    }
    let damaged = Faulty::corrupt(&functions, "b");

    let list = json!({ "act": "list" });
    let list = functions.operate_on(&damaged, list).await.unwrap();

    let expected = [("a", "held"), ("b", "unreadable"), ("c", "held")];
    assert_eq!(names(&list), expected);
    let note = list["locks"][1]["note"].as_str().unwrap();
    assert_says(note, "holders is no map");
}

#[tokio::test]
async fn a_slow_table_gets_a_page_and_the_rest_later() {
    let functions = Functions::new();
    for number in 0..5 {
        functions.granted(&format!("lock-{number}"), "x").await;
    }
    let slow = Faulty::slow(&functions, Duration::from_secs(4));

    // The state makes each request read its whole page; its time ends within the first one.
    let list = json!({ "act": "list", "state": "frozen", "limit": 1 });
    let page = functions.operate_on(&slow, list).await.unwrap();

    assert_eq!(page["locks"], json!([]));
    assert!(page.get("next").is_none(), "one page has all five: {page}");
}

#[tokio::test]
async fn a_slow_list_or_history_ends_with_what_there_is_and_is_continued() {
    let functions = Functions::new();
    for number in 0..120 {
        functions.granted(&format!("lock-{number:03}"), "x").await;
    }
    let slow = Faulty::slow(&functions, Duration::from_secs(4));
    let list = json!({ "act": "list", "state": "frozen" });
    let history = json!({ "act": "history", "prefix": "lock-" });

    let list = functions.operate_on(&slow, list).await.unwrap();
    let page = functions.operate_on(&slow, history).await.unwrap();

    assert_eq!(list["next"], "lock-099", "a page of a hundred was read");
    let next = page["next"].as_str().unwrap();
    assert_eq!(next, "0@lock-002", "four seconds a lock, and ten in all");
}

#[tokio::test]
async fn a_shown_lock_has_its_holder_with_live_state_its_queue_and_its_past() {
    let functions = Functions::new();
    functions.executions.seal_tokens();
    functions.start(&["z", "a", "b"]);
    let before = functions.granted_with(ask("z")).await;
    functions.succeed(&before).await;
    functions.wait(5);
    let with_work = json!({ "runKey": "tick-1", "work": { "cluster": work().cluster } });
    let grant = functions.granted_with(ask_with("a", with_work)).await;
    functions.put_task("a", task("running", 1, false));
    let beat = json!({ "grant": grant, "taskToken": "SECRET", "progress": "row 7" });
    functions.heartbeat(beat).await.unwrap();
    functions.acquire(waiting("b", "SECRET-b")).await.unwrap();

    let shown = functions.shown().await;

    let holder = &shown["holders"][0];
    assert_eq!(shown["state"], "held");
    assert_eq!(holder["token"], grant["token"]);
    assert_eq!(holder["progress"], "row 7");
    assert_eq!(holder["runKey"], "tick-1");
    assert_eq!(holder["execution"]["status"], "RUNNING");
    assert_eq!(holder["tasks"][0]["stopped"], false);
    assert_eq!(shown["waiters"][0]["holder"], execution("b"));
    assert_eq!(shown["waiters"][0]["position"], 1);
    assert_eq!(shown["last"][0]["outcome"], "succeeded");
    assert_eq!(shown["last"][0]["heldSeconds"], 0.0);
    assert_says(shown["frees"].as_str().unwrap(), "which runs");
    assert!(!shown.to_string().contains("SECRET"), "{shown}");
    assert_eq!(functions.executions.output(&task_token("SECRET-b")), None);
}

#[tokio::test]
async fn a_shown_lock_says_why_it_is_closed_and_what_cannot_be_described() {
    let functions = Functions::running(&["a"]);
    functions.granted_with(ask("a")).await;
    let since = functions.now();
    functions.pause("upgrade").await;
    functions.wait(90);
    functions.lose_every(ExecutionsCall::Describe);

    let shown = functions.shown().await;

    assert_eq!(shown["closed"]["note"], "upgrade (by ops@example.com)");
    assert_eq!(shown["closed"]["actor"], "ops@example.com");
    assert_eq!(shown["closed"]["since"], rfc3339(since));
    assert_eq!(shown["holders"][0]["execution"]["status"], "HIDDEN");
    assert_eq!(shown["holders"][0]["expired"], true);
}
