//! A retry whose dead predecessor is the youngest holder of a semaphore.

use crate::functions::Functions;
use crate::scene::{ask_with, execution, merged};
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

/// A holder whose heartbeats are more than a minute apart is overdue after 65 s, and is worth a check although
/// it works.
#[tokio::test]
async fn a_retry_finds_its_dead_predecessor_behind_older_holders_at_work() {
    let names = ["x1", "x2", "x3", "x4"];
    for older in 1..=names.len() {
        let functions = Functions::running(&["x1", "x2", "x3", "x4", "a", "b"]);
        let terms = json!({ "permits": older + 1, "leaseSeconds": 600 });
        let of = |name: &str, more: Value| ask_with(name, merged(terms.clone(), &more));
        for &name in &names[..older] {
            functions.granted_with(of(name, json!({}))).await;
        }
        functions.wait(70);
        let parent = json!({ "parent": execution("caller") });
        functions.granted_with(of("a", parent.clone())).await;
        functions.wait(1);
        functions.end("a", ExecutionEnd::Aborted);
        functions.wait(1);
        let retry = of("b", merged(parent, &json!({ "waitForEnding": true })));

        let status = functions.status(retry).await;

        assert_eq!(status, "granted", "{older} older holders");
    }
}
