//! The subcommands for operators. Each invokes the function operate or view of a stack, and prints the
//! response.
//!
//! The subcommands do not access the lock table. What an operator may do depends only on which of the two
//! functions the operator may invoke. Requests and responses are JSON, and the response is printed as the
//! function returned it.

mod act_error;
mod call_error;
mod change;
mod doctor;
mod function;
mod history;
mod pattern;
mod rows;
pub(crate) mod screen;
mod show;
mod stack;
mod start;
pub(crate) mod table;
mod waits;
mod watch;

use crate::args::operate::{LocksArgs, RowFormat, WatchArgs};
use crate::exit::Exit;
pub(crate) use act_error::ActError;
pub(crate) use call_error::error_text;
pub(crate) use change::{clear_rest, drop_waiter, evict, forget, pause, resume};
pub(crate) use doctor::doctor;
use function::{Function, Surface};
pub(crate) use history::history;
pub(crate) use pattern::covers;
use rows::{Column, Kind};
use screen::Screen;
use serde_json::{Map, Value, json};
pub(crate) use show::show;
pub(crate) use stack::{Origin, find_stack, parameter_of, region};
pub(crate) use start::start;
use std::collections::HashSet;
use std::io::{ErrorKind, Write, stdout};

/// Maximum number of entries on one page.
const PAGE: u32 = 100;

const LOCKS: [Column; 9] = [
    ("LOCK", &["lock"], Kind::Plain),
    ("STATE", &["state"], Kind::Word),
    ("HOLDERS", &["holders"], Kind::Name),
    ("QUEUE", &["queueLength"], Kind::Count),
    ("GRANTED", &["grantedAt"], Kind::Ago),
    ("SUCCEEDED", &["lastSuccessAt"], Kind::Ago),
    ("SUCCESS MISSING", &["missingSince"], Kind::Ago),
    ("SKIPPED", &["skippedInARow"], Kind::Count),
    ("NOTE", &["note"], Kind::Sentence),
];

const HISTORY: [Column; 7] = [
    ("AT", &["at"], Kind::At),
    ("LOCK", &["lock"], Kind::Plain),
    ("OUTCOME", &["outcome"], Kind::Word),
    ("TOOK", &["heldSeconds"], Kind::Length),
    ("STARTS", &["starts"], Kind::Count),
    ("WHO", &["holder", "actor"], Kind::Name),
    ("WHY", &["evidence", "note", "reason"], Kind::Sentence),
];

/// Prints all locks, or the locks that `args` select.
pub(crate) async fn locks(args: LocksArgs) -> Exit {
    finish(list(&args).await)
}

async fn list(args: &LocksArgs) -> Result<Exit, ActError> {
    let view = Function::open(&args.function, Surface::View).await?;
    let request = json!({ "act": "list", "prefix": args.prefix, "state": args.state });
    if let Some(every) = args.watch {
        return watch::list(&view, &request, every, args.layout.wide).await;
    }
    let rows = rows_of(&view, request, "locks", u32::MAX).await?;
    let screen = Screen::new(args.layout.wide);
    print_rows(screen, args.output, "locks", LOCKS, &rows, "no lock")?;
    if args.output == RowFormat::Table {
        print(&new_locks(screen, &rows.first["newLocks"]))?;
    }
    Ok(Exit::OK)
}

/// Returns the line below a list of locks while locks that have not run yet are paused; empty otherwise.
fn new_locks(screen: Screen, closed: &Value) -> String {
    if closed.is_null() {
        return String::new();
    }
    let until = match &closed["until"] {
        Value::Null => "until you type `lockstep resume --all --note TEXT`".to_owned(),
        until => format!("until {}", screen::whole_seconds(&rows::shown(until))),
    };
    let note = rows::shown(&closed["note"]);
    let line = format!("locks that have not run yet are paused {until}: {note}");
    format!("\n{}\n", screen.lines(&line, "  "))
}

/// Prints the list of locks again and again, until the command is interrupted.
pub(crate) async fn watch(args: WatchArgs) -> Exit {
    finish(repeat(&args).await)
}

async fn repeat(args: &WatchArgs) -> Result<Exit, ActError> {
    let view = Function::open(&args.function, Surface::View).await?;
    let request = json!({ "act": "list", "prefix": args.prefix });
    watch::list(&view, &request, args.every, args.layout.wide).await
}

/// The rows of all pages, and the first page without its rows.
struct Rows {
    found: Vec<Value>,
    first: Value,
    /// Whether there are more rows than the caller asked for.
    more: bool,
}

/// Returns the rows of all pages, at most `most`.
async fn all(
    view: &Function,
    request: Value,
    field: &str,
    most: u32,
) -> Result<Vec<Value>, ActError> {
    Ok(rows_of(view, request, field, most).await?.found)
}

async fn rows_of(
    view: &Function,
    request: Value,
    field: &str,
    most: u32,
) -> Result<Rows, ActError> {
    let mut request = without_null(request);
    let (mut found, mut first, mut problems) = (Vec::new(), None, HashSet::new());
    loop {
        let left = most - u32::try_from(found.len()).unwrap_or(most).min(most);
        request["limit"] = json!(left.clamp(1, PAGE));
        let mut page = view.act(&request).await?;
        // The page says why some of its runs or starts may be missing. The rest of the page is complete.
        if let Some(problem) = page["problem"].as_str()
            && problems.insert(problem.to_owned())
        {
            crate::log::print_line(problem);
        }
        if let Value::Array(rows) = page[field].take() {
            found.extend(rows);
        }
        let read = found.len();
        found.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        // A page that has fewer rows than requested, or none, may not be the last: the function ends each
        // page after a time limit.
        let next = page["next"].take();
        first.get_or_insert(page);
        if next.is_null() || found.len() as u64 >= u64::from(most) {
            return Ok(Rows {
                more: !next.is_null() || read > found.len(),
                found,
                first: first.unwrap_or_default(),
            });
        }
        request["next"] = next;
    }
}

/// Returns `request` without its null fields.
fn without_null(request: Value) -> Value {
    let Value::Object(fields) = request else {
        return request;
    };
    let given = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(given.collect::<Map<_, _>>())
}

/// Returns the entries of a history for people. An exit code other than 0 is written before the reason of its
/// run.
fn entries_for_people(entries: &[Value]) -> Vec<Value> {
    let with_code = |entry: &Value| {
        let mut entry = entry.clone();
        let code = entry["exitCode"].as_i64().filter(|code| *code != 0);
        let why = ["evidence", "reason"]
            .into_iter()
            .find(|field| entry[field].is_string());
        if let (Some(code), Some(why)) = (code, why) {
            entry[why] = json!(format!("exit code {code}: {}", rows::shown(&entry[why])));
        }
        entry
    };
    entries.iter().map(with_code).collect()
}

fn print_rows<const N: usize>(
    screen: Screen,
    output: RowFormat,
    field: &str,
    columns: [Column; N],
    rows: &Rows,
    none: &str,
) -> Result<(), ActError> {
    let found = &rows.found;
    match output {
        RowFormat::Table => print(&rows::as_table(&screen, columns, found, none)),
        RowFormat::Csv => print(&rows::as_csv(columns, found)),
        RowFormat::Json => {
            let mut whole = without_null(rows.first.clone());
            whole[field] = json!(found);
            print(&format!("{whole}\n"))
        }
    }
}

/// Writes to standard output.
///
/// # Errors
/// [`ActError`] with the exit code 73 if the text cannot be written. A reader that closed the pipe, such as
/// `head`, ends the command with exit code 0 and no message.
pub(crate) fn print(text: &str) -> Result<(), ActError> {
    let mut out = stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => ActError::without_reader(),
        _ => {
            let text = format!("standard output cannot be written: {error}");
            ActError::new(Exit::CANNOT_WRITE, text)
        }
    })
}

/// Returns the exit code, after printing the error, if there is one, as one line on stderr.
pub(crate) fn finish(result: Result<Exit, ActError>) -> Exit {
    result.unwrap_or_else(|ActError { exit, text, .. }| {
        if !text.is_empty() {
            crate::log::print_line(text);
        }
        exit
    })
}
