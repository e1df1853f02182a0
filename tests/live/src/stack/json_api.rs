//! AWS's JSON protocols over plain HTTP, for the few calls that need no SDK.

use super::pause;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{HeaderMap, Request};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use lockstep::clock::{Clock, SystemClock};
use serde_json::Value;
use std::error::Error;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(90);

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; null if it is empty.
    pub body: Value,
}

impl Reply {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Calls an API that speaks JSON with a target, such as `Logs_20140328.FilterLogEvents`. Like AWS's
/// own clients, it repeats a call up to two times after an internal error.
///
/// # Panics
/// If the answer is another error.
pub async fn call(endpoint: &str, service: &str, target: &str, body: &Value) -> Value {
    let content = "application/x-amz-json-1.1";
    let headers = [("X-Amz-Target", target), ("Content-Type", content)];
    let mut tries = 0;
    loop {
        let reply = send(endpoint, service, "POST", "/", &headers, body).await;
        tries += 1;
        if reply.status == 500 && tries < 3 {
            pause(100).await;
            continue;
        }
        assert_eq!(reply.status, 200, "{target}: {}", reply.body);
        return reply.body;
    }
}

/// Sends one request and reads its answer.
///
/// # Panics
/// If there is no answer.
pub async fn send(
    endpoint: &str,
    service: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Reply {
    // The emulator reads account and region from the scope and does not check the signature.
    let scope = format!("test/20260101/us-east-1/{service}/aws4_request");
    let signed = format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0");
    let request = Request::builder()
        .method(method)
        .uri(format!("{endpoint}{path}"));
    let request = request.header("Authorization", signed);
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    let body = Some(body).filter(|body| !body.is_null());
    let body = body.map(Value::to_string).unwrap_or_default();
    let request = request.body(Full::from(body)).expect("a request");
    let reply = tokio::select! {
        reply = exchange(request) => reply,
        () = SystemClock.sleep(TIMEOUT) => Err("no answer in time".into()),
    };
    reply.unwrap_or_else(|error| panic!("{method} {path} of {service} at {endpoint}: {error}"))
}

async fn exchange(request: Request<Full<Bytes>>) -> Result<Reply, Box<dyn Error + Send + Sync>> {
    let client = Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(0)
        .build_http();
    let (head, body) = client.request(request).await?.into_parts();
    let body = body.collect().await?.to_bytes();
    let body = match body.trim_ascii() {
        [] => Value::Null,
        // SNS answers in XML.
        text if text.starts_with(b"<") => String::from_utf8_lossy(text).into(),
        json => serde_json::from_slice(json)?,
    };
    Ok(Reply {
        status: head.status.as_u16(),
        headers: head.headers,
        body,
    })
}
