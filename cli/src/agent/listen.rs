//! The agent's listener: its address, and the limits on its connections.

mod socket;

use super::host_guard::{Transport, reject_browsers};
use crate::args::agent::AgentArgs;
use crate::platform::clock::sleep;
use axum::Router;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket::SocketFile;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Most connections at once: a long poll and a beat for each of the 1,000 open jobs, and some 2,000 to spare.
const CONNECTIONS_MAX: usize = 4_096;
/// Longest time in which a client may send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time for a whole connection: the request, the wait for a job, the retries of requests to the lock
/// table, and a client that reads the response slowly.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(300);

/// A bound listener.
#[derive(Debug)]
pub(super) enum Listener {
    /// A loopback address.
    Tcp(TcpListener),
    /// A Unix socket that only this user can connect to. The file is dropped first, then the listener.
    Unix(SocketFile, UnixListener),
}

impl Listener {
    /// Binds the address or socket path of `args`.
    ///
    /// # Errors
    /// A sentence that names the flag, its value and the problem.
    pub(super) async fn bind(args: &AgentArgs) -> Result<Self, String> {
        match &args.socket {
            Some(path) => {
                let bound = SocketFile::bind(path).await;
                let named = |error| format!("--socket {}: {error}", path.display());
                let (file, listener) = bound.map_err(named)?;
                Ok(Self::Unix(file, listener))
            }
            None => {
                let listener = TcpListener::bind(args.listen).await;
                let named = |error| format!("--listen {}: {error}", args.listen);
                Ok(Self::Tcp(listener.map_err(named)?))
            }
        }
    }

    /// Returns the address as the value of `LOCKSTEP_AGENT`.
    pub(super) fn url(&self) -> String {
        match self {
            Self::Tcp(listener) => {
                let address = listener.local_addr();
                address.map_or_else(|error| error.to_string(), |at| format!("http://{at}"))
            }
            Self::Unix(file, _) => format!("unix:{}", file.path().display()),
        }
    }

    /// Accepts connections from this machine, and serves each in a task of its own.
    pub(super) async fn serve(self, router: Router) {
        let transport = match &self {
            Self::Tcp(_) => Transport::Port,
            Self::Unix(..) => Transport::Socket,
        };
        let router = reject_browsers(router, transport);
        let semaphore = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        while let Ok(permit) = Arc::clone(&semaphore).acquire_owned().await {
            let accepted = match &self {
                Self::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                    stream.set_nodelay(true).ok();
                    tokio::spawn(serve_one(stream, router.clone(), permit));
                }),
                Self::Unix(_, listener) => listener.accept().await.map(|(stream, _)| {
                    tokio::spawn(serve_one(stream, router.clone(), permit));
                }),
            };
            if let Err(error) = accepted {
                tracing::warn!(event = "accept_failed", %error, "a connection was not accepted");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Serves one request, without keep-alive: an agent that closed an idle connection could lose a beat that is
/// being sent at that moment.
async fn serve_one(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    router: Router,
    permit: OwnedSemaphorePermit,
) {
    let connection = Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    match timeout(CONNECTION_TIMEOUT, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::debug!(event = "connection_failed", %error, "a connection failed")
        }
        Err(_) => tracing::debug!(
            event = "connection_timed_out",
            "a connection took too long and was closed"
        ),
    }
    drop(permit);
}

#[cfg(test)]
mod tests;
