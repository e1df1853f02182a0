//! The client against a mock agent that answers each call with fixed bytes.

use super::*;
use crate::platform::http::BODY_MAX;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const PROTECTED: &str =
    r#"{"protection":{"ExpirationDate":"2020-01-01T00:00:00Z","ProtectionEnabled":true}}"#;
const CLEAR: &str = r#"{"protection":{"ProtectionEnabled":false}}"#;

/// Starts an agent below a path that answers one call. Returns its endpoint, and the request that it
/// receives.
async fn agent(answer: &'static str) -> (Endpoint, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let endpoint = Endpoint::new(&format!("http://{address}/api/c-1"));
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = String::new();
        while !is_whole(&request) {
            let mut part = [0; 1024];
            let length = stream.read(&mut part).await.unwrap();
            assert_ne!(length, 0, "truncated request: {request}");
            request.push_str(std::str::from_utf8(&part[..length]).unwrap());
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        request
    });
    (endpoint, asked)
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else {
        return false;
    };
    let mut lines = head.lines();
    let length = lines.find_map(|line| line.strip_prefix("content-length: "));
    length.is_none_or(|length| length.parse() == Ok(body.len()))
}

fn response(status: &str, body: &str) -> &'static str {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    (head + body).leak()
}

/// Returns the client's refusal after this answer to a call that sets protection.
async fn refusal(answer: &'static str) -> Refused {
    let (endpoint, _asked) = agent(answer).await;
    endpoint.put(Some(1)).await.unwrap_err()
}

/// Returns what the client sends for `call`, and whether protection is set according to the answer `body`.
async fn exchange(body: &str, call: Call) -> (String, bool) {
    let (endpoint, asked) = agent(response("200 OK", body)).await;
    let state = match call {
        Call::Put(minutes) => endpoint.put(minutes).await,
        Call::Get => endpoint.get().await,
    };
    (asked.await.unwrap(), state.unwrap().enabled)
}

enum Call {
    Put(Option<u64>),
    Get,
}

#[tokio::test]
async fn setting_protection_puts_the_two_fields_under_the_agents_path() {
    let (asked, enabled) = exchange(PROTECTED, Call::Put(Some(5))).await;

    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    let line = "PUT /api/c-1/task-protection/v1/state HTTP/1.1\r\n";
    assert!(head.starts_with(line), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(body, r#"{"ProtectionEnabled":true,"ExpiresInMinutes":5}"#);
    assert!(enabled);
}

#[tokio::test]
async fn clearing_protection_sends_no_minutes() {
    let (asked, enabled) = exchange(CLEAR, Call::Put(None)).await;

    let body = "\r\n\r\n{\"ProtectionEnabled\":false}";
    assert!(asked.ends_with(body), "{asked}");
    assert!(!enabled);
}

#[tokio::test]
async fn the_state_is_read_with_get() {
    let (asked, enabled) = exchange(PROTECTED, Call::Get).await;

    let line = "GET /api/c-1/task-protection/v1/state ";
    assert!(asked.starts_with(line), "{asked}");
    assert!(enabled);
}

#[tokio::test]
async fn every_kind_of_answer_has_its_reason() {
    let failure = r#"{"failure":{"Arn":"t","Reason":"TASK_NOT_VALID","Detail":null}}"#;
    use Reason::{AccessDenied, Gone, Rejected, RequestCanceled, TaskNotValid, Unreadable};
    for (status, body, expected) in [
        ("200 OK", failure, TaskNotValid),
        ("400 Bad Request", "InvalidParameterException", Rejected),
        ("403 Forbidden", "AccessDeniedException", AccessDenied),
        ("404 Not Found", "ResourceNotFoundException", Gone),
        ("504 Gateway Timeout", "RequestCanceled", RequestCanceled),
        ("200 OK", "garbage", Unreadable),
        ("200 OK", CLEAR, Unreadable),
    ] {
        let error = format!(r#"{{"error":{{"Arn":"t","Code":"{body}","Message":"m"}}}}"#);
        let body = if status == "200 OK" { body } else { &error };

        let refused = refusal(response(status, body)).await;

        assert_eq!(refused.reason, expected, "{status} {body}");
    }
}

#[tokio::test]
async fn a_truncated_or_endless_answer_leaves_the_outcome_open() {
    let endless = response("200 OK", &"x".repeat(BODY_MAX + 1));
    let truncated = "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{";
    for answer in ["", truncated, endless] {
        let refused = refusal(answer).await;

        assert_eq!(refused.reason, Reason::NoAnswer, "{}", refused.detail);
        assert!(refused.reason.is_open());
    }
}

/// The paused clock jumps to the timeout, as no task can run before it.
#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::new(&format!("http://{}", listener.local_addr().unwrap()));

    let refused = endpoint.put(Some(1)).await.unwrap_err();

    assert_eq!(refused.reason, Reason::NoAnswer);
    assert_eq!(refused.detail, "nothing within 14 s");
}

#[tokio::test]
async fn a_refused_connection_is_unreachable_and_no_request_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);

    let endpoint = Endpoint::new(&format!("http://{address}"));
    let refused = endpoint.put(Some(1)).await.unwrap_err();

    assert_eq!(refused.reason, Reason::Unreachable, "{}", refused.detail);
    assert!(!refused.reason.is_open());
}

#[tokio::test]
async fn an_invalid_uri_is_rejected_and_named() {
    let refused = Endpoint::new("not a uri").put(Some(1)).await.unwrap_err();

    assert_eq!(refused.reason, Reason::Rejected);
    let detail = refused.detail;
    assert!(detail.contains("not a uri/task-protection"), "{detail}");
}
