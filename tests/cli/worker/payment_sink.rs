//! A resource that takes one payment for each key, under fencing tokens: it stands for a database
//! with a conditional write ("no larger token was seen, and nothing is paid").

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What is known of a key.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// Largest token that was seen.
    pub(super) newest: u64,
    /// Payments that were taken.
    pub(super) paid: u32,
    /// Payments that were refused because one was taken before.
    pub(super) again: u32,
    /// Writes that were refused because a larger token had been seen.
    pub(super) stale: u32,
}

/// The resource: takes lines `KEY TOKEN begin` and `KEY TOKEN pay`.
#[derive(Clone, Debug)]
pub(super) struct PaymentSink {
    port: u16,
    accounts: Arc<Mutex<HashMap<String, Account>>>,
}

impl PaymentSink {
    /// Opens it on a port of its own.
    pub(super) async fn open() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("a free port");
        let sink = Self {
            port: listener.local_addr().expect("its address").port(),
            accounts: Arc::default(),
        };
        let own = sink.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let own = own.clone();
                tokio::spawn(async move { own.serve(stream).await });
            }
        });
        sink
    }

    /// The variable that a client needs.
    pub(super) fn variable(&self) -> (String, String) {
        ("TILL".into(), self.port.to_string())
    }

    /// All accounts.
    pub(super) fn accounts(&self) -> HashMap<String, Account> {
        self.lock().clone()
    }

    async fn serve(&self, stream: TcpStream) {
        let (reader, mut writer) = stream.into_split();
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let answer = self.take(&line);
            if writer.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn take(&self, line: &str) -> &'static str {
        let words: Vec<_> = line.split(' ').collect();
        let [key, token, what] = words[..] else {
            panic!("the sink takes KEY TOKEN WHAT, not {line:?}");
        };
        let token: u64 = token.parse().expect("a token");
        let mut accounts = self.lock();
        let account = accounts.entry(key.into()).or_default();
        if token < account.newest {
            account.stale += 1;
            return "stale\n";
        }
        account.newest = token;
        if what == "pay" && account.paid > 0 {
            account.again += 1;
            return "again\n";
        }
        account.paid += u32::from(what == "pay");
        "ok\n"
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Account>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
