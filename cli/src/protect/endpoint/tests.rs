//! The client against a mock agent that answers each call with fixed bytes.

use super::*;
use crate::platform::http::BODY_MAX;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const PROTECTED: &str =
    r#"{"protection":{"ExpirationDate":"2020-01-01T00:00:00Z","ProtectionEnabled":true}}"#;
const CLEAR: &str = r#"{"protection":{"ProtectionEnabled":false}}"#;

/// An agent under a path that answers one call, and the request that it received.
async fn agent(answer: &'static str) -> (Endpoint, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::new(&format!(
        "http://{}/api/c-1",
        listener.local_addr().unwrap()
    ));
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
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    length.is_none_or(|length| length.parse() == Ok(body.len()))
}

fn response(status: &str, body: &str) -> &'static str {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    (head + body).leak()
}

/// The client's result for this answer to a call that sets protection.
async fn put_result(answer: &'static str) -> Result<State, Refused> {
    let (endpoint, _asked) = agent(answer).await;
    endpoint.put(Some(1)).await
}

#[tokio::test]
async fn setting_protection_puts_the_two_fields_under_the_agents_path() {
    let (endpoint, asked) = agent(response("200 OK", PROTECTED)).await;

    let state = endpoint.put(Some(5)).await.unwrap();

    let asked = asked.await.unwrap();
    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("PUT /api/c-1/task-protection/v1/state HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(body, r#"{"ProtectionEnabled":true,"ExpiresInMinutes":5}"#);
    assert!(state.enabled);
}

#[tokio::test]
async fn clearing_protection_sends_no_minutes() {
    let (endpoint, asked) = agent(response("200 OK", CLEAR)).await;

    let state = endpoint.put(None).await.unwrap();

    assert!(
        asked
            .await
            .unwrap()
            .ends_with("\r\n\r\n{\"ProtectionEnabled\":false}")
    );
    assert!(!state.enabled);
}

#[tokio::test]
async fn the_state_is_read_with_get() {
    let (endpoint, asked) = agent(response("200 OK", PROTECTED)).await;

    let state = endpoint.get().await.unwrap();

    assert!(
        asked
            .await
            .unwrap()
            .starts_with("GET /api/c-1/task-protection/v1/state ")
    );
    assert!(state.enabled);
}

#[tokio::test]
async fn every_kind_of_answer_has_its_reason() {
    let failure = r#"{"failure":{"Arn":"t","Reason":"TASK_NOT_VALID","Detail":null}}"#;
    let error = |code: &str| format!(r#"{{"error":{{"Arn":"t","Code":"{code}","Message":"m"}}}}"#);
    let cases = [
        ("200 OK", failure.to_owned(), Reason::TaskNotValid),
        (
            "400 Bad Request",
            error("InvalidParameterException"),
            Reason::Rejected,
        ),
        (
            "403 Forbidden",
            error("AccessDeniedException"),
            Reason::AccessDenied,
        ),
        (
            "404 Not Found",
            error("ResourceNotFoundException"),
            Reason::Gone,
        ),
        (
            "504 Gateway Timeout",
            error("RequestCanceled"),
            Reason::RequestCanceled,
        ),
        ("200 OK", "garbage".to_owned(), Reason::Unreadable),
        ("200 OK", CLEAR.to_owned(), Reason::Unreadable),
    ];
    for (status, body, expected) in cases {
        let refused = put_result(response(status, &body)).await.unwrap_err();

        assert_eq!(refused.reason, expected, "{status} {body}");
    }
}

#[tokio::test]
async fn a_truncated_answer_leaves_the_outcome_open() {
    for answer in ["", "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"] {
        let refused = put_result(answer).await.unwrap_err();

        assert_eq!(refused.reason, Reason::NoAnswer, "{answer}");
        assert!(refused.reason.is_open());
    }
}

#[tokio::test]
async fn an_endless_answer_is_not_read_to_its_end() {
    let body = "x".repeat(BODY_MAX + 1);

    let refused = put_result(response("200 OK", &body)).await.unwrap_err();

    assert_eq!(refused.reason, Reason::NoAnswer, "{}", refused.detail);
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

    let refused = Endpoint::new(&format!("http://{address}"))
        .put(Some(1))
        .await
        .unwrap_err();

    assert_eq!(refused.reason, Reason::Unreachable, "{}", refused.detail);
    assert!(!refused.reason.is_open());
}

#[tokio::test]
async fn an_invalid_uri_is_rejected_and_named() {
    let refused = Endpoint::new("not a uri").put(Some(1)).await.unwrap_err();

    assert_eq!(refused.reason, Reason::Rejected);
    assert!(
        refused.detail.contains("not a uri/task-protection"),
        "{}",
        refused.detail
    );
}
