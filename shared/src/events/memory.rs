//! An event bus in memory, for tests of what stands above it.

use super::{Event, EventKind, Events};
use crate::faults::lock;
use std::sync::Mutex;

/// Remembers what was published.
#[derive(Debug, Default)]
pub struct MemoryEvents(Mutex<Vec<Event>>);

impl MemoryEvents {
    /// All events, in the order in which they were published.
    pub fn published(&self) -> Vec<Event> {
        lock(&self.0).clone()
    }

    /// What the events were about, in order.
    pub fn kinds(&self) -> Vec<EventKind> {
        lock(&self.0).iter().map(|event| event.kind).collect()
    }
}

impl Events for MemoryEvents {
    async fn publish(&self, events: Vec<Event>) {
        lock(&self.0).extend(events);
    }
}
