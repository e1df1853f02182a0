//! Requests of operate and view: one act each.

mod clear;
mod evict;
mod history;
mod list;
mod scope;
mod start;

pub use clear::{CheckedClearRest, CheckedForget, ClearRestRequest, ForgetRequest};
pub use evict::{CheckedDropWaiter, CheckedEvict, CheckedWaiter, DropWaiterRequest, EvictRequest};
pub use history::{CheckedHistory, HistoryFilter, HistoryRequest};
pub use list::{CheckedList, ListRequest, ShowRequest};
pub use scope::{CheckedMode, ModeRequest, Scope};
pub use start::{CheckedStart, StartRequest};

use lockstep::contract::{InvalidRequest, parse, quoted, text};
use lockstep_core::domain::{AuditNote, HolderId, Invalid, LockKey, Retention, Timestamp};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A request to operate or view. Operators write requests by hand, so an unknown field is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "act", rename_all = "kebab-case")]
pub enum ActRequest {
    /// Lists locks.
    List(ListRequest),
    /// Shows one lock.
    Show(ShowRequest),
    /// Lists the runs of a lock that have ended, and the acts on it.
    History(HistoryRequest),
    /// Closes locks to new grants.
    Pause(ModeRequest),
    /// Opens locks.
    Resume(ModeRequest),
    /// Stops the work of a holder and frees its permit, or removes a waiter from the queue.
    Evict(EvictRequest),
    /// Removes a waiter from the queue.
    DropWaiter(DropWaiterRequest),
    /// Ends the rest after the last grant.
    ClearRest(ClearRestRequest),
    /// Frees the run key of a run that succeeded.
    Forget(ForgetRequest),
    /// Starts a run again.
    Start(StartRequest),
    /// Returns the version of the function.
    Version(VersionRequest),
}

/// The request for the version of the function. It has no fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct VersionRequest {}

/// A checked [`ActRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckedAct {
    /// Lists locks.
    List(CheckedList),
    /// Shows one lock.
    Show(LockKey),
    /// Lists the history of a lock, or of the locks of a prefix.
    History(CheckedHistory),
    /// Closes locks to new grants.
    Pause(CheckedMode),
    /// Opens locks.
    Resume(CheckedMode),
    /// Stops the work of a holder and frees its permit, or removes a waiter from the queue.
    Evict(CheckedEvict),
    /// Removes a waiter from the queue.
    DropWaiter(CheckedDropWaiter),
    /// Ends the rest after the last grant.
    ClearRest(CheckedClearRest),
    /// Frees the run key of a run that succeeded.
    Forget(CheckedForget),
    /// Starts a run again.
    Start(CheckedStart),
    /// Returns the version of the function.
    Version,
}

/// The function that handles a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// view, which has only the acts that read.
    View,
    /// operate, which has all acts.
    Operate,
}

/// Largest `limit`: the number of locks or runs in one response.
pub(super) const LIMIT_MAX: i64 = 100;

/// The `limit` of a request that does not give one.
const LIMIT_DEFAULT: i64 = 50;

impl ActRequest {
    /// Reads and checks a request to `surface` at `now`. The history keeps an act for `retention`.
    ///
    /// # Errors
    /// [`InvalidRequest`] for a missing, unknown or wrongly typed field, for the first field that
    /// breaks its rule, and for an act that `surface` does not have.
    pub fn read(
        json: Value,
        surface: Surface,
        retention: Retention,
        now: Timestamp,
    ) -> Result<CheckedAct, InvalidRequest> {
        let mut fields: Map<String, Value> = parse(json)?;
        let act = fields.remove("act").unwrap_or_default();
        let rest = Value::Object(fields);
        let known = act.as_str().filter(|act| surface.acts().contains(act));
        // Each act is parsed by itself, because with an enum that has a tag, serde loses the path of a field
        // in its errors.
        match known {
            Some("list") => parse::<ListRequest>(rest)?.check().map(CheckedAct::List),
            Some("show") => {
                let request = parse::<ShowRequest>(rest)?;
                text("lock", &request.lock, LockKey::new).map(CheckedAct::Show)
            }
            Some("history") => parse::<HistoryRequest>(rest)?
                .check()
                .map(CheckedAct::History),
            Some("pause") => parse::<ModeRequest>(rest)?
                .check_pause(retention, now)
                .map(CheckedAct::Pause),
            Some("resume") => parse::<ModeRequest>(rest)?
                .check_resume(retention)
                .map(CheckedAct::Resume),
            Some("evict") => parse::<EvictRequest>(rest)?
                .check(retention)
                .map(CheckedAct::Evict),
            Some("drop-waiter") => parse::<DropWaiterRequest>(rest)?
                .check(retention)
                .map(CheckedAct::DropWaiter),
            Some("clear-rest") => parse::<ClearRestRequest>(rest)?
                .check(retention)
                .map(CheckedAct::ClearRest),
            Some("forget") => parse::<ForgetRequest>(rest)?
                .check(retention)
                .map(CheckedAct::Forget),
            Some("start") => parse::<StartRequest>(rest)?
                .check(retention, now)
                .map(CheckedAct::Start),
            Some("version") => parse::<VersionRequest>(rest).map(|_| CheckedAct::Version),
            _ => Err(unknown(&act, surface)),
        }
    }
}

impl Surface {
    /// Returns the acts of the function, in the order of the reference in the docs.
    #[must_use]
    pub const fn acts(self) -> &'static [&'static str] {
        match self {
            Self::View => &["list", "show", "history", "version"],
            Self::Operate => &[
                "list",
                "show",
                "history",
                "pause",
                "resume",
                "evict",
                "drop-waiter",
                "clear-rest",
                "forget",
                "start",
                "version",
            ],
        }
    }
}

fn unknown(act: &Value, surface: Surface) -> InvalidRequest {
    let given = match act {
        Value::Null => "missing".to_owned(),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    };
    let acts = surface.acts().join(", ");
    let rule = match surface {
        Surface::Operate => format!("one of {acts}"),
        Surface::View => format!("one of {acts}: view only reads, and operate has the other acts"),
    };
    InvalidRequest::new("act", given, rule)
}

/// Checks the actor and the note of an act.
fn audit(actor: &str, note: &str, retention: Retention) -> Result<AuditNote, InvalidRequest> {
    Ok(AuditNote {
        actor: text("actor", actor, HolderId::new)?,
        note: text("note", note, note_text)?,
        retention,
    })
}

fn note_text(note: String) -> Result<String, Invalid> {
    let rule = "1 to 500 characters, none of them a control character";
    let fits = (1..=500).contains(&note.chars().count()) && !note.chars().any(char::is_control);
    if fits {
        Ok(note)
    } else {
        Err(Invalid { rule })
    }
}

/// Checks the `limit` of a response.
fn limit(value: Option<i64>) -> Result<usize, InvalidRequest> {
    let value = value.unwrap_or(LIMIT_DEFAULT);
    let in_range = usize::try_from(value).ok();
    let in_range = in_range.filter(|_| (1..=LIMIT_MAX).contains(&value));
    in_range.ok_or_else(|| {
        let rule = format!("a whole number from 1 to {LIMIT_MAX}");
        InvalidRequest::new("limit", value, rule)
    })
}

/// Checks the prefix of the names of locks. Returns an empty prefix if none is given.
fn prefix(value: Option<&String>) -> Result<String, InvalidRequest> {
    let Some(value) = value else {
        return Ok(String::new());
    };
    // The beginning of a name may contain the same characters as a name.
    text("prefix", value, LockKey::new).map(|prefix| prefix.as_str().to_owned())
}

/// Returns the error for a `next` that does not come from a response to the same request.
fn wrong_next(value: &str) -> InvalidRequest {
    let rule = "the `next` of a response to the same request";
    InvalidRequest::new("next", quoted(value), rule)
}

/// Checks a `next` that is the name of a lock: the last lock of the previous response, which begins with
/// `prefix`.
fn next_lock(value: Option<&String>, prefix: &str) -> Result<Option<LockKey>, InvalidRequest> {
    let Some(value) = value else {
        return Ok(None);
    };
    let lock = LockKey::new(value.as_str()).ok();
    let lock = lock.filter(|lock| lock.as_str().starts_with(prefix));
    lock.map(Some).ok_or_else(|| wrong_next(value))
}
