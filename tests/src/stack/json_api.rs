//! AWS's JSON protocols over plain HTTP, for the few calls that need no SDK.

use lockstep::clock::{Clock, SystemClock};
use serde_json::Value;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const TIMEOUT: Duration = Duration::from_secs(90);

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null when it is empty.
    pub body: Value,
}

impl Reply {
    /// The value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Sends one request and reads its answer.
pub(super) async fn send(
    endpoint: &str,
    service: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Reply {
    let host = endpoint.trim_start_matches("http://");
    // The emulator reads account and region from the scope and does not check the signature.
    let scope = format!("test/20260101/us-east-1/{service}/aws4_request");
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let mut text = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0\r\n",
        body.len()
    );
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(&body);
    let told = tokio::select! {
        told = exchange(host, &text) => told.map_err(|error| error.to_string()),
        () = SystemClock.sleep(TIMEOUT) => Err("no answer in time".to_owned()),
    };
    let reply = told.and_then(|bytes| parse(&bytes));
    reply.unwrap_or_else(|error| panic!("{method} {path} of {service} at {endpoint}: {error}"))
}

async fn exchange(host: &str, request: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(host).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await?;
    Ok(bytes)
}

fn parse(bytes: &[u8]) -> Result<Reply, String> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").ok_or("half an answer")?;
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let status = status.and_then(|code| code.parse().ok());
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
    let body = if body.trim().is_empty() {
        Value::Null
    } else {
        serde_json::from_str(body).map_err(|error| format!("{error} in {body}"))?
    };
    Ok(Reply {
        status: status.ok_or("no status")?,
        headers: headers.collect(),
        body,
    })
}
