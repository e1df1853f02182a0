//! What show says of a holder whose replacer has registered after the described end of its execution.

use crate::functions::Functions;
use crate::replace::replacing;
use lockstep::domain::ExecutionEnd;
use serde_json::json;

/// The description counts 30 s after the registration. The check then removes the replacer from the queue.
#[tokio::test]
async fn show_predicts_what_a_check_does_after_the_lag_of_a_replacer() {
    let (functions, _) = Functions::held_with(&["a", "b"], json!({})).await;
    functions.wait(9);
    functions.end("b", ExecutionEnd::Aborted);
    functions.wait(1);
    let answer = functions.acquire(replacing("b", "token-b")).await.unwrap();
    assert_eq!(answer["status"], "queued");
    functions.wait(2);

    let shown = functions.shown().await;
    functions.wait(50);
    functions.sweep().await;

    let record = functions.record("nightly").await.unwrap();
    let next = shown["holders"][0]["next"]["action"].as_str().unwrap();
    let is_suspect = record
        .holders
        .values()
        .any(|lease| lease.exit.suspect.is_some());
    let done = match (record.queue.is_empty(), is_suspect) {
        (true, false) => "dropReplacer",
        (false, true) => "suspect",
        _ => "something else",
    };
    assert_eq!(next, done, "{shown}");
    let from = &shown["holders"][0]["next"]["from"];
    assert_eq!(from, "2026-03-01T06:00:40Z", "30 s after the registration");
}
