//! What show says of a live holder whose replacer waits for the end of the rest.

use crate::functions::Functions;
use crate::replace::replacing;
use crate::scene::assert_says;
use serde_json::json;

/// The holder sends heartbeats. Without that condition the sentence announces a mark that no check sets.
#[tokio::test]
async fn show_makes_the_mark_of_a_suspect_depend_on_the_heartbeats() {
    let rests = json!({ "minIntervalSeconds": 600 });
    let (functions, grant) = Functions::held_with(&["a", "b"], rests).await;
    functions.wait(5);
    functions.acquire(replacing("b", "token-b")).await.unwrap();

    let shown = functions.shown().await;
    for _ in 0..9 {
        functions.wait(15);
        functions.renew(&grant).await;
        functions.sweep().await;
    }

    let record = functions.record("nightly").await.unwrap();
    let mut leases = record.holders.values();
    assert!(leases.all(|lease| lease.exit.suspect.is_none()));
    assert_eq!(shown["holders"][0]["next"]["action"], "suspect", "{shown}");
    let frees = shown["frees"].as_str().unwrap();
    assert_says(frees, "If no further heartbeat arrives");
}
