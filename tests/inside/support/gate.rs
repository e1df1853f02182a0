//! A way to the table that can be closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// A way to the table. Once it is closed, nothing gets through and nobody is told why: packets that
/// vanish, as when a network is cut in two.
#[derive(Debug)]
pub(crate) struct Gate {
    port: u16,
    closed: Arc<(AtomicBool, Notify)>,
}

impl Gate {
    /// A way to `endpoint`, open.
    pub(crate) async fn open(endpoint: &str) -> Self {
        let target = endpoint.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let closed = Arc::new((AtomicBool::new(false), Notify::new()));
        let own = Arc::clone(&closed);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (target, own) = (target.clone(), Arc::clone(&own));
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(&target).await.expect("the table");
                    let shut = own.1.notified();
                    if !own.0.load(Ordering::SeqCst) {
                        tokio::select! {
                            _ = copy_bidirectional(&mut client, &mut server) => return,
                            () = shut => {}
                        }
                    }
                    // Held open, and silent.
                    std::future::pending::<()>().await;
                });
            }
        });
        Self { port, closed }
    }

    /// Where clients connect.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Closes it for good.
    pub(crate) fn close(&self) {
        self.closed.0.store(true, Ordering::SeqCst);
        self.closed.1.notify_waiters();
    }
}
