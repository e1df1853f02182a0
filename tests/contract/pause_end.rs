//! A pause with an end.

use crate::functions::Functions;
use crate::operate::is_paused;
use crate::scene::{ask_with, assert_fails, assert_has, assert_says};
use lockstep::contract::EventKind;
use serde_json::json;

#[tokio::test]
async fn the_sweep_resumes_a_lock_at_the_end_of_its_pause() {
    let functions = Functions::running(&["b", "c"]);
    functions.granted("nightly", "a").await;
    let until = functions.time_in(3600);
    let pause = json!({ "lock": "nightly", "until": until });

    let paused = functions.order("pause", pause).await;
    functions.queue(&["b"]).await;
    let refused = functions.acquire(ask_with("c", json!({ "overlap": "fail" })));
    let paused_until = format!("paused until {until}: upgrade");
    assert_fails(refused.await, "Lockstep.LockPaused", &[&paused_until]);
    let shown = functions.shown().await;
    functions.wait(3500);
    functions.sweep().await;
    let before = functions.output("token-b");
    functions.wait(103);
    functions.sweep().await;
    let open = functions.shown().await;

    assert_eq!(paused["done"], 1);
    assert_eq!(shown["closed"]["until"], json!(until));
    assert_says(shown["frees"].as_str().unwrap(), &until);
    assert_eq!(before, None);
    assert_eq!(open["state"], "held");
    assert_has(
        &open["last"][0],
        json!({ "outcome": "resumed", "actor": "reaper" }),
    );
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    assert_says(&functions.event(EventKind::LockResumed).reason, &until);
}

#[tokio::test]
async fn an_idle_lock_is_open_at_the_end_of_its_pause_before_the_sweep() {
    let functions = Functions::new();
    for lock in ["s/a", "s/b"] {
        functions.ran(lock, "x").await;
    }
    let until = functions.time_in(600);
    let pause = json!({ "prefix": "s/", "until": until });
    functions.order("pause", pause.clone()).await;
    let again = functions.order("pause", pause).await;
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
