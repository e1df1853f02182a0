//! A way to the table that can be closed.

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use lockstep_tests::stack::pause;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::watch;

/// What the proxy lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Open,
    /// Requests only: a request is executed, and its response is lost.
    Requests,
    /// Nothing.
    Closed,
    /// Connections that are made from now on. The packets of all others vanish.
    New,
}

/// A way to the table. What does not get through is held back without an error until the way is
/// open: packets are late or vanish, as when a network is cut in two.
#[derive(Debug)]
pub(crate) struct FaultProxy {
    /// The port that clients connect to.
    pub(crate) port: u16,
    way: watch::Sender<Way>,
    delay: watch::Sender<u64>,
    dates: watch::Sender<i64>,
    has_client: watch::Receiver<bool>,
}

impl FaultProxy {
    /// Opens a way to `endpoint` from this machine.
    pub(crate) async fn open(endpoint: &str) -> Self {
        Self::open_on("127.0.0.1", endpoint).await
    }

    /// Opens a way to `endpoint` from wherever `address` is reached.
    pub(crate) async fn open_on(address: &str, endpoint: &str) -> Self {
        let target = endpoint.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind((address, 0)).await;
        let listener = listener.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let (way, seen) = watch::channel(Way::Open);
        let delay = watch::Sender::new(0);
        let dates = watch::Sender::new(0);
        let (delayed, dated) = (delay.subscribe(), dates.subscribe());
        let (connected, has_client) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                connected.send_replace(true);
                let is_new = *seen.borrow() == Way::New;
                let server = TcpStream::connect(&target).await.expect("the target");
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let answers = move |way: Way| way == Way::Open || way == Way::New && is_new;
                let requests = move |way: Way| answers(way) || way == Way::Requests;
                let asked = Changes {
                    way: seen.clone(),
                    delay: watch::channel(0).1,
                    dates: watch::channel(0).1,
                };
                let answered = Changes {
                    way: seen.clone(),
                    delay: delayed.clone(),
                    dates: dated.clone(),
                };
                tokio::spawn(pass(from_client, to_server, asked, requests));
                tokio::spawn(pass(from_server, to_client, answered, answers));
            }
        });
        Self {
            port,
            way,
            delay,
            dates,
            has_client,
        }
    }

    /// Waits for the first connection.
    pub(crate) async fn first_connection(&self) {
        let mut has_client = self.has_client.clone();
        has_client.wait_for(|has| *has).await.expect("a listener");
    }

    /// Makes `command` reach the table through the proxy.
    pub(crate) fn before(&self, mut command: Command) -> Command {
        command.env("AWS_ENDPOINT_URL_DYNAMODB", self.endpoint());
        command
    }

    /// Returns the URL that clients connect to.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Delays each part of an answer by `millis`.
    pub(crate) fn slow_down(&self, millis: u64) {
        self.delay.send_replace(millis);
    }

    /// Shows dates in the answers that are `seconds` later than the table's.
    pub(crate) fn move_dates(&self, seconds: i64) {
        self.dates.send_replace(seconds);
    }

    /// Lets nothing through.
    pub(crate) fn close(&self) {
        self.way.send_replace(Way::Closed);
    }

    /// Lets requests through, and no answers.
    pub(crate) fn hold_answers(&self) {
        self.way.send_replace(Way::Requests);
    }

    /// Lets nothing more through on the present connections, and everything on new ones.
    pub(crate) fn cut_connections(&self) {
        self.way.send_replace(Way::New);
    }

    /// Lets everything through, also what was held back.
    pub(crate) fn open_again(&self) {
        self.way.send_replace(Way::Open);
    }
}

/// How one direction of a connection is changed.
struct Changes {
    way: watch::Receiver<Way>,
    delay: watch::Receiver<u64>,
    dates: watch::Receiver<i64>,
}

/// Copies one direction of a connection while it is `free`.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut changes: Changes,
    free: impl Fn(Way) -> bool,
) {
    let mut part = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut part).await {
        if changes.way.wait_for(|way| free(*way)).await.is_err() {
            return;
        }
        let (millis, seconds) = (*changes.delay.borrow(), *changes.dates.borrow());
        pause(millis).await;
        if seconds != 0 {
            move_date(&mut part[..length], seconds);
        }
        if to.write_all(&part[..length]).await.is_err() {
            return;
        }
    }
}

/// Moves the header `Date` of an answer that begins in `part`.
fn move_date(part: &mut [u8], seconds: i64) {
    const HEADER: &[u8] = b"\r\ndate: ";
    let begins = |window: &[u8]| window.eq_ignore_ascii_case(HEADER);
    let Some(at) = part.windows(HEADER.len()).position(begins) else {
        return;
    };
    let value = &mut part[at + HEADER.len()..];
    let length = value.iter().position(|byte| *byte == b'\r');
    let value = &mut value[..length.expect("the end of the header")];
    let text = str::from_utf8(value).expect("a date");
    let date = DateTime::from_str(text, Format::HttpDate).expect("a date of HTTP");
    let moved = DateTime::from_secs(date.secs() + seconds);
    value.copy_from_slice(moved.fmt(Format::HttpDate).expect("a date").as_bytes());
}
