//! Where the agent listens, and who it lets wait.

use crate::args::agent::AgentArgs;
use crate::sys::clock::sleep;
use axum::Router;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use nix::sys::stat::{Mode, umask};
use std::fs;
use std::io::{Error, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most connections at once: a long poll and a beat for each job, and some more.
const CONNECTIONS_MAX: usize = 4_096;
/// How long a client may take to send the head of a request, and to send the next one.
const HEAD_WITHIN: Duration = Duration::from_secs(60);

/// A place to listen.
#[derive(Debug)]
pub(super) enum Listener {
    /// A loopback address.
    Tcp(TcpListener),
    /// A socket that only this user can use. Its file goes with it.
    Unix(UnixListener, SocketFile),
}

/// The file of a socket.
#[derive(Debug)]
pub(super) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

impl Listener {
    /// Begins to listen where `args` say.
    ///
    /// # Errors
    /// A sentence that names the flag.
    pub(super) async fn bind(args: &AgentArgs) -> Result<Self, String> {
        match &args.socket {
            Some(path) => {
                let socket = private(path);
                let socket =
                    socket.map_err(|error| format!("--socket {}: {error}", path.display()));
                Ok(Self::Unix(socket?, SocketFile(path.clone())))
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
            Self::Unix(_, file) => format!("unix:{}", file.0.display()),
        }
    }

    /// Answers whoever connects.
    pub(super) async fn serve(self, router: Router) {
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        while let Ok(place) = Arc::clone(&room).acquire_owned().await {
            let accepted = match &self {
                Self::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                    stream.set_nodelay(true).ok();
                    tokio::spawn(answer(stream, router.clone(), place));
                }),
                Self::Unix(listener, _) => listener.accept().await.map(|(stream, _)| {
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

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    router: Router,
    place: OwnedSemaphorePermit,
) {
    let connection = Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection broke");
    }
    drop(place);
}

/// A socket of mode 0600. A file that nobody listens on any more is in nobody's use.
fn private(path: &Path) -> Result<UnixListener, Error> {
    if is_socket(path) && UnixStream::connect(path).is_err() {
        fs::remove_file(path)?;
    }
    // Set before the file is there: nobody can come in between.
    let before = umask(Mode::S_IXUSR | Mode::S_IRWXG | Mode::S_IRWXO);
    let listener = UnixListener::bind(path);
    umask(before);
    listener.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => Error::other("in use, or a file that is no socket"),
        _ => error,
    })
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::env::random_id;
    use std::os::unix::fs::PermissionsExt;

    fn path() -> PathBuf {
        std::env::temp_dir().join(format!("lockstep-agent-{}.sock", random_id()))
    }

    #[tokio::test]
    async fn only_the_user_of_the_agent_can_use_its_socket() {
        let path = path();

        let listener = private(&path).unwrap();

        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop((listener, SocketFile(path.clone())));
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_socket_that_somebody_listens_on_is_left_to_them() {
        let path = path();
        let first = private(&path).unwrap();

        let second = private(&path);

        assert!(second.is_err());
        drop(first);
        let third = private(&path);
        assert!(third.is_ok(), "what a dead agent left behind is taken over");
        drop(SocketFile(path));
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_not_touched() {
        let path = path();
        fs::write(&path, "mine").unwrap();

        assert!(private(&path).is_err());

        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        fs::remove_file(path).unwrap();
    }
}
