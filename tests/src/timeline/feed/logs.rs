//! Lines of a CloudWatch Logs group: one call, so its JSON protocol is spoken by hand.
//!
//! <https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html>

use super::Result;
use crate::timeline::Millis;
use serde_json::{Value, json};
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The local stack only looks who calls, so the signature itself may be anything.
const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/logs/aws4_request, \
                      SignedHeaders=host, Signature=0";

/// All lines of `group` since `since`, in the order of time.
pub(super) async fn lines(endpoint: &str, group: &str, since: Millis) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut next = Value::Null;
    loop {
        let mut request = json!({ "logGroupName": group, "startTime": since });
        if !next.is_null() {
            request["nextToken"] = next.clone();
        }
        let mut answer = call(endpoint, &request)
            .await
            .map_err(|error| format!("FilterLogEvents of {group}: {error}"))?;
        let events = answer["events"].as_array();
        let events = events.ok_or_else(|| format!("FilterLogEvents of {group}: {answer}"))?;
        let messages = events.iter().filter_map(|event| event["message"].as_str());
        lines.extend(messages.map(|message| message.trim_end().to_owned()));
        let after = answer["nextToken"].take();
        if after.is_null() || after == next {
            return Ok(lines);
        }
        next = after;
    }
}

async fn call(endpoint: &str, request: &Value) -> io::Result<Value> {
    let address = endpoint.trim_start_matches("http://").trim_end_matches('/');
    let body = request.to_string();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: {SIGNED}\r\n\
         X-Amz-Target: Logs_20140328.FilterLogEvents\r\n\
         Content-Type: application/x-amz-json-1.1\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut wire = TcpStream::connect(address).await?;
    wire.write_all(head.as_bytes()).await?;
    wire.write_all(body.as_bytes()).await?;
    let mut answer = Vec::new();
    wire.read_to_end(&mut answer).await?;
    body_of(&answer)
}

fn body_of(answer: &[u8]) -> io::Result<Value> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(serde_json::from_slice(&answer[end + 4..])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_what_follows_the_empty_line() {
        let body = body_of(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n{\"events\":[]}");

        assert_eq!(body.ok(), Some(json!({ "events": [] })));
        assert!(body_of(b"HTTP/1.1 200 OK\r\n").is_err());
        assert!(body_of(b"HTTP/1.1 200 OK\r\n\r\n<html>").is_err());
    }
}
