//! The operators' commands: each invokes the function operate or view of a stack, and prints what it
//! returns.
//!
//! The command has no rights to the table: the functions answer, so what an operator may do is a
//! matter of which of the two they may invoke. Requests and responses are JSON that this command
//! passes on.

mod call_error;
mod change;
mod doctor;
mod function;
mod rows;
mod show;
mod table;
mod waits;

use crate::args::operate::{HistoryArgs, LocksArgs, RowFormat, WatchArgs};
use crate::exit::Exit;
pub(crate) use change::{clear_rest, drop_waiter, evict, forget, pause, resume};
pub(crate) use doctor::doctor;
use function::{ActError, Function, Surface};
use lockstep::clock::{Clock, SystemClock};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rows::Column;
use serde_json::{Map, Value, json};
pub(crate) use show::show;
use std::io::{ErrorKind, IsTerminal, Write, stdout};
use std::os::fd::AsFd;

/// Most entries of one page.
const PAGE: u32 = 100;

/// Moves the cursor to the top and clears the screen
/// (<https://en.wikipedia.org/wiki/ANSI_escape_code#Control_Sequence_Introducer_commands>).
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

const LOCKS: [Column; 9] = [
    ("LOCK", &["lock"]),
    ("STATE", &["state"]),
    ("HOLDERS", &["holders"]),
    ("QUEUE", &["queueLength"]),
    ("GRANTED", &["grantedAt"]),
    ("SUCCEEDED", &["lastSuccessAt"]),
    ("MISSING SINCE", &["missingSince"]),
    ("SKIPPED", &["skippedInARow"]),
    ("NOTE", &["note"]),
];

const HISTORY: [Column; 7] = [
    ("AT", &["at"]),
    ("LOCK", &["lock"]),
    ("OUTCOME", &["outcome"]),
    ("SECONDS", &["heldSeconds"]),
    ("STARTS", &["starts"]),
    ("WHO", &["holder", "actor"]),
    ("WHY", &["evidence", "note", "reason"]),
];

/// Prints all locks, or those that `args` select.
pub(crate) async fn locks(args: LocksArgs) -> Exit {
    finish(list(&args).await)
}

async fn list(args: &LocksArgs) -> Result<Exit, ActError> {
    let view = Function::open(&args.function, Surface::View).await?;
    let request = json!({ "act": "list", "prefix": args.prefix, "state": args.state });
    let locks = all(&view, request, "locks", u32::MAX).await?;
    print_rows(args.output, "locks", LOCKS, &locks, "no lock")?;
    Ok(Exit::OK)
}

/// Prints the history of a lock, or of all locks of a prefix.
pub(crate) async fn history(args: HistoryArgs) -> Exit {
    finish(entries(&args).await)
}

async fn entries(args: &HistoryArgs) -> Result<Exit, ActError> {
    let view = Function::open(&args.function, Surface::View).await?;
    let request = json!({
        "act": "history", "lock": args.lock, "prefix": args.prefix, "from": args.from, "to": args.to,
    });
    let entries = all(&view, request, "entries", args.last).await?;
    print_rows(args.output, "entries", HISTORY, &entries, "no entry")?;
    Ok(Exit::OK)
}

/// Prints the list of locks again and again, until the command is interrupted.
pub(crate) async fn watch(args: WatchArgs) -> Exit {
    finish(repeat(&args).await)
}

async fn repeat(args: &WatchArgs) -> Result<Exit, ActError> {
    let view = Function::open(&args.function, Surface::View).await?;
    let request = json!({ "act": "list", "prefix": args.prefix });
    let mut last = String::new();
    loop {
        let locks = all(&view, request.clone(), "locks", u32::MAX).await?;
        let table = rows::as_table(LOCKS, &locks, "no lock");
        if stdout().is_terminal() {
            print(&format!("{CLEAR}{table}"))?;
        } else if table != last {
            print(&format!("{table}\n"))?;
        }
        last = table;
        if has_no_reader() {
            return Ok(Exit::OK);
        }
        SystemClock.sleep(args.every).await;
    }
}

/// The rows of all pages, `most` at most.
async fn all(
    view: &Function,
    request: Value,
    field: &str,
    most: u32,
) -> Result<Vec<Value>, ActError> {
    let mut request = without_null(request);
    let mut found = Vec::new();
    loop {
        let left = most - u32::try_from(found.len()).unwrap_or(most).min(most);
        request["limit"] = json!(left.clamp(1, PAGE));
        let mut page = view.act(&request).await?;
        // Starts that the log of events could not show. The rest of the page is complete.
        if let Some(problem) = page["problem"].as_str() {
            crate::log::print_line(problem);
        }
        if let Value::Array(rows) = page[field].take() {
            found.extend(rows);
        }
        found.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        // A page may have fewer rows than it was asked for, or none, and still not be the last: the
        // function ends it in time.
        let next = page["next"].take();
        if next.is_null() || found.len() as u64 >= u64::from(most) {
            return Ok(found);
        }
        request["next"] = next;
    }
}

/// `request` without the fields that have no value.
fn without_null(request: Value) -> Value {
    let Value::Object(fields) = request else {
        return request;
    };
    let given = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(given.collect::<Map<_, _>>())
}

fn print_rows<const N: usize>(
    output: RowFormat,
    field: &str,
    columns: [Column; N],
    found: &[Value],
    none: &str,
) -> Result<(), ActError> {
    match output {
        RowFormat::Table => print(&rows::as_table(columns, found, none)),
        RowFormat::Csv => print(&rows::as_csv(columns, found)),
        RowFormat::Json => print(&format!("{}\n", json!({ field: found }))),
    }
}

/// Writes to standard output.
///
/// # Errors
/// What cannot be written is not reported as done. A reader that has gone, such as `head`, ends the command without an
/// error.
fn print(text: &str) -> Result<(), ActError> {
    let mut out = stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => ActError::without_reader(),
        _ => ActError {
            exit: Exit::CANNOT_WRITE,
            text: format!("standard output cannot be written: {error}"),
        },
    })
}

/// Whether nothing can read standard output any more: it is a pipe whose other end is closed
/// (<https://man7.org/linux/man-pages/man2/poll.2.html>).
fn has_no_reader() -> bool {
    let out = stdout();
    let mut ends = [PollFd::new(out.as_fd(), PollFlags::empty())];
    poll(&mut ends, PollTimeout::ZERO).is_ok()
        && ends[0]
            .revents()
            .is_some_and(|seen| seen.contains(PollFlags::POLLERR))
}

/// The exit code, after one line on stderr for an error.
fn finish(result: Result<Exit, ActError>) -> Exit {
    result.unwrap_or_else(|ActError { exit, text }| {
        if !text.is_empty() {
            crate::log::print_line(text);
        }
        exit
    })
}
