//! A proxy in front of DynamoDB that fails requests by rule: `microburst`, from `lockstack install`.

use super::LATE;
use lockstep_tests::dynamodb_local::serve;
use lockstep_tests::stack::json_api::send;
use serde_json::{Value, json};
use std::fmt;
use std::process::Child;

/// From `tests/stack/lockstack install`; `make` has `~/.cache/lockstep/bin` in PATH.
const PROXY: &str = r#"microburst --port "$0" --upstream "$1""#;

pub(super) struct Microburst {
    endpoint: String,
    keeper: Child,
}

/// The statistics of the proxy.
pub(super) struct Faults(Value);

impl Microburst {
    /// Starts a proxy that lets everything through. It is warm, because its first request takes
    /// seconds.
    pub(super) async fn before(endpoint: &str) -> Self {
        let (endpoint, keeper) = serve(PROXY, ".", endpoint).await;
        Self { endpoint, keeper }
    }

    pub(super) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Makes three requests in ten fail: half of them before DynamoDB sees the request, the others
    /// after that, or much later.
    pub(super) async fn fail(&self) {
        let late = u64::try_from(LATE.as_millis()).unwrap();
        let effects = [
            (
                0.06,
                json!({ "error": { "code": "ProvisionedThroughputExceededException" } }),
            ),
            (
                0.05,
                json!({ "error": { "code": "InternalServerError", "status": 500 } }),
            ),
            (0.06, json!({ "reset": true })),
            (0.03, json!({ "timeout_ms": late })),
            (0.03, json!({ "latency": late })),
            (0.10, json!({ "response": { "abort_bytes": 0 } })),
        ];
        let rules = effects.map(|(probability, mut rule)| {
            rule["service"] = json!("dynamodb");
            rule["probability"] = json!(probability);
            rule
        });
        self.control("POST", "rules", &json!(rules)).await;
    }

    /// Lets all requests through again. Returns the statistics of the faults.
    pub(super) async fn heal(&self) -> Faults {
        let stats = self.control("GET", "stats", &Value::Null).await;
        self.control("POST", "rules", &json!([])).await;
        Faults(stats)
    }

    async fn control(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("/_microburst/{path}");
        let json = [("Content-Type", "application/json")];
        let reply = send(&self.endpoint, "dynamodb", method, &path, &json, body).await;
        assert!(
            (200..300).contains(&reply.status),
            "{method} {path}: {reply:?}"
        );
        reply.body
    }
}

impl Drop for Microburst {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ended = self.keeper.wait();
    }
}

impl Faults {
    /// Asserts that each kind of fault came up, and that at least two requests in ten failed. A
    /// test that met no fault has shown nothing.
    pub(super) fn assert_enough(&self) {
        let requests = &self.0["requests"];
        let (total, faulted) = (requests["total"].as_u64(), requests["faulted"].as_u64());
        let share = faulted.unwrap() * 10 / total.unwrap();
        assert!(share >= 2, "{self}");
        for rule in self.0["by_rule"].as_array().unwrap() {
            assert!(rule["fired"].as_u64() > Some(20), "{self}");
        }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = &self.0["requests"];
        write!(
            f,
            "{} requests, {} failed on the wire:",
            requests["total"], requests["faulted"]
        )?;
        for rule in self.0["by_rule"].as_array().into_iter().flatten() {
            let what = rule["describe"].as_str().unwrap_or_default();
            write!(f, " {what} {}", rule["fired"])?;
        }
        Ok(())
    }
}
