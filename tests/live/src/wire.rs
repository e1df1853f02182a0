//! A wire to DynamoDB, or to any service of the emulator, that counts requests and can make them
//! fail. It speaks plain HTTP/1.1 on loopback.

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::TRANSFER_ENCODING;
use hyper::http::request::Parts;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::{TcpListener, TcpStream};

type Failure = Box<dyn Error + Send + Sync>;

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// DynamoDB executes it, but its answer never arrives.
    LostResponse,
    /// DynamoDB executes it and answers.
    None,
    /// DynamoDB never receives it, and the client gets this answer.
    Answer {
        /// The HTTP status.
        status: u16,
        /// The JSON body.
        body: String,
    },
}

/// A request that DynamoDB has answered.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The operation.
    pub operation: String,
    /// The JSON of the request.
    pub body: Vec<u8>,
    /// Whether DynamoDB answered with success.
    pub done: bool,
}

/// A wire to DynamoDB that counts requests and can make them fail.
#[derive(Debug)]
pub struct Wire {
    endpoint: String,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    counts: BTreeMap<String, u32>,
    /// The requests, while they are recorded.
    sent: Option<Vec<Sent>>,
    faults: Vec<(String, Fault)>,
}

impl Fault {
    /// Returns an error of DynamoDB.
    pub fn error(status: u16, name: &str) -> Self {
        let kind = format!("com.amazonaws.dynamodb.v20120810#{name}");
        Self::Answer {
            status,
            body: format!(r#"{{"__type":"{kind}","message":"injected"}}"#),
        }
    }

    /// Returns a cancelled transaction with one reason for each action.
    pub fn cancelled(reasons: &[&str]) -> Self {
        let reasons = reasons.iter().map(|code| format!(r#"{{"Code":"{code}"}}"#));
        let reasons = reasons.collect::<Vec<_>>().join(",");
        let kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
        Self::Answer {
            status: 400,
            body: format!(
                r#"{{"__type":"{kind}","message":"injected","CancellationReasons":[{reasons}]}}"#
            ),
        }
    }
}

impl Wire {
    /// Opens a wire to `endpoint`, an `http://host:port`.
    ///
    /// # Panics
    /// If loopback has no free port.
    pub async fn to(endpoint: &str) -> Self {
        let upstream = endpoint.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::<Mutex<State>>::default();
        tokio::spawn(accept(listener, upstream, Arc::clone(&state)));
        Self {
            endpoint: format!("http://{address}"),
            state,
        }
    }

    /// Returns the address that clients connect to.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Lets the next request of `operation` meet `fault`. A second call sets the fault of the
    /// request after it.
    pub fn fail_next(&self, operation: &str, fault: Fault) {
        lock(&self.state).faults.push((operation.into(), fault));
    }

    /// Lets the next request of `operation` pass. A fault that is set later meets the request after
    /// it.
    pub fn let_pass(&self, operation: &str) {
        self.fail_next(operation, Fault::None);
    }

    /// Returns the number of requests by operation since the last call, with those that failed.
    pub fn take_counts(&self) -> BTreeMap<String, u32> {
        std::mem::take(&mut lock(&self.state).counts)
    }

    /// Returns the requests since the last call, in order. The first call begins to record them.
    pub fn take_sent(&self) -> Vec<Sent> {
        lock(&self.state)
            .sent
            .replace(Vec::new())
            .unwrap_or_default()
    }
}

async fn accept(listener: TcpListener, upstream: String, state: Arc<Mutex<State>>) {
    while let Ok((client, _)) = listener.accept().await {
        let (upstream, state) = (upstream.clone(), Arc::clone(&state));
        // An error ends only this connection, and the client sees it.
        tokio::spawn(async move { serve(client, &upstream, &state).await });
    }
}

async fn serve(client: TcpStream, upstream: &str, state: &Mutex<State>) -> Result<(), Failure> {
    client.set_nodelay(true)?;
    let upstream = TcpStream::connect(upstream).await?;
    upstream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(upstream)).await?;
    tokio::spawn(connection);
    let sender = tokio::sync::Mutex::new(sender);
    let service = service_fn(|request| pass(&sender, state, request));
    let server = Builder::new().serve_connection(TokioIo::new(client), service);
    Ok(server.await?)
}

/// Passes one request on, and its response back. An error closes the connection to the client.
async fn pass(
    upstream: &tokio::sync::Mutex<SendRequest<Full<Bytes>>>,
    state: &Mutex<State>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Failure> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let operation = operation(&head);
    let fault = meet(state, &operation);
    if let Some(Fault::Answer { status, body }) = fault {
        let response = Response::builder().status(status);
        let response = response.header("content-type", "application/x-amz-json-1.0");
        return Ok(response.body(Full::from(body))?);
    }
    let mut upstream = upstream.lock().await;
    upstream.ready().await?;
    let request = Request::from_parts(head, Full::from(body.clone()));
    let (mut head, answer) = upstream.send_request(request).await?.into_parts();
    let answer = answer.collect().await?.to_bytes();
    if let Some(sent) = &mut lock(state).sent {
        sent.push(Sent {
            operation,
            body: body.to_vec(),
            done: head.status.is_success(),
        });
    }
    if fault == Some(Fault::LostResponse) {
        return Err("the response is lost".into());
    }
    head.headers.remove(TRANSFER_ENCODING);
    Ok(Response::from_parts(head, Full::from(answer)))
}

/// Returns the operation that a header names, or the method and the path for a service that speaks
/// REST.
fn operation(head: &Parts) -> String {
    let target = head.headers.get("x-amz-target");
    let target = target.and_then(|target| target.to_str().ok());
    let name = target.and_then(|target| target.rsplit('.').next());
    name.map_or_else(
        || format!("{} {}", head.method, head.uri.path()),
        str::to_owned,
    )
}

/// Counts the request, and takes the next fault that is set for it.
fn meet(state: &Mutex<State>, operation: &str) -> Option<Fault> {
    let mut state = lock(state);
    let waiting = state.faults.iter().position(|(of, _)| of == operation);
    *state.counts.entry(operation.to_owned()).or_default() += 1;
    waiting.map(|at| state.faults.remove(at).1)
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
