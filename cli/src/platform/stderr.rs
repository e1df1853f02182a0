//! Standard error, written by a thread of its own.
//!
//! A pipe that nobody reads fills up, and whoever writes to a full one waits. A renewal must not
//! wait for a reader of the log, nor must a deadline: lines go into a queue, and those that do not
//! fit are counted and left out. `tracing-appender` does the same, but tells of its own trouble by a
//! plain write to standard error.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write as write_some;
use std::cell::Cell;
use std::io::{Error, Write, stderr};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Most lines that wait to be written.
const LINES: usize = 1_024;
/// Longest wait for what is left at the end of the process.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

static QUEUE: OnceLock<SyncSender<Piece>> = OnceLock::new();
/// Lines that were left out.
static LOST: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// This thread is the one that may wait, and its own lines need no room in the queue.
    static IS_WRITER: Cell<bool> = const { Cell::new(false) };
}

enum Piece {
    Line(Vec<u8>),
    /// Everything before has been written when this is answered.
    Flush(SyncSender<()>),
}

/// Starts the thread.
pub(crate) fn start() {
    let (queue, pieces) = sync_channel(LINES);
    let thread = std::thread::Builder::new().name("log".into());
    // Without a thread, lines are written where they come up.
    if thread.spawn(move || copy(pieces)).is_ok() {
        QUEUE.set(queue).ok();
    }
}

/// Waits until what was written is out, but not for a reader that does not read.
pub(crate) fn flush() {
    let (done, is_done) = sync_channel(1);
    if let Some(queue) = QUEUE.get()
        && queue.try_send(Piece::Flush(done)).is_ok()
    {
        is_done.recv_timeout(FLUSH_WITHIN).ok();
    }
}

/// Writes `text` where there is no queue yet, or none any more, and waits a second at most for a pipe
/// that is full.
pub(crate) fn write_apart(text: String) {
    let (done, is_done) = sync_channel(1);
    let thread = std::thread::Builder::new().name("last words".into());
    let writing = thread.spawn(move || {
        put(&stderr(), text.as_bytes());
        done.send(()).ok();
    });
    if writing.is_ok() {
        is_done.recv_timeout(FLUSH_WITHIN).ok();
    }
}

/// Standard error, for whole lines. A write never waits and never fails.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NonBlockingStderr;

impl Write for NonBlockingStderr {
    fn write(&mut self, line: &[u8]) -> Result<usize, Error> {
        match QUEUE.get().filter(|_| !IS_WRITER.get()) {
            Some(queue) => {
                if queue.try_send(Piece::Line(line.to_vec())).is_err() {
                    LOST.fetch_add(1, Ordering::Relaxed);
                }
            }
            None => put(&stderr(), line),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

fn copy(pieces: Receiver<Piece>) {
    IS_WRITER.set(true);
    for piece in pieces {
        match piece {
            Piece::Line(line) => {
                put(&stderr(), &line);
                let lost = LOST.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    tracing::warn!(lost, "lines are missing here: standard error was not read");
                }
            }
            Piece::Flush(done) => {
                done.send(()).ok();
            }
        }
    }
}

/// Writes all of `line`, or nothing more when nobody will read it. The command shares the pipe and
/// may have made it one that does not wait.
fn put(out: &impl AsFd, mut line: &[u8]) {
    while !line.is_empty() {
        match write_some(out, line) {
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
    fn a_line_is_whole_where_the_pipe_is_full_and_does_not_wait() {
        let (mut reader, writer) = pipe().unwrap();
        fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let line = vec![b'x'; 300_000];

        let length = line.len();
        let put_all = std::thread::spawn(move || put(&writer, &line));
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        put_all.join().unwrap();

        assert_eq!(all.len(), length);
    }

    #[test]
    fn a_line_that_nobody_will_read_is_left_out() {
        let (reader, writer) = pipe().unwrap();
        drop(reader);

        put(&writer, b"line\n");
    }
}
