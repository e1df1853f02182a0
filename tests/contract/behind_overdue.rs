//! A dead holder of a semaphore behind three older ones at work, whose heartbeats are more than a minute apart.

use crate::functions::Functions;
use crate::scene::ask_with;
use lockstep::domain::ExecutionEnd;
use serde_json::json;

/// Each of the older holders is overdue after 65 s too, and each call checks three. The event of the end is lost.
#[tokio::test]
async fn runs_that_ask_find_each_dead_holder_of_a_semaphore() {
    let functions = Functions::running(&["x1", "x2", "x3", "a", "b"]);
    let of_four = |name: &str| ask_with(name, json!({ "permits": 4, "leaseSeconds": 900 }));
    for name in ["x1", "x2", "x3", "a"] {
        functions.granted_with(of_four(name)).await;
    }
    functions.wait(1);
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(65);

    let mut answers = Vec::new();
    for _ in 0..10 {
        functions.wait(31);
        answers.push(functions.status(of_four("b")).await);
    }

    assert!(
        answers.iter().any(|answer| answer == "granted"),
        "{answers:?}"
    );
}
