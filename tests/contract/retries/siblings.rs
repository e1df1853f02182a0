//! A retry whose dead predecessor is the youngest of four holders that one caller has started, as the items of a Map.

use crate::functions::Functions;
use crate::scene::{ask_with, execution, merged};
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

#[tokio::test]
async fn a_retry_finds_its_dead_predecessor_behind_three_siblings() {
    let functions = Functions::running(&["x1", "x2", "x3", "a", "b"]);
    let terms = json!({ "permits": 4, "leaseSeconds": 600, "parent": execution("caller") });
    let of = |name: &str, more: Value| ask_with(name, merged(terms.clone(), &more));
    for name in ["x1", "x2", "x3", "a"] {
        functions.granted_with(of(name, json!({}))).await;
    }
    functions.wait(1);
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(1);
    let retry = of("b", json!({ "waitForEnding": true }));

    let status = functions.status(retry).await;

    assert_eq!(status, "granted");
}
