//! An event bus in memory, for tests.

use super::{Event, EventKind, EventQuery, Events, LoggedEvent, LoggedEvents};
use crate::faults::lock;
use lockstep_core::domain::Timestamp;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// An event bus that records the events that are published.
#[derive(Debug, Default)]
pub struct MemoryEvents {
    published: Mutex<Vec<Event>>,
    unreadable: AtomicBool,
    reads: Mutex<Vec<Range<Timestamp>>>,
}

impl MemoryEvents {
    /// Makes the log of the events unreadable from now on.
    pub fn close_log(&self) {
        self.unreadable.store(true, Ordering::SeqCst);
    }

    /// Returns all events, in the order of their publication.
    pub fn published(&self) -> Vec<Event> {
        lock(&self.published).clone()
    }

    /// Returns the times of which the log was read, in the order of the reads.
    pub fn reads(&self) -> Vec<Range<Timestamp>> {
        lock(&self.reads).clone()
    }

    /// Returns the kinds of all events, in the order of their publication.
    pub fn kinds(&self) -> Vec<EventKind> {
        lock(&self.published)
            .iter()
            .map(|event| event.kind)
            .collect()
    }
}

impl Events for MemoryEvents {
    async fn publish(&self, events: Vec<Event>) {
        lock(&self.published).extend(events);
    }

    /// Returns the published events that `query` asks for, as a log group would.
    async fn logged(&self, query: &EventQuery<'_>) -> Option<LoggedEvents> {
        lock(&self.reads).push(query.from..query.before);
        let published = self.published().into_iter().map(|event| LoggedEvent {
            kind: event.kind,
            lock: event.lock,
            holder: event.holder.map(|holder| holder.to_string()),
            reason: event.reason,
            at: event.at,
        });
        let events = published.filter(|event| query.asks_for(event)).collect();
        Some(match self.unreadable.load(Ordering::SeqCst) {
            false => LoggedEvents {
                events,
                problem: None,
            },
            true => LoggedEvents {
                events: Vec::new(),
                problem: Some("the log cannot be read".into()),
            },
        })
    }
}
