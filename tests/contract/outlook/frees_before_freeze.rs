//! What show says of a free permit of a lock that freezes at the end of its pause.

use crate::functions::Functions;
use crate::scene::{ask_with, merged, waiting};
use serde_json::json;

#[tokio::test]
async fn show_promises_no_grant_of_a_lock_that_the_next_sweep_freezes() {
    let functions = Functions::running(&["a", "b"]);
    let holds = json!({ "permits": 2, "stalePolicy": "hold" });
    functions.granted_with(ask_with("a", holds)).await;
    let until = functions.time_in(150);
    functions
        .order("pause", json!({ "lock": "nightly", "until": until }))
        .await;
    let of_two = merged(waiting("b", "token-b"), &json!({ "permits": 2 }));
    assert_eq!(functions.status(of_two).await, "queued");
    functions.silent_for_long(60).await;
    functions.wait(67);

    let shown = functions.shown().await;
    functions.wait(30);
    functions.sweep().await;

    let frees = shown["frees"].as_str().unwrap();
    let says_so = frees.contains("grants it to the first waiter");
    let is_granted = functions.output("token-b").is_some();
    assert_eq!(says_so, is_granted, "{frees}");
}
