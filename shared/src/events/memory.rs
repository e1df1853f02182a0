//! An event bus in memory, for tests.

use super::{Event, EventKind, EventQuery, Events, LoggedEvent, LoggedEvents};
use crate::faults::lock;
use std::sync::Mutex;

/// Records the events that are published.
#[derive(Debug, Default)]
pub struct MemoryEvents(Mutex<Vec<Event>>);

impl MemoryEvents {
    /// Returns all events, in the order of their publication.
    pub fn published(&self) -> Vec<Event> {
        lock(&self.0).clone()
    }

    /// Returns the kinds of all events, in the order of their publication.
    pub fn kinds(&self) -> Vec<EventKind> {
        lock(&self.0).iter().map(|event| event.kind).collect()
    }
}

impl Events for MemoryEvents {
    async fn publish(&self, events: Vec<Event>) {
        lock(&self.0).extend(events);
    }

    async fn logged(&self, query: &EventQuery<'_>) -> Option<LoggedEvents> {
        let published = self.published().into_iter().map(|event| LoggedEvent {
            kind: event.kind,
            lock: event.lock,
            holder: event.holder.map(|holder| holder.to_string()),
            reason: event.reason,
            at: event.at,
        });
        let events = published.filter(|event| query.asks_for(event)).collect();
        Some(LoggedEvents {
            events,
            problem: None,
        })
    }
}
