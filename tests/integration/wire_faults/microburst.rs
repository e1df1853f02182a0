//! A proxy in front of DynamoDB that fails requests by rule: `microburst`, from `lockstack install`.

use super::LATE;
use lockstep::clock::{Clock, SystemClock};
use lockstep_tests::dynamodb_local::{Retries, client};
use serde_json::{Value, json};
use std::fmt;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HELP: &str = "microburst does not start: tests/stack/lockstack install, and have \
                    ~/.cache/lockstep/bin in PATH, as make does";

/// Ends the proxy when the test program ends, however it ends: its end closes the pipe.
const KEEPER: &str = r#"microburst --upstream "$0" --port "$1" >/dev/null 2>&1 &
read -r _; kill $!"#;

pub(super) struct Microburst {
    endpoint: String,
    keeper: Child,
}

/// What the proxy has done.
pub(super) struct Faults(Value);

impl Microburst {
    /// A proxy that lets everything through, warm: its first request takes seconds.
    pub(super) async fn before(endpoint: &str) -> Self {
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
        let port = free.expect("a free port").port();
        let mut shell = Command::new("sh");
        shell.args(["-c", KEEPER, endpoint, &port.to_string()]);
        let proxy = Self {
            endpoint: format!("http://127.0.0.1:{port}"),
            keeper: shell.stdin(Stdio::piped()).spawn().expect("a shell"),
        };
        let client = client(&proxy.endpoint, Retries::Off).await;
        for _ in 0..600 {
            if client.list_tables().send().await.is_ok() {
                return proxy;
            }
            SystemClock.sleep(Duration::from_millis(100)).await;
        }
        panic!("{HELP}")
    }

    pub(super) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Three requests in ten fail from now on: half of the failures before DynamoDB sees the
    /// request, the others after it, or much later.
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

    /// Nothing fails from now on.
    pub(super) async fn heal(&self) -> Faults {
        let stats = self.control("GET", "stats", &Value::Null).await;
        self.control("POST", "rules", &json!([])).await;
        Faults(stats)
    }

    async fn control(&self, method: &str, path: &str, body: &Value) -> Value {
        let host = self.endpoint.trim_start_matches("http://");
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = format!(
            "{method} /_microburst/{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(host).await.expect("the proxy runs");
        stream
            .write_all(request.as_bytes())
            .await
            .expect("the proxy reads");
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .await
            .expect("the proxy answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a whole answer");
        assert!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {answer}");
        serde_json::from_str(body).unwrap_or(Value::Null)
    }
}

impl Drop for Microburst {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ended = self.keeper.wait();
    }
}

impl Faults {
    /// A test that met no fault has shown nothing: each kind has to come up, and all of them in
    /// two requests of ten at least.
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
