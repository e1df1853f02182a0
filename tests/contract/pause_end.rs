//! A pause that is over by itself.

use crate::functions::Functions;
use crate::operate::{act, is_paused};
use crate::scene::{ask_with, waiting};
use lockstep::contract::EventKind;
use serde_json::json;

#[tokio::test]
async fn a_pause_with_an_end_is_over_by_itself_and_the_sweep_resumes_the_lock() {
    let functions = Functions::new();
    functions.start(&["b", "c"]);
    functions.granted("nightly", "a").await;
    let until = functions.time_in(3600);
    let pause = json!({ "lock": "nightly", "until": until });

    let paused = functions.operate(act("pause", pause)).await.unwrap();
    functions.acquire(waiting("b", "token-b")).await.unwrap();
    let fails = ask_with("c", json!({ "overlap": "fail" }));
    let refused = functions.acquire(fails).await.unwrap_err();
    let show = json!({ "act": "show", "lock": "nightly" });
    let shown = functions.view(show.clone()).await.unwrap();
    functions.wait(3500);
    functions.sweep().await;
    let before = functions.output("token-b");
    functions.wait(103);
    functions.sweep().await;
    let open = functions.view(show).await.unwrap();

    assert_eq!(paused["done"], 1);
    let message = refused.message();
    assert!(
        message.contains(&format!("paused until {until}: upgrade")),
        "{message}"
    );
    assert_eq!(shown["closed"]["until"], json!(until));
    assert!(shown["frees"].as_str().unwrap().contains(&until), "{shown}");
    assert_eq!(before, None);
    assert_eq!(open["state"], "held");
    assert_eq!(open["last"][0]["outcome"], "resumed");
    assert_eq!(open["last"][0]["actor"], "reaper");
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    let event = functions.event(EventKind::LockResumed);
    assert!(event.reason.contains(&until), "{}", event.reason);
}

#[tokio::test]
async fn idle_locks_are_resumed_at_the_end_of_their_pause_and_open_before_the_sweep() {
    let functions = Functions::new();
    for lock in ["s/a", "s/b"] {
        let grant = functions.granted(lock, "x").await;
        functions.succeed(&grant).await;
    }
    let until = functions.time_in(600);
    let pause = act("pause", json!({ "prefix": "s/", "until": until }));
    functions.operate(pause.clone()).await.unwrap();
    let again = functions.operate(pause).await.unwrap();
    assert_eq!(again["unchanged"], 2);

    functions.wait(601);
    let list = json!({ "act": "list", "state": "paused" });
    let paused = functions.view(list).await.unwrap();
    functions.granted("s/a", "y").await;
    functions.wait(2);
    functions.sweep().await;

    assert_eq!(paused["locks"], json!([]), "the pause is over");
    assert!(!is_paused(&functions, "s/a").await);
    assert!(!is_paused(&functions, "s/b").await);
    assert_eq!(functions.holders("s/a").await, ["y"]);
    let kinds = functions.events.kinds();
    let resumed = kinds.iter().filter(|kind| **kind == EventKind::LockResumed);
    assert_eq!(resumed.count(), 2, "{kinds:?}");
}
