//! Where the agent listens, and who it lets wait.

mod socket;

use super::host_guard::{Transport, local};
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

/// Most connections at once: a long poll and a beat for each job, and some more.
const CONNECTIONS_MAX: usize = 4_096;
/// How long a client may take to send the head of a request.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// Longest time for a whole connection: the request, the longest wait for a job, retries of the lock
/// table, and a client that is slow to read the answer.
const CONNECTION_WITHIN: Duration = Duration::from_secs(300);

/// A place to listen.
#[derive(Debug)]
pub(super) enum Listener {
    /// A loopback address.
    Tcp(TcpListener),
    /// A socket that only this user can use. Its file goes with it, and before it.
    Unix(SocketFile, UnixListener),
}

impl Listener {
    /// Begins to listen where `args` say.
    ///
    /// # Errors
    /// A sentence that names the flag.
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

    /// The same, as a program needs it.
    pub(super) fn url(&self) -> String {
        match self {
            Self::Tcp(listener) => {
                let address = listener.local_addr();
                address.map_or_else(|error| error.to_string(), |at| format!("http://{at}"))
            }
            Self::Unix(file, _) => format!("unix:{}", file.path().display()),
        }
    }

    /// Answers whoever connects from this machine.
    pub(super) async fn serve(self, router: Router) {
        let way = match &self {
            Self::Tcp(_) => Transport::Port,
            Self::Unix(..) => Transport::Socket,
        };
        let router = local(router, way);
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        while let Ok(place) = Arc::clone(&room).acquire_owned().await {
            let accepted = match &self {
                Self::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                    stream.set_nodelay(true).ok();
                    tokio::spawn(answer(stream, router.clone(), place));
                }),
                Self::Unix(_, listener) => listener.accept().await.map(|(stream, _)| {
                    tokio::spawn(answer(stream, router.clone(), place));
                }),
            };
            if let Err(error) = accepted {
                tracing::warn!(%error, "a connection was not accepted");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Answers one request. A connection that stays open for the next one would have to be closed while it is
/// idle, and a beat that is sent at that moment is lost.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    router: Router,
    place: OwnedSemaphorePermit,
) {
    let connection = Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    match timeout(CONNECTION_WITHIN, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection broke"),
        Err(_) => tracing::debug!("a connection took too long and is closed"),
    }
    drop(place);
}

#[cfg(test)]
mod tests;
