//! A resource that checks fencing tokens. It takes lines `KEY TOKEN WHAT` on a socket, and refuses
//! a line whose token is smaller than one that it has seen for the key.
//!
//! The resource stands for a database with a conditional write. A shell can be its client: `exec
//! 3<>/dev/tcp/127.0.0.1/$LEDGER; echo "$KEY $TOKEN done" >&3; read answer <&3`.

use lockstep_tests::stack::{now, until};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A line that the resource received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// When the line came, in epoch milliseconds.
    pub(crate) at: u64,
    /// The key.
    pub(crate) key: String,
    /// The fencing token.
    pub(crate) token: u64,
    /// The text.
    pub(crate) what: String,
    /// Whether the line was taken: no larger token had been seen for the key.
    pub(crate) taken: bool,
}

/// A script that writes `work` ten times a second.
pub(crate) const WRITE_ON: &str = "exec 3<>/dev/tcp/127.0.0.1/$LEDGER; \
    while :; do echo \"$LOCKSTEP_LOCK $LOCKSTEP_FENCING_TOKEN work\" >&3; read -r answer <&3; sleep 0.1; done";

/// The resource.
#[derive(Clone, Debug)]
pub(crate) struct FencedResource {
    port: u16,
    book: Arc<Mutex<Book>>,
}

#[derive(Debug, Default)]
struct Book {
    entries: Vec<Entry>,
    newest: HashMap<String, u64>,
}

impl FencedResource {
    /// Opens the resource on a port of its own.
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let book = Arc::<Mutex<Book>>::default();
        let own = Arc::clone(&book);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&own)));
            }
        });
        Self { port, book }
    }

    /// Returns the variable that a client needs.
    pub(crate) fn variable(&self) -> (String, String) {
        ("LEDGER".into(), self.port.to_string())
    }

    /// Returns all lines, in order.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.lock().entries.clone()
    }

    /// Returns the lines that say `what`.
    pub(crate) fn received(&self, what: &str) -> Vec<Entry> {
        let all = self.entries();
        all.into_iter().filter(|entry| entry.what == what).collect()
    }

    /// Waits until `what` was written `count` times.
    pub(crate) async fn until_received(&self, what: &str, count: usize, seconds: u64) {
        let name = format!("{count} entries {what:?}");
        until(&name, seconds, async || self.received(what).len() >= count).await;
    }

    /// Waits until `what` is written later than `millis` after `begin`.
    pub(crate) async fn until_later(&self, what: &str, begin: u64, millis: u64) {
        let name = format!("{what:?} {millis} ms later");
        let is_later = async || self.last(what).is_some_and(|last| last.at > begin + millis);
        until(&name, 30, is_later).await;
    }

    /// Returns the last line that says `what`.
    pub(crate) fn last(&self, what: &str) -> Option<Entry> {
        self.received(what).pop()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take(book: &Mutex<Book>, line: &str) -> bool {
    let words: Vec<_> = line.splitn(3, ' ').collect();
    let [key, token, what] = words[..] else {
        panic!("the resource takes KEY TOKEN WHAT, not {line:?}");
    };
    let token: u64 = token.parse().expect(line);
    let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
    let newest = book.newest.entry(key.into()).or_default();
    let taken = token >= *newest;
    *newest = token.max(*newest);
    book.entries.push(Entry {
        at: now(),
        key: key.into(),
        token,
        what: what.into(),
        taken,
    });
    taken
}

/// Answers each line that comes over a connection.
async fn answer(stream: TcpStream, book: Arc<Mutex<Book>>) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let answer: &[u8] = if take(&book, &line) {
            b"ok\n"
        } else {
            b"refused\n"
        };
        if writer.write_all(answer).await.is_err() {
            return;
        }
    }
}
