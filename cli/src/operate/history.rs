//! `lockstep history`: prints the runs that have ended, the acts of operators, and the starts without a
//! permit.

use super::act_error::ActError;
use super::function::{Function, Surface};
use super::screen::Screen;
use super::{HISTORY, entries_for_people, finish, print_rows, rows_of};
use crate::args::operate::{HistoryArgs, RowFormat};
use crate::exit::Exit;
use crate::log;
use lockstep::clock::{Clock, SystemClock};
use lockstep::contract::parse_time;
use lockstep::domain::{Timestamp, rfc3339};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::time::Duration;

/// How far back the history of several locks goes without `--since`, `--from` and `--to`.
const SINCE: Duration = Duration::from_secs(86_400);

/// How long before the beginning of `--since` a run may have been granted. The function selects runs by the
/// time of their grant, so the request starts this much earlier, and the command then drops the runs that
/// ended too early.
const GRANTED_BEFORE: Duration = Duration::from_secs(86_400);

/// Prints the history of a lock, or of several by time.
pub(crate) async fn history(args: HistoryArgs) -> Exit {
    finish(attempt(&args).await)
}

async fn attempt(args: &HistoryArgs) -> Result<Exit, ActError> {
    let view = Function::open(&args.function, Surface::View).await?;
    let is_one = args.lock.is_some();
    let is_unbounded = args.from.is_none() && args.to.is_none();
    let since = args.since.or((!is_one && is_unbounded).then_some(SINCE));
    let ended_from = since.map(|since| before(SystemClock.now(), since));
    let granted_from = ended_from.map(|from| rfc3339(before(from, GRANTED_BEFORE)));
    let request = json!({
        "act": "history", "lock": args.lock, "prefix": args.prefix,
        "all": (args.all || (!is_one && args.prefix.is_none())).then_some(true),
        "failed": args.failed.then_some(true), "task": args.task,
        "from": args.from.clone().or(granted_from), "to": args.to,
    });
    // The entries of several locks come lock by lock, so the newest entry of all may come last.
    let most = if is_one && ended_from.is_none() {
        args.last
    } else {
        u32::MAX
    };
    let mut rows = rows_of(&view, request, "entries", most).await?;
    let entries = &mut rows.found;
    if let Some(from) = ended_from {
        entries.retain(|entry| at(entry) >= from);
    }
    if !is_one {
        entries.sort_by_key(|entry| Reverse(at(entry)));
    }
    let last = usize::try_from(args.last).unwrap_or(usize::MAX);
    if rows.more || entries.len() > last {
        log::print_line(format!(
            "only the latest {last} entries are shown; give --last N for more"
        ));
    }
    entries.truncate(last);
    let none = match since {
        Some(since) => format!("no entry in the last {} (--since)", words(since)),
        None => "no entry".to_owned(),
    };
    if args.output == RowFormat::Table {
        *entries = entries_for_people(entries);
    }
    print_rows(
        Screen::new(args.layout.wide),
        args.output,
        "entries",
        HISTORY,
        &rows,
        &none,
    )?;
    Ok(Exit::OK)
}

/// Returns the time of an entry. For a run this is the time at which it ended.
fn at(entry: &Value) -> Timestamp {
    let at = entry["at"].as_str().unwrap_or_default();
    parse_time("at", at).unwrap_or_default()
}

fn before(time: Timestamp, length: Duration) -> Timestamp {
    let millis = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    Timestamp::from_millis(time.millis().saturating_sub(millis))
}

fn words(length: Duration) -> String {
    super::screen::length(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}
