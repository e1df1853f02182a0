//! The Unix socket and its file.

use nix::sys::stat::{Mode, umask};
use std::fs;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tokio::net::{UnixListener, UnixStream};

/// Serializes changes of the umask, which applies to the whole process.
static MASK: Mutex<()> = Mutex::new(());

/// A socket file. A drop removes the file, if the path still refers to it.
#[derive(Debug)]
pub(in crate::agent) struct SocketFile {
    path: PathBuf,
    /// Device and inode number of the file. No other file has them while the socket is open.
    id: Option<(u64, u64)>,
}

impl SocketFile {
    /// Binds a socket with mode 0600 at `path`. Replaces a stale socket, which no process listens on any
    /// more.
    ///
    /// # Errors
    /// If another process listens on the path, if the path has a file that is not a socket, or if the socket
    /// cannot be created.
    pub(super) async fn bind(path: &Path) -> Result<(Self, UnixListener), Error> {
        if is_socket(path) && is_stale(path).await {
            fs::remove_file(path)?;
        }
        let listener = {
            let _guard = MASK.lock().unwrap_or_else(PoisonError::into_inner);
            // The umask is set before the file exists, so that no other user can connect before a chmod.
            let before = umask(Mode::S_IXUSR | Mode::S_IRWXG | Mode::S_IRWXO);
            let listener = UnixListener::bind(path);
            umask(before);
            listener
        };
        let listener = listener.map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => Error::other("in use by another process, or not a socket"),
            _ => error,
        })?;
        let file = Self {
            path: path.to_owned(),
            id: id(path),
        };
        Ok((file, listener))
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    /// Removes the file, unless another agent has bound the path in the meantime.
    fn drop(&mut self) {
        if self.id.is_some() && self.id == id(&self.path) {
            fs::remove_file(&self.path).ok();
        }
    }
}

fn id(path: &Path) -> Option<(u64, u64)> {
    let file = fs::symlink_metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
}

/// Returns whether no process listens on the socket at `path`. Only in that case connecting fails with
/// `ECONNREFUSED`. A socket of another user fails with `EACCES`, and a slow process accepts the connection later.
async fn is_stale(path: &Path) -> bool {
    let refused = |error: Error| error.kind() == ErrorKind::ConnectionRefused;
    UnixStream::connect(path).await.is_err_and(refused)
}
