//! A dead holder beside three siblings of the caller at work.

use crate::functions::Functions;
use crate::scene::{ask_with, execution, merged};
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

/// The siblings may be attempts before the caller, so each call checks them. The event of the end is lost.
#[tokio::test]
async fn an_item_of_a_map_finds_a_dead_holder_beside_its_siblings() {
    let functions = Functions::running(&["x1", "x2", "x3", "a", "b"]);
    let of_four = |name: &str, more: &Value| {
        let terms = json!({ "permits": 4, "leaseSeconds": 900 });
        ask_with(name, merged(terms, more))
    };
    let sibling = json!({ "parent": execution("caller"), "waitForEnding": true });
    for name in ["x1", "x2", "x3"] {
        functions.granted_with(of_four(name, &sibling)).await;
    }
    functions.granted_with(of_four("a", &json!({}))).await;
    functions.wait(1);
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(65);

    let mut answers = Vec::new();
    for _ in 0..10 {
        functions.wait(31);
        answers.push(functions.status(of_four("b", &sibling)).await);
    }

    assert!(
        answers.iter().any(|answer| answer == "granted"),
        "{answers:?}"
    );
}
