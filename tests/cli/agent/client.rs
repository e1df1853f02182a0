//! A started agent, and a client of its API over plain sockets.

use crate::support::{Inside, Started};
use lockstep_tests::stack::{unique, until};
use serde_json::{Value, json};
use std::net::TcpListener;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::process::Command;

/// `lockstep agent`, on a port or a socket of its own.
#[derive(Debug)]
pub(crate) struct Agent {
    /// The process.
    pub(crate) process: Started,
    /// Where it listens: `127.0.0.1:PORT` or the path of a socket.
    pub(crate) place: String,
}

/// An answer of the API.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The JSON body, or its text if it is no JSON.
    pub(crate) body: Value,
}

impl Answer {
    /// Returns the status and the name of an error.
    pub(crate) fn error(&self) -> (u16, &str) {
        assert!(self.body["message"].is_string(), "{self:?}");
        (self.status, self.body["error"].as_str().expect("a name"))
    }

    /// Returns the HTTP status, and the `status` of the body.
    pub(crate) fn status(&self) -> (u16, &str) {
        let status = self.body["status"].as_str();
        (self.status, status.unwrap_or_default())
    }

    /// Returns the id of the job that has begun.
    pub(crate) fn job(&self) -> &str {
        assert_eq!(self.status, 201, "{self:?}");
        self.body["job"].as_str().expect("an id")
    }
}

impl Agent {
    /// Starts an agent with `flags` on a free port, and waits until it listens.
    pub(crate) async fn start(inside: &Inside, flags: &[&str]) -> Self {
        Self::start_with(inside, flags, |_| {}).await
    }

    /// Starts an agent without flags, with a lock of the test's own.
    pub(crate) async fn with_lock(test: &str) -> (Inside, String, Self) {
        let (inside, lock) = Inside::with_lock(test).await;
        let agent = Self::start(&inside, &[]).await;
        (inside, lock, agent)
    }

    /// Starts an agent with `flags`, after a change to its command.
    pub(crate) async fn start_with(
        inside: &Inside,
        flags: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let place = free_port();
        let mut command = inside.command(&[&["agent", "--listen", &place], flags].concat());
        change(&mut command);
        Self::started(command, place).await
    }

    /// Starts an agent on a socket.
    pub(crate) async fn start_on_socket(inside: &Inside) -> Self {
        let place = std::env::temp_dir().join(unique("agent"));
        let place = place.display().to_string();
        Self::started(inside.command(&["agent", "--socket", &place]), place).await
    }

    async fn started(command: Command, place: String) -> Self {
        let process = Started::of(command);
        let agent = Self { process, place };
        until("agent", 20, async || agent.connect().await.is_some()).await;
        agent
    }

    async fn connect(&self) -> Option<Box<dyn Stream>> {
        if self.place.starts_with('/') {
            let stream = UnixStream::connect(&self.place).await.ok()?;
            return Some(Box::new(stream));
        }
        let stream = TcpStream::connect(&self.place).await.ok()?;
        Some(Box::new(stream))
    }

    /// Begins a job. Panics if it does not begin.
    pub(crate) async fn begin(&self, wish: Value) -> Answer {
        let answer = self.ask(wish).await;
        answer.job();
        answer
    }

    /// Asks to begin a job.
    pub(crate) async fn ask(&self, wish: Value) -> Answer {
        self.post("/v1/jobs", &wish).await
    }

    /// Beats for a job.
    pub(crate) async fn beat(&self, job: &Answer, beat: Value) -> Answer {
        let path = format!("/v1/jobs/{}/beat", job.job());
        self.post(&path, &beat).await
    }

    /// Ends a job.
    pub(crate) async fn end(&self, job: &Answer, outcome: &str) -> Answer {
        let path = format!("/v1/jobs/{}/end", job.job());
        self.post(&path, &json!({ "outcome": outcome })).await
    }

    /// Describes a job.
    pub(crate) async fn poll(&self, job: &Answer, wait_seconds: u64) -> Answer {
        let job = job.job();
        self.get(&format!("/v1/jobs/{job}?waitSeconds={wait_seconds}"))
            .await
    }

    /// Sends a GET.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "").await
    }

    /// Sends a POST of JSON.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        let headers = ["Content-Type: application/json"];
        self.send("POST", path, &headers, &body.to_string()).await
    }

    /// Sends any request.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &str,
    ) -> Answer {
        let mut stream = self.connect().await.expect("an agent that listens");
        let request = request(method, path, headers, body);
        // An agent that refuses a large body may stop reading.
        stream.write_all(request.as_bytes()).await.ok();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.expect("an answer");
        parse(&String::from_utf8_lossy(&bytes))
    }

    /// Sends a request to begin a job, and goes away after `seconds` without reading the answer.
    pub(crate) async fn ask_and_go(&self, wish: &Value, seconds: u64) {
        let mut stream = self.connect().await.expect("an agent that listens");
        let headers = ["Content-Type: application/json"];
        let request = request("POST", "/v1/jobs", &headers, &wish.to_string());
        stream.write_all(request.as_bytes()).await.expect("sent");
        lockstep_tests::stack::pause(seconds * 1_000).await;
    }
}

/// Returns a request to begin a job with a lease of `seconds` seconds.
pub(crate) fn leased(lock: &str, seconds: u32) -> Value {
    json!({ "name": "export", "lock": lock, "leaseSeconds": seconds })
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Returns an address that nothing listens on at present.
pub(crate) fn free_port() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its address").to_string()
}

/// Returns the text of a request. A `Host` among the headers replaces the default.
fn request(method: &str, path: &str, headers: &[&str], body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|header| header.starts_with("Host:")) {
        text.push_str("Host: localhost\r\n");
    }
    for header in headers {
        text.push_str(&format!("{header}\r\n"));
    }
    format!("{text}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn parse(text: &str) -> Answer {
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("half: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    Answer {
        status: status.unwrap_or_else(|| panic!("no status: {head}")),
        body: serde_json::from_str(body).unwrap_or_else(|_| Value::from(body)),
    }
}
