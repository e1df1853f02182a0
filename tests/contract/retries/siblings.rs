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

/// A look looks at ten of them, the longest silent first. Once these run, the last look of the call looks at ten others.
#[tokio::test]
async fn a_retry_looks_first_at_the_siblings_that_are_silent_for_the_longest() {
    for (siblings, they_renew, expected) in [
        (9, false, "granted"),
        (10, false, "granted"),
        (19, false, "granted"),
        (20, false, "skipped"),
        (22, true, "granted"),
    ] {
        let names: Vec<_> = (0..siblings).map(|number| format!("x{number}")).collect();
        let functions = Functions::running(&["a", "b"]);
        let terms = json!({
            "permits": siblings + 1, "leaseSeconds": 600, "parent": execution("caller")
        });
        let of = |name: &str, more: Value| ask_with(name, merged(terms.clone(), &more));
        let mut grants = Vec::new();
        for name in &names {
            functions.start(&[name]);
            grants.push(functions.granted_with(of(name, json!({}))).await);
        }
        functions.wait(1);
        functions.granted_with(of("a", json!({}))).await;
        functions.wait(1);
        functions.end("a", ExecutionEnd::Aborted);
        functions.wait(1);
        for grant in grants.iter().filter(|_| they_renew) {
            functions.renew(grant).await;
        }
        let retry = of("b", json!({ "waitForEnding": true }));

        let status = functions.status(retry).await;

        assert_eq!(status, expected, "{siblings}, {they_renew}");
    }
}
