//! Non-blocking standard error, which a thread of its own writes.
//!
//! A pipe that nothing reads fills up, and a write to a full pipe blocks. The log must delay neither a
//! renewal nor a deadline. So lines go into a queue, and lines that do not fit are counted and dropped.
//! `tracing-appender` does the same, but reports its own errors by a blocking write to standard error.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write as write_part;
use std::cell::Cell;
use std::io::{Error, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Capacity of the queue, in lines.
const CAPACITY: usize = 1_024;
/// Longest wait for the queue to be written at the end of the process.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

/// Longest wait for standard output to be read.
const STDOUT_WITHIN: Duration = Duration::from_secs(10);

/// Number of running commands that share standard error.
static COMMANDS: AtomicUsize = AtomicUsize::new(0);
/// Whether a command may have begun a line since the last one was written here.
static IS_LINE_OPEN: AtomicBool = AtomicBool::new(false);
static QUEUE: OnceLock<SyncSender<Entry>> = OnceLock::new();
/// Number of dropped lines that have not been reported yet.
static DROPPED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this is the writer thread, which may block, and logs without the queue.
    static IS_WRITER: Cell<bool> = const { Cell::new(false) };
}

enum Entry {
    Line(Vec<u8>),
    /// Answered when all lines before it have been written.
    Flush(SyncSender<()>),
}

/// Starts the writer thread.
pub(crate) fn start() {
    let (queue, entries) = sync_channel(CAPACITY);
    let thread = std::thread::Builder::new().name("log".into());
    // If the thread cannot be started, each line is written by the thread that logs it, which may block.
    if thread.spawn(move || write_queue(entries)).is_ok() {
        QUEUE.set(queue).ok();
    }
}

/// Waits until all queued lines are written, at most one second.
pub(crate) fn flush() {
    let (done, is_done) = sync_channel(1);
    if let Some(queue) = QUEUE.get()
        && queue.try_send(Entry::Flush(done)).is_ok()
    {
        is_done.recv_timeout(FLUSH_WITHIN).ok();
    }
}

/// Writes `text` directly, not through the queue, and waits at most one second if the pipe is full.
pub(crate) fn write_unqueued(text: String) {
    let (done, is_done) = sync_channel(1);
    let thread = std::thread::Builder::new().name("stderr".into());
    let writing = thread.spawn(move || {
        write_all(&stderr(), text.as_bytes());
        done.send(()).ok();
    });
    if writing.is_ok() {
        is_done.recv_timeout(FLUSH_WITHIN).ok();
    }
}

/// Writes `text` to standard output, and waits at most ten seconds if the pipe is full.
///
/// # Errors
/// When the text was not written by then.
pub(crate) fn write_to_stdout(text: String) -> Result<(), Error> {
    let (done, is_done) = sync_channel(1);
    let thread = std::thread::Builder::new().name("stdout".into());
    thread.spawn(move || {
        let mut out = stdout();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        done.send(written).ok();
    })?;
    let late = || Err(Error::new(ErrorKind::TimedOut, "nothing reads it"));
    is_done
        .recv_timeout(STDOUT_WITHIN)
        .unwrap_or_else(|_| late())
}

/// Marks a running command that shares standard error. While there is one, each log line is preceded by a
/// line end, because the command may have left a line without one.
#[derive(Debug)]
pub(crate) struct SharedStderr;

impl SharedStderr {
    /// Counts a command that is about to start. A drop counts it out.
    pub(crate) fn begin() -> Self {
        COMMANDS.fetch_add(1, Ordering::SeqCst);
        IS_LINE_OPEN.store(true, Ordering::SeqCst);
        Self
    }
}

impl Drop for SharedStderr {
    fn drop(&mut self) {
        COMMANDS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns the text before a log line: a line end, if a command may have begun a line. Empty on a terminal,
/// where people see the cursor.
fn line_end() -> &'static [u8] {
    let is_open = IS_LINE_OPEN.swap(COMMANDS.load(Ordering::SeqCst) > 0, Ordering::SeqCst);
    if is_open && !stderr().is_terminal() {
        b"\n"
    } else {
        b""
    }
}

/// A writer of whole lines to standard error. Writes never fail, and never block while the writer thread
/// runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NonBlockingStderr;

impl Write for NonBlockingStderr {
    fn write(&mut self, line: &[u8]) -> Result<usize, Error> {
        match QUEUE.get().filter(|_| !IS_WRITER.get()) {
            Some(queue) => {
                let line = [line_end(), line].concat();
                if queue.try_send(Entry::Line(line)).is_err() {
                    DROPPED.fetch_add(1, Ordering::Relaxed);
                }
            }
            None => write_all(&stderr(), line),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

fn write_queue(entries: Receiver<Entry>) {
    IS_WRITER.set(true);
    for entry in entries {
        match entry {
            Entry::Line(line) => {
                write_all(&stderr(), &line);
                let lost = DROPPED.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    tracing::warn!(
                        event = "lines_dropped",
                        lost,
                        "log lines are missing here, because nothing read standard error"
                    );
                }
            }
            Entry::Flush(done) => {
                done.send(()).ok();
            }
        }
    }
}

/// Writes all of `line`; returns early after an error, such as that of a closed pipe. Waits after EAGAIN,
/// because a command shares the pipe and may have set it to `O_NONBLOCK`.
fn write_all(out: &impl AsFd, mut line: &[u8]) {
    while !line.is_empty() {
        match write_part(out, line) {
            Ok(written) => line = &line[written..],
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => {
                let mut room = [PollFd::new(out.as_fd(), PollFlags::POLLOUT)];
                poll(&mut room, PollTimeout::NONE).ok();
            }
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    use std::io::{Read, pipe};

    #[test]
    fn a_line_is_written_whole_to_a_full_non_blocking_pipe() {
        let (mut reader, writer) = pipe().unwrap();
        fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let line = vec![b'x'; 300_000];

        let length = line.len();
        let writing = std::thread::spawn(move || write_all(&writer, &line));
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        writing.join().unwrap();

        assert_eq!(all.len(), length);
    }

    #[test]
    fn a_line_to_a_closed_pipe_is_dropped() {
        let (reader, writer) = pipe().unwrap();
        drop(reader);

        write_all(&writer, b"line\n");
    }
}
