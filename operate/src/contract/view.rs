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
    /// It grants no permit until an operator resumes it: a stale holder holds it, or evidence is
    /// missing.
    Frozen,
    /// It grants no permit: an operator paused it.
    Paused,
    /// It has a holder.
    Held,
    /// It has waiters and no holder.
    Waiting,
    /// It has neither holders nor waiters.
    Idle,
    /// Its record cannot be read.
    Unreadable,
}

/// One page of locks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListResponse {
    /// The locks, by name.
    pub locks: Vec<LockSummary>,
    /// Why locks that have no record yet begin paused; none if they begin open. In the first response of a list only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_locks: Option<NewLocksView>,
    /// Send it as `next` for the rest of the list. A page may be short, or empty, and have one.
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
    /// When the pause is over; none if that takes a `resume` of all locks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// A lock in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LockSummary {
    /// Its name.
    pub lock: String,
    /// Its state.
    pub state: LockState,
    /// Its capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permits: Option<u8>,
    /// Its holders, oldest grant first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub holders: Vec<String>,
    /// Number of waiters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_length: Option<usize>,
    /// When the latest grant was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted_at: Option<String>,
    /// How its latest runs ended.
    #[serde(flatten)]
    pub outcomes: OutcomesView,
    /// Starts in a row that were skipped: those since the latest grant, of the last 24 hours. None where no
    /// log of events is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped_in_a_row: Option<u32>,
    /// Why it is paused or frozen, or why its record cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One lock.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ShowResponse {
    /// Its name.
    pub lock: String,
    /// Its state.
    pub state: LockState,
    /// What would free a permit, or that one is free.
    pub frees: String,
    /// Why it is paused or frozen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<ClosedView>,
    /// Its capacity.
    pub permits: u8,
    /// Its holders, oldest grant first.
    pub holders: Vec<HolderView>,
    /// Number of waiters.
    pub queue_length: usize,
    /// The first hundred waiters, in the order of their turn.
    pub waiters: Vec<WaiterView>,
    /// No grant is made before this time (`minIntervalSeconds`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rests_until: Option<String>,
    /// How its latest runs ended.
    #[serde(flatten)]
    pub outcomes: OutcomesView,
    /// Starts in a row that were skipped: those since the latest grant. None where no log of events is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped_in_a_row: Option<u32>,
    /// Runs that have ended or lost their permit and whose work still runs, of the latest ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub without_permit: Vec<HolderView>,
    /// How long a run usually takes; none with less than three successes among the latest 20 runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usual: Option<UsualView>,
    /// The latest runs that have ended, and the acts between them, newest first.
    pub last: Vec<HistoryEntry>,
}

/// Why a lock grants no permits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClosedView {
    /// The note of the operator, or why the lock froze.
    pub note: String,
    /// Who paused it, or the holder that it froze for; none if the history does not go back so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Since when; none if the history does not go back so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// When the pause is over; none if that takes a `resume`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// A waiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WaiterView {
    /// Its position in the queue, from 1.
    pub position: usize,
    /// Its short name in the queue, 16 hex digits.
    pub id: String,
    /// The holder that it will be; none if its item is missing or damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The execution that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// When it registered first: since then it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// When it gives up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_until: Option<String>,
    /// Its run key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// What is wrong with its item, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl LockState {
    /// The state of `record` at `now`.
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
    /// The summary of `record` at `now`.
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

    /// The summary of a lock whose record cannot be read.
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

/// The note of a lock that is closed at `now`.
fn note(mode: &Mode, now: Timestamp) -> Option<&str> {
    match mode {
        mode if mode.is_open(now) => None,
        Mode::Open => None,
        Mode::Paused { note, .. } | Mode::Frozen { note } => Some(note),
    }
}

impl NewLocksView {
    /// The view of what closes new locks; `None` if they begin open at `now`.
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
    /// Why `mode` grants no permits at `now`; `acts` are the acts on the lock, oldest first. `None` for an
    /// open lock.
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
    /// The waiter `id` at `position`, with its side item or the problem with it.
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
