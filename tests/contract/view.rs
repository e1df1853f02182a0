//! The answers of view to `list` and `show`.

use crate::faulty::Faulty;
use crate::functions::{Functions, task_token};
use crate::scene::{
    arn, ask_with, assert_has, assert_says, at_work, audit_note, execution, in_tasks, merged, task,
    waiting,
};
use lockstep::domain::{Command, ExecutionEnd, rfc3339};
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};
use std::time::Duration;

/// Returns the functions with locks that are held, paused, paused and held, waiting for the end of a rest,
/// and idle.
async fn locks_in_every_state() -> Functions {
    let functions = Functions::running(&["w"]);
    let rested = json!({ "lock": "s/waiting", "holder": "a", "minIntervalSeconds": 60 });
    let grant = functions.granted_with(rested).await;
    functions.succeed(&grant).await;
    let wait = json!({ "lock": "s/waiting", "holder": execution("w"), "overlap": "queue" });
    assert_eq!(functions.status(wait).await, "queued");
    functions.granted("s/held", "b").await;
    functions.granted("s/paused", "c").await;
    let pause = Command::Pause(audit_note("upgrade"), None);
    functions.command("s/paused", pause.clone()).await;
    functions.command("s/unused", pause).await;
    functions.ran("s/idle", "d").await;
    functions.granted("t/other", "e").await;
    functions
}

fn names(list: &Value) -> Vec<(&str, &str)> {
    let locks = list["locks"].as_array().expect("locks").iter();
    let named = locks.map(|of| (of["lock"].as_str(), of["state"].as_str()));
    let named = named.map(|(lock, state)| lock.zip(state).expect("a lock and its state"));
    named.collect()
}

#[tokio::test]
async fn a_list_has_every_lock_of_its_prefix_and_state_in_pages() {
    let functions = locks_in_every_state().await;

    let all = [
        ("s/held", "held"),
        ("s/idle", "idle"),
        ("s/paused", "paused"),
        ("s/unused", "paused"),
        ("s/waiting", "waiting"),
        ("t/other", "held"),
    ];
    for (prefix, state) in [
        ("s/", None),
        ("", None),
        ("", Some("paused")),
        ("", Some("held")),
        ("", Some("frozen")),
    ] {
        for limit in [1, 2, 5, 6, 100] {
            let mut request = json!({ "act": "list", "limit": limit });
            if !prefix.is_empty() {
                request["prefix"] = json!(prefix);
            }
            if let Some(state) = state {
                request["state"] = json!(state);
            }

            let pages = functions.pages(request.clone()).await;

            for page in &pages {
                assert!(names(page).len() <= limit, "{request}: {page}");
            }
            let found: Vec<_> = pages.iter().flat_map(names).collect();
            let mut expected = all.to_vec();
            expected.retain(|lock| lock.0.starts_with(prefix));
            expected.retain(|lock| state.is_none_or(|state| lock.1 == state));
            assert_eq!(found, expected, "{request}");
        }
    }
    let list = functions.view(json!({ "act": "list" })).await.unwrap();
    assert_eq!(list["locks"][0]["holders"], json!(["b"]));
    assert_eq!(list["locks"][2]["note"], "upgrade (by ops@example.com)");
    assert_eq!(list["locks"][4]["queueLength"], 1);
    assert!(list["locks"][3].get("grantedAt").is_none(), "never granted");
    assert!(list.get("next").is_none(), "{list}");
}

#[tokio::test]
async fn show_says_that_a_permit_is_free_and_until_when_the_lock_rests() {
    let functions = Functions::new();
    let two = json!({ "lock": "two", "holder": "a", "permits": 2, "minIntervalSeconds": 60 });
    functions.granted_with(two).await;
    let rests_until = functions.time_in(60);
    let show = json!({ "act": "show", "lock": "two" });

    let resting = functions.view(show.clone()).await.unwrap();
    functions.wait(60);
    let rested = functions.view(show).await.unwrap();

    let rests = format!("A permit is free, but the lock rests until {rests_until} ");
    assert_has(&resting, json!({ "restsUntil": rests_until }));
    assert_says(resting["frees"].as_str().unwrap(), &rests);
    assert_eq!(rested.get("restsUntil"), None);
    assert_eq!(rested["frees"], "A permit is free.");
}

#[tokio::test]
async fn show_says_how_a_closed_lock_opens_and_what_frees_a_permit() {
    let paused = "The lock is paused until you type `lockstep resume LOCK --note TEXT`. ";
    let holds = "holds the permit: its execution runs. Its release frees the permit.";
    for (holders, permits, says, says_not) in [
        (1, 1, [paused, holds], "A permit is free"),
        (1, 2, [paused, ""], "frees the permit"),
        (0, 1, [paused, ""], "frees the permit"),
    ] {
        let names = ["a"];
        let functions = Functions::running(&names);
        for name in names.into_iter().take(holders) {
            let ask = ask_with(name, json!({ "permits": permits }));
            functions.granted_with(ask).await;
        }
        functions.pause("upgrade").await;

        let shown = functions.shown().await;

        let frees = shown["frees"].as_str().unwrap();
        assert!(says.iter().all(|part| frees.contains(part)), "{frees}");
        assert!(!frees.contains(says_not), "{frees}");
    }
}

#[tokio::test]
async fn show_says_which_run_froze_the_lock() {
    let policy = json!({ "stalePolicy": "hold", "maxRunSeconds": 30, "permits": 2 });
    let functions = Functions::running(&["a", "b"]);
    functions
        .granted_with(ask_with("a", json!({ "permits": 2 })))
        .await;
    functions.wait(1);
    let grant = functions.granted_with(ask_with("b", policy)).await;
    functions.wait(40);
    functions.beat(&grant, "beat").await;

    let shown = functions.shown().await;

    let frees = shown["frees"].as_str().unwrap();
    let why = format!("{} exceeded its run time", execution("b"));
    let says = [
        "The lock is frozen: ",
        &why,
        "It grants no permit until you type `lockstep resume LOCK --note TEXT`. ",
        "First check whether that run is still at work.",
    ];
    assert!(says.iter().all(|part| frees.contains(part)), "{frees}");
    assert!(!frees.contains(&execution("a")), "{frees}");
}

#[tokio::test]
async fn show_says_why_the_first_waiter_cannot_take_a_free_permit() {
    let functions = Functions::running(&["a", "b"]);
    functions
        .granted_with(ask_with("a", json!({ "permits": 2 })))
        .await;
    let other = merged(waiting("b", "token-b"), &json!({ "permits": 3 }));
    functions.acquire(other).await.unwrap();

    let shown = functions.shown().await;

    let frees = shown["frees"].as_str().unwrap();
    assert_says(
        frees,
        "the first waiter asks for `permits: 3` and the lock has `permits: 2`",
    );
}

/// The waiter has the run key of the evicted process. Only the lease of that process shows its end.
#[tokio::test]
async fn show_says_for_whose_end_the_first_waiter_waits() {
    let functions = Functions::running(&["b"]);
    let process = json!({ "lock": "nightly", "holder": "process-1", "permits": 2, "runKey": "k" });
    functions.granted_with(process).await;
    let evict = json!({
        "act": "evict", "lock": "nightly", "holder": "process-1", "force": true, "note": "hangs", "actor": "jo",
    });
    functions.operate(evict).await.unwrap();
    let same = merged(
        waiting("b", "token-b"),
        &json!({ "permits": 2, "runKey": "k" }),
    );
    functions.acquire(same).await.unwrap();

    let shown = functions.shown().await;

    let frees = shown["frees"].as_str().unwrap();
    assert_says(frees, "the first waiter waits for the end of process-1");
}

#[tokio::test]
async fn show_promises_no_permit_while_the_work_may_not_be_listed_yet() {
    let (functions, _) = Functions::held_with(&["a"], in_tasks()).await;
    functions.end("a", ExecutionEnd::Failed);

    let shown = functions.shown().await;

    let frees = shown["frees"].as_str().unwrap();
    assert_says(
        frees,
        "has just ended: the execution ended less than 10 s ago, and its work may not be listed yet.",
    );
}

#[tokio::test]
async fn show_says_what_the_next_check_does_and_why() {
    let (functions, _) = Functions::held(&["a"]).await;
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(31);

    let shown = functions.shown().await;

    let frees = shown["frees"].as_str().unwrap();
    let ended = format!("{} has ended. By ", execution("a"));
    assert!(frees.starts_with(&ended), "{frees}");
    assert_says(frees, "Lockstep frees the permit (the execution is ABORTED");
}

#[tokio::test]
async fn waiters_are_shown_in_the_order_of_their_turns() {
    let (functions, _) = Functions::held(&["a"]).await;
    let names = ["b", "c", "d", "e", "f", "g"];
    functions.start(&names);
    functions.queue(&names).await;

    let shown = functions.shown().await;

    let waiters = shown["waiters"].as_array().unwrap();
    let shown: Vec<_> = waiters.iter().map(|of| of["holder"].clone()).collect();
    assert_eq!(shown, names.map(execution));
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
async fn a_slow_list_or_history_ends_in_time_and_can_be_continued() {
    for (locks, limit, next) in [(5, 1, None), (120, 100, Some("s/099"))] {
        let functions = Functions::new();
        functions.hold_locks(locks).await;
        let slow = Faulty::slow(&functions, Duration::from_secs(4));

        // The filter `frozen` matches no lock, so the list reads a whole page. The time of the request ends
        // within the first one.
        let list = json!({ "act": "list", "state": "frozen", "limit": limit });
        let list = functions.operate_on(&slow, list).await.unwrap();
        let history = json!({ "act": "history", "prefix": "s/" });
        let page = functions.operate_on(&slow, history).await.unwrap();

        assert_eq!(list["locks"], json!([]));
        // The list has read a page of 100 locks, or all 5.
        assert_eq!(list.get("next").and_then(Value::as_str), next);
        // Each lock takes 4 s, and the request has 10 s.
        assert_eq!(page["next"], "0@s/002");
    }
}

#[tokio::test]
async fn a_shown_lock_has_its_holder_with_live_state_its_queue_and_its_past() {
    let (functions, before) = Functions::held(&["z", "a", "b"]).await;
    functions.executions.seal_tokens();
    functions.succeed(&before).await;
    functions.wait(5);
    let keyed = merged(at_work("a"), &json!({ "runKey": "tick-1" }));
    let grant = functions.granted_with(keyed).await;
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
    let console = "https://eu-west-1.console.aws.amazon.com/";
    for link in [
        &holder["execution"]["console"],
        &holder["tasks"][0]["console"],
    ] {
        assert!(link.as_str().unwrap().starts_with(console), "{link}");
    }
    assert_has(
        &shown["waiters"][0],
        json!({ "holder": execution("b"), "position": 1 }),
    );
    assert_has(
        &shown["last"][0],
        json!({ "outcome": "succeeded", "heldSeconds": 0.0 }),
    );
    assert_says(shown["frees"].as_str().unwrap(), "its execution runs");
    assert!(!shown.to_string().contains("SECRET"), "{shown}");
    assert_eq!(functions.executions.output(&task_token("SECRET-b")), None);
}

#[tokio::test]
async fn show_says_why_a_lock_is_closed_and_which_execution_is_hidden() {
    let (functions, _) = Functions::held(&["a"]).await;
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

/// The execution does not name the lock, so an eviction with force would not stop it.
#[tokio::test]
async fn a_holder_that_may_not_be_stopped_is_offered_no_eviction_by_force() {
    let sentence = "`lockstep evict LOCK HOLDER --force --note TEXT` stops it now";
    for (is_owned, offered) in [(true, true), (false, false)] {
        let (functions, _) = Functions::held(&["a"]).await;
        if !is_owned {
            functions.executions.disown(&arn("a"));
        }
        functions.silent_for_long(60).await;

        let shown = functions.shown().await;

        let frees = shown["frees"].as_str().unwrap();
        assert_eq!(frees.contains(sentence), offered, "{frees}");
    }
}

#[tokio::test]
async fn a_waiter_is_shown_with_the_execution_that_started_it() {
    let (functions, _) = Functions::held(&["a", "b"]).await;
    let parent = json!({ "parent": execution("caller") });
    let nested = merged(waiting("b", "token-b"), &parent);
    functions.acquire(nested).await.unwrap();

    let shown = functions.shown().await;

    assert_eq!(shown["waiters"][0]["parent"], execution("caller"));
}
