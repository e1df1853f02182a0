//! A question at the controlling terminal.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Write};
use tokio::sync::oneshot;

/// The controlling terminal of this process, also where its standard streams are files or pipes
/// (<https://man7.org/linux/man-pages/man4/tty.4.html>).
const TERMINAL: &str = "/dev/tty";

/// Asks `question` at the terminal, and returns the line that is typed.
///
/// The line is shown while it is typed, because a terminal that was made not to show it stays so if the process is
/// killed. What is asked for here can be used once.
///
/// # Errors
/// When this process has no terminal, or the terminal is closed.
pub(crate) async fn ask(question: String) -> Result<String, Error> {
    let terminal = File::options().read(true).write(true).open(TERMINAL)?;
    let (sender, answer) = oneshot::channel();
    // A thread of its own: the runtime would wait at the end of the process for one of its threads that reads.
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
