//! What the API refuses, and what it does not reveal.

use super::Agent;
use crate::support::Inside;
use lockstep_tests::stack::now;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const JSON: &[&str] = &["Content-Type: application/json"];

#[tokio::test]
async fn a_bad_request_gets_an_error_that_says_what_is_wrong() {
    let (inside, lock, agent) = Agent::with_lock("agent-bad").await;
    let good = json!({ "name": "export", "lock": lock });
    let with = |(field, value): (&'static str, Value)| {
        let mut wish = good.clone();
        wish[field] = value;
        (wish, field)
    };
    let fields = [
        ("lock", json!("a b")),
        ("name", json!("a b")),
        ("permits", json!(101)),
        ("leaseSeconds", json!(4)),
        ("runKey", json!("")),
        ("overlap", json!("wait")),
        ("lockk", json!("x")),
    ];
    let others = [
        (json!({}), "name"),
        (json!({ "name": "export" }), "lock"),
        (json!(["export", lock]), "not a JSON object"),
    ];

    for (wish, word) in fields.map(with).into_iter().chain(others) {
        let answer = agent.ask(wish.clone()).await;

        assert_eq!(answer.error(), (400, "Lockstep.InvalidRequest"), "{wish}");
        let message = answer.body["message"].to_string();
        assert!(message.contains(word), "{answer:?}");
    }
    assert!(inside.record(&lock).await.is_none(), "nothing was written");
}

#[tokio::test]
async fn a_request_outside_the_api_gets_a_json_error() {
    let inside = Inside::open().await;
    let agent = Agent::start(&inside, &[]).await;
    let large = " ".repeat(20_000);
    let text: &[&str] = &["Content-Type: text/plain"];
    let too_long = "GET /v1/jobs/unknown?waitSeconds=61";
    let (invalid, unknown) = ("Lockstep.InvalidRequest", "Agent.NoSuchJob");
    let table = [
        ("POST /v1/jobs", JSON, "{", 400, invalid),
        ("POST /v1/jobs", &[], "{}", 415, "Agent.NotJson"),
        ("POST /v1/jobs", text, "{}", 415, "Agent.NotJson"),
        ("POST /v1/jobs", JSON, &large, 413, "Agent.TooLarge"),
        ("PUT /v1/jobs", JSON, "{}", 405, "Agent.MethodNotAllowed"),
        ("GET /v2/jobs", &[], "", 404, "Agent.NotFound"),
        ("GET /v1/jobs/unknown", &[], "", 404, unknown),
        ("GET /v1/jobs/%ff", &[], "", 404, unknown),
        ("POST /v1/jobs/unknown/beat", &[], "", 404, unknown),
        (too_long, &[], "", 400, invalid),
    ];

    for (line, headers, body, status, name) in table {
        let (method, path) = line.split_once(' ').expect("a path");

        let answer = agent.send(method, path, headers, body).await;

        assert_eq!(answer.error(), (status, name), "{line}");
    }
}

#[tokio::test]
async fn a_request_from_a_web_page_is_refused() {
    const ORIGIN: &str = "Origin: https://example.com";
    let (inside, lock, agent) = Agent::with_lock("agent-page").await;
    let on_socket = Agent::start_on_socket(&inside).await;
    let begin = json!({ "name": "export", "lock": lock }).to_string();
    let table = [
        ("GET", "/v1/jobs", ["Host: example.com:7414", "Accept: */*"]),
        ("GET", "/v1/health", ["Host: localhost", ORIGIN]),
        ("OPTIONS", "/v1/jobs", ["Host: 127.0.0.1:7414", ORIGIN]),
        ("POST", "/v1/jobs", ["Host: example.com:7414", JSON[0]]),
        ("GET", "/v2/jobs", ["Host: example.com", "Accept: */*"]),
    ];

    for (method, path, headers) in table {
        let answer = agent.send(method, path, &headers, &begin).await;

        assert_eq!(answer.error(), (403, "Agent.Forbidden"), "{headers:?}");
    }
    let by_name = ["Host: example.com"];
    let response = on_socket.send("GET", "/v1/health", &by_name, "").await;
    assert_eq!(response.status, 200, "no name leads a browser to a socket");
    assert!(inside.record(&lock).await.is_none());
}

#[tokio::test]
async fn after_a_beat_with_a_bad_progress_the_next_beat_succeeds() {
    let (_inside, lock, agent) = Agent::with_lock("agent-progress").await;
    let job = agent.begin(json!({ "name": "export", "lock": lock })).await;

    let bad = agent.beat(&job, json!({ "progress": "größe" })).await;
    let next = agent.beat(&job, json!({ "progress": "row 2" })).await;

    assert_eq!(bad.error(), (400, "Lockstep.InvalidRequest"));
    assert_eq!(next.status, 200, "{next:?}");
}

#[tokio::test]
async fn only_the_client_that_began_a_job_learns_its_id() {
    let (_inside, lock, agent) = Agent::with_lock("agent-secret").await;
    let job = agent.begin(json!({ "name": "export", "lock": lock })).await;

    let end = json!({ "outcome": "failed" });
    let response = [
        agent.get("/v1/jobs").await,
        agent.get("/v1/health").await,
        agent.ask(json!({ "name": "other", "lock": lock })).await,
        agent.post("/v1/jobs/unknown/end", &end).await,
    ];

    assert_eq!(response[0].body["jobs"][0]["lock"], json!(lock));
    for answer in response {
        assert!(!answer.body.to_string().contains(job.job()), "{answer:?}");
    }
    assert!(!job.body["holder"].to_string().contains(job.job()));
}

#[tokio::test]
async fn the_api_serves_its_openapi_description() {
    let inside = Inside::open().await;
    let agent = Agent::start(&inside, &[]).await;

    let response = agent.get("/v1/openapi.yaml").await;

    let own = std::fs::read_to_string(lockstep_tests::repository().join("docs/agent.openapi.yaml"));
    assert_eq!(response.body, Value::from(own.expect("the description")));
}

#[tokio::test]
async fn slow_and_silent_clients_do_not_hold_up_others() {
    let (_inside, lock, agent) = Agent::with_lock("agent-busy").await;
    let head = "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n";
    let mut slow = Vec::new();
    for _ in 0..300 {
        slow.push(sent(&agent, head).await);
    }

    let begun = agent.ask(json!({ "name": "export", "lock": lock })).await;

    assert_eq!(begun.status, 201, "{begun:?}");
    drop(slow);
}

#[tokio::test]
async fn a_client_has_ten_seconds_for_its_request_and_none_for_another_one() {
    let inside = Inside::open().await;
    let agent = Agent::start(&inside, &[]).await;
    bounds_slow_clients(&agent).await;
}

/// Returns a connection over which `text` was sent.
async fn sent(agent: &Agent, text: &str) -> TcpStream {
    let stream = TcpStream::connect(&agent.place).await;
    let mut stream = stream.expect("a connection");
    stream.write_all(text.as_bytes()).await.expect("sent");
    stream
}

/// Checks that the connection of a slow client of each kind is closed within its time.
pub(crate) async fn bounds_slow_clients(agent: &Agent) {
    let half = "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Le";
    let whole = "GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let begun = now();

    let mut closed = Vec::new();
    for (text, least, most) in [
        ("", 9_000, 14_000),
        (half, 9_000, 14_000),
        (whole, 0, 5_000),
    ] {
        let mut stream = sent(agent, text).await;
        closed.push(tokio::spawn(async move {
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.ok();
            let took = now() - begun;
            assert!((least..most).contains(&took), "{text:?}: {took} ms");
        }));
    }

    for one in closed {
        one.await.expect("closed in time");
    }
}
