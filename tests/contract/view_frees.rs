//! What show says will free a permit of a lock that is being emptied or opened.

use crate::functions::Functions;
use crate::operate::act;
use crate::scene::{assert_says, execution, in_tasks, task};
use serde_json::json;

/// Its permit is free only once its work has stopped, so no release of it is awaited.
#[tokio::test]
async fn a_holder_that_is_being_stopped_is_shown_so_and_without_a_release() {
    let evict = act(
        "evict",
        json!({ "lock": "nightly", "holder": execution("a"), "force": true }),
    );
    for (case, says) in [
        ("reported", "a is ending: its run is over"),
        ("evicted", "a is being stopped."),
    ] {
        let (functions, grant) = Functions::held_with(&["a"], in_tasks()).await;
        functions.put_task("a", task("t", 1, false));
        match case {
            "reported" => {
                functions.finish(&grant, "stopping").await;
            }
            _ => {
                functions.operate(evict.clone()).await.unwrap();
            }
        }

        let shown = functions.shown().await;

        let frees = shown["frees"].as_str().unwrap();
        assert_says(frees, says);
        assert!(!frees.contains("Its release frees"), "{case}: {frees}");
    }
}

/// The sweep, which notes the end, has not come yet.
#[tokio::test]
async fn a_pause_that_has_ended_is_not_shown_as_what_keeps_a_permit() {
    let (functions, _) = Functions::held(&["a"]).await;
    let until = functions.time_in(60);
    functions
        .order("pause", json!({ "lock": "nightly", "until": until }))
        .await;

    let paused = functions.shown().await;
    functions.wait(60);
    let ended = functions.shown().await;

    assert_says(paused["frees"].as_str().unwrap(), "is paused until");
    assert_says(ended["frees"].as_str().unwrap(), "holds the permit");
    assert!(
        !ended["frees"].as_str().unwrap().contains("paused"),
        "{ended}"
    );
}
