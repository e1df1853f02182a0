//! Queries of the log that keeps published events.

use crate::contract::EventKind;
use lockstep_core::domain::{LockKey, Timestamp};

/// The locks of a request for the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryScope {
    /// One lock.
    Lock(LockKey),
    /// All locks whose names begin with this prefix.
    Prefix(String),
}

impl HistoryScope {
    /// Returns whether `lock` is one of the locks.
    #[must_use]
    pub fn has(&self, lock: &LockKey) -> bool {
        match self {
            Self::Lock(own) => own == lock,
            Self::Prefix(prefix) => lock.as_str().starts_with(prefix),
        }
    }
}

/// The events to read.
#[derive(Clone, Copy, Debug)]
pub struct EventQuery<'a> {
    /// The locks.
    pub scope: &'a HistoryScope,
    /// The kinds.
    pub kinds: &'a [EventKind],
    /// The earliest time of the events.
    pub from: Timestamp,
    /// The time before which the events happened.
    pub before: Timestamp,
}

/// An event in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// The kind.
    pub kind: EventKind,
    /// The lock.
    pub lock: LockKey,
    /// The holder or waiter that the event is about.
    pub holder: Option<String>,
    /// What happened, and why.
    pub reason: String,
    /// When it happened.
    pub at: Timestamp,
}

/// The events that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedEvents {
    /// The events, each once, in no order.
    pub events: Vec<LoggedEvent>,
    /// Why some events may be missing, if some may be.
    pub problem: Option<String>,
}

impl LoggedEvents {
    /// Returns all events, or `None` if some may be missing.
    #[must_use]
    pub fn complete(&self) -> Option<&[LoggedEvent]> {
        self.problem.is_none().then_some(&self.events)
    }
}

impl EventQuery<'_> {
    /// Returns whether the query asks for `event`.
    #[must_use]
    pub fn asks_for(&self, event: &LoggedEvent) -> bool {
        let times = self.from..self.before;
        self.kinds.contains(&event.kind) && times.contains(&event.at) && self.scope.has(&event.lock)
    }
}
