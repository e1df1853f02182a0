//! Receives a command's progress: it writes lines to a FIFO.
//!
//! A FIFO takes a line from any program and any language, without a library, and a value that
//! nothing has read is simply replaced by the next.

use crate::exit::Exit;
use crate::log::print_line;
use crate::platform::env::{random_id, scratch_folders, variable};
use nix::errno::Errno;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs::{File, OpenOptions};
use std::io::{Error, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;

/// The variable that names the FIFO.
pub(crate) const VARIABLE: &str = "LOCKSTEP_PROGRESS";
/// Maximum length of a progress value, in characters; the rest of a line is cut off.
const MAX_LENGTH: usize = 256;

/// Prefix of a FIFO's name.
const PREFIX: &str = "lockstep-";
/// Age from which a FIFO without a reader is stale, and not about to be opened.
const STALE_AFTER: Duration = Duration::from_secs(60);

/// Runs the removal of stale FIFOs once per process.
static SWEPT: Once = Once::new();

/// A FIFO, which is removed on drop, and the last value read from it.
#[derive(Debug)]
pub(crate) struct Progress {
    path: PathBuf,
    latest: watch::Receiver<Option<String>>,
}

impl Progress {
    /// Creates a FIFO that only this user can use.
    ///
    /// # Errors
    /// When it can be created in no directory.
    pub(crate) fn open() -> Result<Self, Error> {
        let mut problem = Error::other("no directory for the FIFO");
        SWEPT.call_once(|| scratch_folders().iter().for_each(|folder| sweep(folder)));
        for folder in scratch_folders() {
            let path = folder.join(format!("{PREFIX}{}", random_id()));
            match mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR) {
                Ok(()) => return Self::read_from(path),
                Err(error) => problem = error.into(),
            }
        }
        Err(problem)
    }

    fn read_from(path: PathBuf) -> Result<Self, Error> {
        let (sender, latest) = watch::channel(None);
        // Created first, so that its drop removes the FIFO on any error.
        let progress = Self { path, latest };
        let options = &mut pipe::OpenOptions::new();
        // Open for both, so that there is no end of file when a writer closes it. POSIX leaves that undefined.
        #[cfg(target_os = "linux")]
        let options = options.read_write(true);
        let receiver = options.open_receiver(&progress.path)?;
        tokio::spawn(read_lines(receiver, sender));
        Ok(progress)
    }

    /// The variable for the command.
    pub(crate) fn variable(&self) -> (String, String) {
        (VARIABLE.into(), self.path.display().to_string())
    }

    /// The command's latest progress.
    pub(crate) fn latest(&self) -> watch::Receiver<Option<String>> {
        self.latest.clone()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

/// Removes stale FIFOs in `folder`, of processes that were killed, as far as this user may.
fn sweep(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if is_stale(&path) {
            std::fs::remove_file(&path).ok();
        }
    }
}

/// Whether `path` is a FIFO of this command that is old and has no reader.
fn is_stale(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let id = name.and_then(|name| name.strip_prefix(PREFIX));
    let is_id = |id: &str| id.len() == 12 && id.bytes().all(|digit| digit.is_ascii_hexdigit());
    let Ok(file) = path.symlink_metadata() else {
        return false;
    };
    let age = file.modified().ok().and_then(|at| at.elapsed().ok());
    id.is_some_and(is_id)
        && file.file_type().is_fifo()
        && age.is_some_and(|age| age >= STALE_AFTER)
        // A FIFO that is open for reading can be opened for writing.
        && open(path).is_err_and(|error| error.raw_os_error() == Some(Errno::ENXIO as i32))
}

/// Opens a FIFO for writing, without waiting for a reader.
fn open(path: &Path) -> Result<File, Error> {
    OpenOptions::new()
        .write(true)
        .custom_flags(nix::libc::O_NONBLOCK)
        .open(path)
}

/// Sends the last complete line if it differs from the one before, until all receivers are dropped.
async fn read_lines(mut fifo: pipe::Receiver, sender: watch::Sender<Option<String>>) {
    let mut line = Vec::new();
    let mut part = [0; 4096];
    loop {
        let length = tokio::select! {
            // A FIFO that is open for both has no end of file.
            () = sender.closed() => return,
            read = fifo.read(&mut part) => match read {
                Ok(length @ 1..) => length,
                Ok(0) | Err(_) => return,
            }
        };
        for byte in &part[..length] {
            if *byte == b'\n' {
                let value = sanitize(&String::from_utf8_lossy(&line));
                line.clear();
                sender.send_if_modified(|latest| {
                    let is_new = value.is_some() && *latest != value;
                    if is_new {
                        *latest = value;
                    }
                    is_new
                });
            // A line without an end must not grow in memory.
            } else if line.len() < MAX_LENGTH {
                line.push(*byte);
            }
        }
    }
}

/// Converts a line to what the contract accepts: visible ASCII and spaces, at most 256 of them.
fn sanitize(line: &str) -> Option<String> {
    let visible = |c: char| {
        if c == ' ' || c.is_ascii_graphic() {
            c
        } else {
            '?'
        }
    };
    let line: String = line.trim().chars().take(MAX_LENGTH).map(visible).collect();
    (!line.is_empty()).then_some(line)
}

/// `lockstep progress VALUE`: writes the value to the FIFO.
pub(crate) fn report(value: &str) -> Exit {
    let Some(path) = variable(VARIABLE) else {
        print_line(format!(
            "{VARIABLE} is not set: `progress` requires `lockstep run` or `worker`"
        ));
        return Exit::CONFIGURATION;
    };
    match write(Path::new(&path), value) {
        Ok(()) => Exit::OK,
        Err(error) => {
            print_line(format!("{VARIABLE} is {path:?}: {error}"));
            Exit::FAILED
        }
    }
}

/// Writes less than a page at once: lines of several writers never mix
/// (<https://man7.org/linux/man-pages/man7/pipe.7.html>). Does not wait for a reader.
fn write(path: &Path, value: &str) -> Result<(), Error> {
    let value = sanitize(value).ok_or_else(|| Error::other("the progress is empty"))?;
    let mut fifo = open(path)?;
    fifo.write_all(format!("{value}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn a_line_is_converted_to_what_the_contract_accepts() {
        assert_eq!(sanitize("  file 3 of 9\r"), Some("file 3 of 9".into()));
        assert_eq!(sanitize("größe\t1"), Some("gr??e?1".into()));
        assert_eq!(sanitize(&"x".repeat(300)), Some("x".repeat(256)));
        assert_eq!(sanitize("  "), None);
    }

    fn writer(path: &Path) -> File {
        open(path).unwrap()
    }

    #[tokio::test]
    async fn an_old_fifo_without_a_reader_is_removed_and_no_other_file_is() {
        let folder = std::env::temp_dir().join(format!("sweep-{}", random_id()));
        std::fs::create_dir(&folder).unwrap();
        let fifo = |name: &str, is_old: bool| {
            let path = folder.join(name);
            mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
            let mut options = OpenOptions::new();
            let both = options.read(true).write(true).open(&path).unwrap();
            if is_old {
                both.set_modified(SystemTime::UNIX_EPOCH).unwrap();
            }
            (path, both)
        };
        let left = fifo("lockstep-0123456789ab", true).0;
        let (read, _reader) = fifo("lockstep-0123456789ac", true);
        let young = fifo("lockstep-0123456789ad", false).0;
        let other = fifo("other-0123456789ab", true).0;

        sweep(&folder);

        assert!(!left.exists());
        assert!(read.exists() && young.exists() && other.exists());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn a_repeated_line_is_no_progress() {
        let progress = Progress::open().unwrap();
        let (mut fifo, mut latest) = (writer(&progress.path), progress.latest());

        fifo.write_all(b"one\n").unwrap();
        latest.changed().await.unwrap();
        fifo.write_all(b"one\none\n\ntwo\n").unwrap();
        latest.changed().await.unwrap();

        assert_eq!(latest.borrow_and_update().as_deref(), Some("two"));
        fifo.write_all(b"two\n").unwrap();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(!latest.has_changed().unwrap());
    }

    #[tokio::test]
    async fn a_fifo_without_receivers_is_closed() {
        let progress = Progress::open().unwrap();
        let mut fifo = writer(&progress.path);

        drop(progress);

        let mut is_closed = false;
        for _ in 0..100 {
            tokio::task::yield_now().await;
            is_closed |= fifo.write(b".").is_err();
        }
        assert!(is_closed, "it still has a reader");
    }

    #[tokio::test]
    async fn lines_of_every_writer_are_read_and_the_fifo_is_removed_with_its_reader() {
        let progress = Progress::open().unwrap();
        let (path, mut latest) = (progress.path.clone(), progress.latest());

        for value in ["one", "two"] {
            write(&path, value).unwrap();
            latest.changed().await.unwrap();
        }
        let last = latest.borrow().clone();
        drop(progress);

        assert_eq!(last.as_deref(), Some("two"));
        assert!(!path.exists());
    }
}
