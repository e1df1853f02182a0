//! The FIFO of a command, in a folder that every user may enter and only the user of this process may list.
//!
//! ```text
//!  /tmp/lockstep-<id>/    0711, of this user
//!      <secret>           0622: who knows the name may write to it
//! ```
//! The command may drop its rights, or be started as another user. Its environment has the path of the FIFO.
//! Processes of other users cannot read that environment, and cannot list the folder, so they do not find the
//! name of the FIFO.

use crate::platform::env::{random_id, scratch_folders, secret_id};
use nix::errno::Errno;
use nix::sys::stat::Mode;
use nix::unistd::{geteuid, mkdir, mkfifo};
use std::fs::{File, OpenOptions, Permissions, set_permissions};
use std::io::Error;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

/// Prefix of a folder's name.
const PREFIX: &str = "lockstep-";
/// Mode of a folder.
const ENTER: u32 = 0o711;
/// Mode of a FIFO.
const WRITE: u32 = 0o622;
/// Age of a folder from which its FIFOs are stale if they have no reader. A younger FIFO may be about to be
/// opened.
const STALE_AFTER: Duration = Duration::from_secs(60);

/// Limits the removal of stale folders to once per process.
static SWEPT: Once = Once::new();

/// A FIFO, which is removed on drop.
#[derive(Debug)]
pub(super) struct Fifo(pub(super) PathBuf);

impl Fifo {
    /// Creates a FIFO in the first directory that allows it. Directories that all users may enter are tried
    /// first.
    ///
    /// # Errors
    /// When no directory allows it. The text names each directory and its error.
    pub(super) fn create() -> Result<Self, Error> {
        let mut folders = scratch_folders();
        SWEPT.call_once(|| folders.iter().for_each(|folder| sweep(folder)));
        folders.sort_by_key(|folder| !may_be_entered(folder));
        let mut problems = Vec::new();
        for folder in folders {
            match Self::create_in(&folder) {
                Ok(fifo) => return Ok(fifo),
                Err(error) => problems.push(format!("{}: {error}", folder.display())),
            }
        }
        let why = problems.join("; ");
        let text = format!(
            "the FIFO of LOCKSTEP_PROGRESS cannot be created; set TMPDIR to a folder that this user may write to: {why}"
        );
        Err(Error::other(text))
    }

    fn create_in(folder: &Path) -> Result<Self, Error> {
        let own = folder.join(format!("{PREFIX}{}", random_id()));
        mkdir(&own, Mode::S_IRWXU)?;
        // From here on a drop of `fifo` removes the folder.
        let fifo = Self(own.join(secret_id()?));
        mkfifo(&fifo.0, Mode::S_IRUSR | Mode::S_IWUSR)?;
        // Set explicitly, because the umask does not apply to these calls.
        set_permissions(&fifo.0, Permissions::from_mode(WRITE))?;
        set_permissions(&own, Permissions::from_mode(ENTER))?;
        Ok(fifo)
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
        self.0.parent().map(std::fs::remove_dir);
    }
}

/// Returns whether all users may enter `folder` and the folders above it.
fn may_be_entered(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else {
        return false;
    };
    let mut all = folder.ancestors();
    all.all(|one| one.metadata().is_ok_and(|one| one.mode() & 0o001 != 0))
}

/// Removes the stale folders in `folder` that belong to this user. Processes that were killed have left them.
fn sweep(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if let Some(fifos) = stale(&path) {
            fifos.iter().for_each(|fifo| {
                std::fs::remove_file(fifo).ok();
            });
            std::fs::remove_dir(&path).ok();
        }
    }
}

/// Returns the FIFOs in `path`, if `path` is a stale folder of a [`Fifo`]: one of this user, older than
/// [`STALE_AFTER`], whose FIFOs have no reader.
///
/// Another user cannot exchange the folder meanwhile: in a directory with the sticky bit, only its owner may
/// rename it.
fn stale(path: &Path) -> Option<Vec<PathBuf>> {
    let id = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let is_id = id.len() == 12 && id.bytes().all(|digit| digit.is_ascii_hexdigit());
    let folder = path.symlink_metadata().ok()?;
    let age = folder.modified().ok()?.elapsed().ok()?;
    let is_own = folder.is_dir() && folder.uid() == geteuid().as_raw();
    if !is_id || !is_own || age < STALE_AFTER {
        return None;
    }
    let entries = std::fs::read_dir(path).ok()?.flatten();
    let fifos: Vec<_> = entries.map(|entry| entry.path()).collect();
    let is_unread = |path: &PathBuf| {
        path.symlink_metadata().is_ok_and(|file| file.file_type().is_fifo())
            // Opening a FIFO for writing without waiting fails with ENXIO if nothing has it open for reading.
            && open(path).is_err_and(|error| error.raw_os_error() == Some(Errno::ENXIO as i32))
    };
    fifos.iter().all(is_unread).then_some(fifos)
}

/// Opens a FIFO for writing, without waiting for a reader.
pub(super) fn open(path: &Path) -> Result<File, Error> {
    OpenOptions::new()
        .write(true)
        .custom_flags(nix::libc::O_NONBLOCK)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn scratch() -> PathBuf {
        let folder = std::env::temp_dir().join(format!("fifos-{}", random_id()));
        std::fs::create_dir(&folder).unwrap();
        folder
    }

    #[test]
    fn every_user_may_write_to_a_fifo_and_only_its_own_may_list_it() {
        let folder = scratch();

        let fifo = Fifo::create_in(&folder).unwrap();

        let mode = |path: &Path| path.symlink_metadata().unwrap().mode() & 0o777;
        let own = fifo.0.parent().unwrap().to_owned();
        assert_eq!((mode(&own), mode(&fifo.0)), (ENTER, WRITE));
        assert_eq!(fifo.0.file_name().unwrap().len(), 32);
        drop(fifo);
        assert!(!own.exists());
        std::fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn a_directory_that_others_may_not_enter_comes_last() {
        let folder = scratch();
        let closed = folder.join("closed");
        std::fs::create_dir_all(closed.join("open")).unwrap();
        assert!(may_be_entered(&closed.join("open")));

        set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();

        assert!(!may_be_entered(&closed.join("open")) && !may_be_entered(&closed));
        assert!(may_be_entered(&folder) && !may_be_entered(&folder.join("none")));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_old_fifo_without_a_reader_is_removed_and_no_other_file_is() {
        let folder = scratch();
        let make = |name: &str, has_fifo: bool, is_old: bool| {
            let own = folder.join(name);
            std::fs::create_dir(&own).unwrap();
            let fifo = own.join("fifo");
            let both = has_fifo.then(|| {
                mkfifo(&fifo, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
                let mut options = OpenOptions::new();
                options.read(true).write(true).open(&fifo).unwrap()
            });
            if is_old {
                let own = File::open(&own).unwrap();
                own.set_modified(SystemTime::UNIX_EPOCH).unwrap();
            }
            (own, both)
        };
        let left = make("lockstep-0123456789ab", true, true).0;
        let empty = make("lockstep-0123456789ae", false, true).0;
        let (read, _reader) = make("lockstep-0123456789ac", true, true);
        let young = make("lockstep-0123456789ad", true, false).0;
        let other = make("other-0123456789ab", true, true).0;

        sweep(&folder);

        assert!(!left.exists() && !empty.exists());
        assert!(read.exists() && young.exists() && other.exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
