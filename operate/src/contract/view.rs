//! Responses to the acts that read: list, show and history.

mod history;
mod holder;
mod outcomes;
mod usual;

pub use history::{HistoryEntry, HistoryResponse};
pub use holder::{EndingView, ExecutionView, HolderView, NextView, TaskView};
pub use outcomes::OutcomesView;
pub use usual::UsualView;

use lockstep_core::domain::{
    Act, ActKind, LockKey, LockRecord, Mode, Timestamp, Waiter, WaiterId, rfc3339,
};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a lock, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum LockState {
    /// The lock grants no permit until an operator resumes it, because a stale run holds it under `hold`, or
    /// because evidence is missing.
    Frozen,
    /// The lock grants no permit, because an operator paused it.
    Paused,
    /// The lock has a holder.
    Held,
    /// The lock has waiters and no holder.
    Waiting,
    /// The lock has neither holders nor waiters.
    Idle,
    /// The record of the lock cannot be read.
    Unreadable,
}

/// One page of locks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListResponse {
    /// The locks, in the order of their names.
    pub locks: Vec<LockSummary>,
    /// The pause of locks that have no record yet; absent if these are open. Only in the first response of a
    /// list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_locks: Option<NewLocksView>,
    /// Send the same request with this value as `next` for the rest of the list. Even a short or empty page
    /// may have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The pause of all locks that have no record yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NewLocksView {
    /// The note of the operator.
    pub note: String,
    /// When the pause ends by itself; absent if it lasts until a `resume` of all locks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// A lock in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LockSummary {
    /// The name of the lock.
    pub lock: String,
    /// The state of the lock.
    pub state: LockState,
    /// The number of permits of the lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permits: Option<u8>,
    /// The holders of the lock, oldest grant first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub holders: Vec<String>,
    /// Number of waiters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_length: Option<usize>,
    /// When the latest grant was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted_at: Option<String>,
    /// How the latest runs of the lock ended.
    #[serde(flatten)]
    pub outcomes: OutcomesView,
    /// Number of starts that were skipped since the latest grant, in the last 24 hours. Absent if the
    /// function reads no log of events, or could not read all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped_in_a_row: Option<u32>,
    /// Why the lock is paused or frozen, or why its record cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One lock.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ShowResponse {
    /// The name of the lock.
    pub lock: String,
    /// The state of the lock.
    pub state: LockState,
    /// Sentences for people: what will free a permit and by when, or that a permit is free, and what an
    /// operator can type.
    pub frees: String,
    /// Why the lock is paused or frozen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<ClosedView>,
    /// The number of permits of the lock.
    pub permits: u8,
    /// The holders of the lock, oldest grant first.
    pub holders: Vec<HolderView>,
    /// Number of waiters.
    pub queue_length: usize,
    /// The first 100 waiters, in the order of their turns.
    pub waiters: Vec<WaiterView>,
    /// The lock rests and makes no grant before this time (`minIntervalSeconds`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rests_until: Option<String>,
    /// How the latest runs of the lock ended.
    #[serde(flatten)]
    pub outcomes: OutcomesView,
    /// Number of starts that were skipped since the latest grant. Absent if the function reads no log of
    /// events, or could not read all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped_in_a_row: Option<u32>,
    /// Those of the latest runs that have ended or lost their permit, but whose work is still running.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub without_permit: Vec<HolderView>,
    /// How long a run usually takes; absent with fewer than three successes among the latest 20 runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usual: Option<UsualView>,
    /// The latest five runs that have ended, with the acts and the starts without a permit between them,
    /// newest first.
    pub last: Vec<HistoryEntry>,
}

/// Why a lock grants no permits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClosedView {
    /// The note of the operator, or why the lock froze.
    pub note: String,
    /// Who paused the lock, or the holder that it froze for; absent if the history does not go back so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// When the lock was closed; absent if the history does not go back so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// When the pause ends by itself; absent if it lasts until a `resume`, and for a frozen lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// A waiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WaiterView {
    /// The position of the waiter in the queue, from 1.
    pub position: usize,
    /// The short name of the waiter in the queue, 16 hex digits.
    pub id: String,
    /// The name that the waiter will have as a holder; absent if its item is missing or damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The execution that started the waiter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// When the waiter joined the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// When the waiter gives up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_until: Option<String>,
    /// The run key of the waiter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// Why the item of the waiter cannot be used: it is missing or damaged. Absent for a valid item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl LockState {
    /// Returns the state of `record` at `now`.
    #[must_use]
    pub fn of(record: &LockRecord, now: Timestamp) -> Self {
        match record.gate.mode {
            Mode::Frozen { .. } => Self::Frozen,
            Mode::Paused { .. } if !record.gate.mode.is_open(now) => Self::Paused,
            _ if !record.holders.is_empty() => Self::Held,
            _ if !record.queue.is_empty() => Self::Waiting,
            _ => Self::Idle,
        }
    }
}

impl LockSummary {
    /// Returns the summary of `record` at `now`.
    #[must_use]
    pub fn of(lock: &LockKey, record: &LockRecord, now: Timestamp) -> Self {
        let holders = record.oldest_first().into_iter();
        let granted = record.last_token.granted_at();
        Self {
            lock: lock.to_string(),
            state: LockState::of(record, now),
            permits: Some(record.permits.get()),
            holders: holders.map(|(holder, _)| holder.to_string()).collect(),
            queue_length: Some(record.queue.len()),
            granted_at: (granted != Timestamp::default()).then(|| rfc3339(granted)),
            outcomes: OutcomesView::of(record, now),
            skipped_in_a_row: None,
            note: note(&record.gate.mode, now).map(str::to_owned),
        }
    }

    /// Returns the summary of a lock whose record cannot be read.
    #[must_use]
    pub fn unreadable(lock: &LockKey, problem: String) -> Self {
        Self {
            lock: lock.to_string(),
            state: LockState::Unreadable,
            permits: None,
            holders: Vec::new(),
            queue_length: None,
            granted_at: None,
            outcomes: OutcomesView::default(),
            skipped_in_a_row: None,
            note: Some(problem),
        }
    }
}

/// Returns the note of a lock that is closed at `now`; `None` for an open lock.
fn note(mode: &Mode, now: Timestamp) -> Option<&str> {
    match mode {
        mode if mode.is_open(now) => None,
        Mode::Open => None,
        Mode::Paused { note, .. } | Mode::Frozen { note } => Some(note),
    }
}

impl NewLocksView {
    /// Returns the view of the mode of locks that have no record yet; `None` if these are open at `now`.
    #[must_use]
    pub fn of(mode: Option<&Mode>, now: Timestamp) -> Option<Self> {
        let mode = mode?;
        Some(Self {
            note: note(mode, now)?.to_owned(),
            until: mode.pause_end().map(rfc3339),
        })
    }
}

impl ClosedView {
    /// Returns why a lock in `mode` grants no permits at `now`; `None` for an open lock. `acts` are the acts
    /// on the lock, oldest first.
    #[must_use]
    pub fn of(mode: &Mode, acts: &[Act], now: Timestamp) -> Option<Self> {
        let note = note(mode, now)?.to_owned();
        let closing = match mode {
            Mode::Frozen { .. } => ActKind::Frozen,
            _ => ActKind::Paused,
        };
        let act = acts.iter().rfind(|act| act.kind == closing);
        Some(Self {
            note,
            actor: act.map(|act| act.actor.to_string()),
            since: act.map(|act| rfc3339(act.at)),
            until: mode.pause_end().map(rfc3339),
        })
    }
}

impl WaiterView {
    /// Returns the view of the waiter `id` at `position`. `item` is its side item, or the problem with that
    /// item.
    #[must_use]
    pub fn of(position: usize, id: &WaiterId, item: Result<Option<Waiter>, String>) -> Self {
        let (waiter, problem) = match item {
            Ok(Some(waiter)) => (Some(waiter), None),
            Ok(None) => (None, Some("its item is missing".to_owned())),
            Err(problem) => (None, Some(problem)),
        };
        let terms = waiter.as_ref().map(|waiter| &waiter.terms);
        let until = waiter.as_ref().and_then(|waiter| waiter.wait_until);
        Self {
            position,
            id: id.to_string(),
            holder: terms.map(|terms| terms.holder.to_string()),
            parent: terms
                .and_then(|terms| terms.parent.as_ref())
                .map(ToString::to_string),
            since: waiter.as_ref().map(|waiter| rfc3339(waiter.queued_at)),
            wait_until: until.map(rfc3339),
            run_key: terms
                .and_then(|terms| terms.run_key.as_ref())
                .map(|key| key.as_str().to_owned()),
            problem,
        }
    }
}
