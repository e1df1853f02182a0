//! A way to the table that can be closed.

use lockstep_tests::stack::pause;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::watch;

/// What gets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Open,
    /// Requests alone: the request is executed, and its response is lost.
    Requests,
    /// Nothing.
    Closed,
    /// Connections that are made from now on, and no others: their packets vanish.
    New,
}

/// A way to the table. What does not get through is held back until it is open, without an
/// error: packets that are late or vanish, as when a network is cut in two.
#[derive(Debug)]
pub(crate) struct FaultProxy {
    /// Where clients connect.
    pub(crate) port: u16,
    way: watch::Sender<Way>,
    delay: watch::Sender<u64>,
    has_client: watch::Receiver<bool>,
}

impl FaultProxy {
    /// A way to `endpoint`, open, from this machine.
    pub(crate) async fn open(endpoint: &str) -> Self {
        Self::open_on("127.0.0.1", endpoint).await
    }

    /// A way to `endpoint`, open, from where `address` is reached.
    pub(crate) async fn open_on(address: &str, endpoint: &str) -> Self {
        let target = endpoint.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind((address, 0)).await;
        let listener = listener.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let (way, seen) = watch::channel(Way::Open);
        let delay = watch::Sender::new(0);
        let delayed = delay.subscribe();
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
                let (none, delayed) = (watch::channel(0).1, delayed.clone());
                tokio::spawn(pass(from_client, to_server, (seen.clone(), none), requests));
                tokio::spawn(pass(
                    from_server,
                    to_client,
                    (seen.clone(), delayed),
                    answers,
                ));
            }
        });
        Self {
            port,
            way,
            delay,
            has_client,
        }
    }

    /// Waits for the first connection.
    pub(crate) async fn first_connection(&self) {
        let mut has_client = self.has_client.clone();
        has_client.wait_for(|has| *has).await.expect("a listener");
    }

    /// Makes `command` reach the table through it.
    pub(crate) fn before(&self, mut command: Command) -> Command {
        command.env("AWS_ENDPOINT_URL_DYNAMODB", self.endpoint());
        command
    }

    /// Where clients connect.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Delays each part of an answer by so many milliseconds.
    pub(crate) fn slow_down(&self, millis: u64) {
        self.delay.send_replace(millis);
    }

    /// Lets nothing through.
    pub(crate) fn close(&self) {
        self.way.send_replace(Way::Closed);
    }

    /// Lets requests through, and no answers.
    pub(crate) fn hold_answers(&self) {
        self.way.send_replace(Way::Requests);
    }

    /// Lets nothing through any more on the connections that there are.
    pub(crate) fn cut_connections(&self) {
        self.way.send_replace(Way::New);
    }

    /// Lets everything through, what was held back too.
    pub(crate) fn open_again(&self) {
        self.way.send_replace(Way::Open);
    }
}

/// Copies one direction of a connection, whenever it is `free`.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    (mut way, delay): (watch::Receiver<Way>, watch::Receiver<u64>),
    free: impl Fn(Way) -> bool,
) {
    let mut part = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut part).await {
        if way.wait_for(|way| free(*way)).await.is_err() {
            return;
        }
        let millis = *delay.borrow();
        pause(millis).await;
        if to.write_all(&part[..length]).await.is_err() {
            return;
        }
    }
}
