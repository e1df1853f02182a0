//! The file of a socket.

use nix::sys::stat::{Mode, umask};
use std::fs;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tokio::net::{UnixListener, UnixStream};

/// The mask is the process's: of two threads, one would put the other's back.
static MASK: Mutex<()> = Mutex::new(());

/// The file of a socket, removed by a drop if it is still the same one.
#[derive(Debug)]
pub(in crate::agent) struct SocketFile {
    path: PathBuf,
    /// Device and number. As long as somebody listens, no other file has them.
    id: Option<(u64, u64)>,
}

impl SocketFile {
    /// A socket of mode 0600 at `path`. One that is there and that nobody listens on any more is in
    /// nobody's use.
    ///
    /// # Errors
    /// When there is something else, or no file can be made there.
    pub(super) async fn bind(path: &Path) -> Result<(Self, UnixListener), Error> {
        if is_socket(path) && is_left_behind(path).await {
            fs::remove_file(path)?;
        }
        let listener = {
            let _one = MASK.lock().unwrap_or_else(PoisonError::into_inner);
            // Set before the file is there: nobody can come in between.
            let before = umask(Mode::S_IXUSR | Mode::S_IRWXG | Mode::S_IRWXO);
            let listener = UnixListener::bind(path);
            umask(before);
            listener
        };
        let listener = listener.map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => Error::other("in use, or a file that is no socket"),
            _ => error,
        })?;
        let file = Self {
            path: path.to_owned(),
            id: id(path),
        };
        Ok((file, listener))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    /// Somebody may have taken the place meanwhile.
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

/// Nothing else says so: a socket of another user, or one whose owner is slow, is refused otherwise.
async fn is_left_behind(path: &Path) -> bool {
    let refused = |error: Error| error.kind() == ErrorKind::ConnectionRefused;
    UnixStream::connect(path).await.is_err_and(refused)
}
