//! Asks a question at the controlling terminal.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Write};
use tokio::sync::oneshot;

/// The controlling terminal of this process, also if its standard streams are files or pipes
/// (<https://man7.org/linux/man-pages/man4/tty.4.html>).
const TERMINAL: &str = "/dev/tty";

/// Returns whether this process has a terminal to ask at.
pub(crate) fn is_there() -> bool {
    File::options()
        .read(true)
        .write(true)
        .open(TERMINAL)
        .is_ok()
}

/// Asks `question` at the terminal, and returns the line that is typed.
///
/// The terminal shows the line while it is typed: if it were made not to show it, it would stay so after this
/// process is killed. What is asked for here can be used only once.
///
/// # Errors
/// When this process has no terminal, or the terminal is closed.
pub(crate) async fn ask(question: String) -> Result<String, Error> {
    let terminal = File::options().read(true).write(true).open(TERMINAL)?;
    let (sender, answer) = oneshot::channel();
    // Reads in a thread of its own: at the end of the process the runtime would wait for one of its own
    // threads.
    std::thread::Builder::new().spawn(move || sender.send(exchange(&terminal, &question)).ok())?;
    answer
        .await
        .unwrap_or_else(|_| Err(ErrorKind::UnexpectedEof.into()))
}

fn exchange(mut terminal: &File, question: &str) -> Result<String, Error> {
    write!(terminal, "{question}")?;
    let mut line = String::new();
    match BufReader::new(terminal).read_line(&mut line)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim().to_owned()),
    }
}
