//! A wire to DynamoDB that counts requests and can fail them.
//!
//! Plain HTTP/1.1 on loopback with a length or in chunks, which is all that the SDK and DynamoDB
//! Local speak to each other.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// DynamoDB does it, but its answer never arrives.
    LostResponse,
    /// None: DynamoDB does it and answers.
    None,
    /// DynamoDB never sees it; this is the answer.
    Answer {
        /// The HTTP status.
        status: u16,
        /// The JSON body.
        body: String,
    },
}

/// A wire to DynamoDB that counts requests and can fail them.
#[derive(Debug)]
pub struct Wire {
    endpoint: String,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    counts: BTreeMap<String, u32>,
    faults: Vec<(String, Fault)>,
}

struct Message {
    head: String,
    body: Vec<u8>,
}

impl Fault {
    /// An error of DynamoDB.
    #[must_use]
    pub fn error(status: u16, name: &str) -> Self {
        let kind = format!("com.amazonaws.dynamodb.v20120810#{name}");
        Self::Answer {
            status,
            body: format!(r#"{{"__type":"{kind}","message":"injected"}}"#),
        }
    }

    /// A cancelled transaction with one reason per action.
    #[must_use]
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
    /// A wire to `endpoint`, an `http://host:port`.
    ///
    /// # Panics
    /// When loopback has no free port.
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

    /// Where clients connect.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The next request of `operation` meets `fault`; called again, the one after it as well.
    pub fn fail_next(&self, operation: &str, fault: Fault) {
        lock(&self.state).faults.push((operation.into(), fault));
    }

    /// The next request of `operation` goes well; a fault that is asked for later meets the one
    /// after it.
    pub fn let_pass(&self, operation: &str) {
        self.fail_next(operation, Fault::None);
    }

    /// Requests by operation since the last call, failed ones included.
    #[must_use]
    pub fn take_counts(&self) -> BTreeMap<String, u32> {
        std::mem::take(&mut lock(&self.state).counts)
    }
}

async fn accept(listener: TcpListener, upstream: String, state: Arc<Mutex<State>>) {
    while let Ok((client, _)) = listener.accept().await {
        let (upstream, state) = (upstream.clone(), Arc::clone(&state));
        // An error ends this connection only, and the client sees that.
        tokio::spawn(async move { serve(client, &upstream, &state).await });
    }
}

async fn serve(client: TcpStream, upstream: &str, state: &Mutex<State>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let upstream = TcpStream::connect(upstream).await?;
    upstream.set_nodelay(true)?;
    let (mut client, mut upstream) = (BufReader::new(client), BufReader::new(upstream));
    while let Some(request) = read(&mut client).await? {
        let fault = meet(state, &request);
        if let Some(Fault::Answer { status, body }) = fault {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/x-amz-json-1.0\r\n\
                 content-length: {length}\r\n\r\n"
            );
            let body = body.into_bytes();
            write(&mut client, &Message { head, body }).await?;
            continue;
        }
        write(&mut upstream, &request).await?;
        let Some(response) = read(&mut upstream).await? else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        if fault == Some(Fault::LostResponse) {
            return Ok(());
        }
        write(&mut client, &response).await?;
    }
    Ok(())
}

/// Counts the request and takes the fault that waits for it.
fn meet(state: &Mutex<State>, request: &Message) -> Option<Fault> {
    let target = header(&request.head, "x-amz-target").unwrap_or_default();
    let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
    let mut state = lock(state);
    let waiting = state.faults.iter().position(|(of, _)| *of == operation);
    *state.counts.entry(operation).or_default() += 1;
    waiting.map(|at| state.faults.remove(at).1)
}

/// One message; `None` when the other side has closed the connection.
async fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Message>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let mut body = Vec::new();
    match header(&head, "content-length").and_then(|length| length.parse().ok()) {
        Some(length) => take(stream, length, &mut body).await?,
        None => take_chunks(stream, &mut body).await?,
    }
    Ok(Some(Message { head, body }))
}

/// A body in chunks, as it came: DynamoDB Local sends large answers so.
async fn take_chunks(stream: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        body.extend_from_slice(line.as_bytes());
        let length = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        take(stream, length + "\r\n".len(), body).await?;
        if length == 0 {
            return Ok(());
        }
    }
}

async fn take(
    stream: &mut BufReader<TcpStream>,
    length: usize,
    body: &mut Vec<u8>,
) -> io::Result<()> {
    let begin = body.len();
    body.resize(begin + length, 0);
    stream.read_exact(&mut body[begin..]).await.map(drop)
}

async fn write(stream: &mut BufReader<TcpStream>, message: &Message) -> io::Result<()> {
    let mut bytes = message.head.clone().into_bytes();
    bytes.extend_from_slice(&message.body);
    stream.write_all(&bytes).await
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim())
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
