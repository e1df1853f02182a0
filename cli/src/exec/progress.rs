//! Receives the progress of a command, which writes lines to a FIFO.
//!
//! Any program in any language can write a line to a FIFO without a library. A value that nothing has read is
//! replaced by the next one.

mod fifo;

use crate::exit::Exit;
use crate::log::print_line;
use crate::platform::env::variable;
use fifo::{Fifo, open};
use std::io::{Error, Write};
use std::path::Path;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;

/// The variable that names the FIFO.
pub(crate) const VARIABLE: &str = "LOCKSTEP_PROGRESS";
/// Maximum length of a progress value, in characters; the rest of a line is cut off.
const MAX_LENGTH: usize = 256;

/// A FIFO, which is removed on drop, and the last value read from it.
#[derive(Debug)]
pub(crate) struct Progress {
    fifo: Fifo,
    latest: watch::Receiver<Option<String>>,
}

impl Progress {
    /// Creates a FIFO that the command can write to, whichever user it runs as.
    ///
    /// # Errors
    /// When no directory allows it.
    pub(crate) fn open() -> Result<Self, Error> {
        let (sender, latest) = watch::channel(None);
        // Created before the receiver, so that its drop removes the FIFO after any error.
        let fifo = Fifo::create()?;
        let options = &mut pipe::OpenOptions::new();
        // Open for reading and writing, so that there is no end of file when a writer closes the FIFO. POSIX
        // leaves that undefined, Linux allows it.
        #[cfg(target_os = "linux")]
        let options = options.read_write(true);
        let receiver = options.open_receiver(&fifo.0)?;
        tokio::spawn(read_lines(receiver, sender));
        Ok(Self { fifo, latest })
    }

    /// Returns the environment variable that tells the command the path of the FIFO.
    pub(crate) fn variable(&self) -> (String, String) {
        (VARIABLE.into(), self.fifo.0.display().to_string())
    }

    /// Returns a receiver of the command's latest progress.
    pub(crate) fn latest(&self) -> watch::Receiver<Option<String>> {
        self.latest.clone()
    }
}

/// Reads lines from `fifo`, and sends each complete one that differs from the one before, until all receivers
/// are dropped.
async fn read_lines(mut fifo: pipe::Receiver, sender: watch::Sender<Option<String>>) {
    let mut line = Vec::new();
    let mut part = [0; 4096];
    loop {
        let length = tokio::select! {
            // A FIFO that is open for reading and writing has no end of file.
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
            // The rest of a longer line is dropped, so that a line without an end cannot fill the memory.
            } else if line.len() < MAX_LENGTH {
                line.push(*byte);
            }
        }
    }
}

/// Converts a line to what the contract accepts: 1 to 256 visible ASCII characters or spaces. Every other
/// character becomes `?`. Returns `None` for a line of white space only.
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

/// Writes `value` to the FIFO: the subcommand `lockstep progress VALUE`.
pub(crate) fn report(value: &str) -> Exit {
    let Some(path) = variable(VARIABLE) else {
        print_line(format!(
            "{VARIABLE} is not set: `lockstep progress` works only inside a command of `lockstep run` or `lockstep worker`"
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

/// Writes `value` and a line end in one call, without waiting for a reader. Such a call is shorter than a
/// page, so lines of several writers never mix (<https://man7.org/linux/man-pages/man7/pipe.7.html>).
fn write(path: &Path, value: &str) -> Result<(), Error> {
    let value = sanitize(value).ok_or_else(|| Error::other("the progress is empty"))?;
    let mut fifo = open(path)?;
    fifo.write_all(format!("{value}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

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
    async fn a_repeated_line_is_no_progress() {
        let progress = Progress::open().unwrap();
        let (mut fifo, mut latest) = (writer(&progress.fifo.0), progress.latest());

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
        let mut fifo = writer(&progress.fifo.0);

        drop(progress);

        let mut is_closed = false;
        for _ in 0..100 {
            tokio::task::yield_now().await;
            is_closed |= fifo.write(b".").is_err();
        }
        assert!(is_closed, "it still has a reader");
    }

    #[tokio::test]
    async fn lines_of_every_writer_are_read_and_the_fifo_is_removed() {
        let progress = Progress::open().unwrap();
        let (path, mut latest) = (progress.fifo.0.clone(), progress.latest());

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
