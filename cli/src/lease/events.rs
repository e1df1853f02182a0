//! Event publishers: one that drops repeated events, one that publishes in the background.
//!
//! Only the end of the process waits for events to be published: an event that is late costs nothing, but a
//! renewal that is late may cost the run.

use lockstep::clock::{Clock, SystemClock};
use lockstep::contract::EventKind;
use lockstep::domain::{FencingToken, Seconds, Timestamp};
use lockstep::events::{Event, Events};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::JoinSet;

/// Time in which the same event is not published again.
const DEDUP_WINDOW: Seconds = Seconds::of(300);

/// Publishes events, but the same event at most once in five minutes.
///
/// A waiting process checks the current holder at each of its requests, and each check may publish the same
/// event.
#[derive(Debug)]
pub(crate) struct DedupEvents<V> {
    events: V,
    published: Mutex<HashMap<Subject, Timestamp>>,
}

/// What identifies an event: its kind, its lock and its fencing token. Events with the same subject are
/// repetitions.
type Subject = (EventKind, String, Option<FencingToken>);

impl<V> DedupEvents<V> {
    /// Publishes through `events`.
    pub(crate) fn new(events: V) -> Self {
        let published = Mutex::default();
        Self { events, published }
    }

    fn only_new_events(&self, mut events: Vec<Event>, now: Timestamp) -> Vec<Event> {
        let mut published = self
            .published
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        published.retain(|_, at| now < at.plus(DEDUP_WINDOW));
        events.retain(|event| {
            // An event without a fencing token always belongs to another run.
            let Some(token) = event.token else {
                return true;
            };
            let subject = (event.kind, event.lock.to_string(), Some(token));
            let is_new = !published.contains_key(&subject);
            published.entry(subject).or_insert(now);
            is_new
        });
        events
    }
}

impl<V: Events> Events for DedupEvents<V> {
    async fn publish(&self, events: Vec<Event>) {
        let events = self.only_new_events(events, SystemClock.now());
        if !events.is_empty() {
            self.events.publish(events).await;
        }
    }
}

impl<V: Events + Clone + 'static> DedupEvents<BackgroundEvents<V>> {
    /// Waits until pending events are published or have failed.
    pub(crate) async fn settle(&self) {
        self.events.settle().await;
    }
}

/// Publishes events in the background: a process that has lost its lease learns it from the response of the
/// table, without waiting for PutEvents.
#[derive(Clone, Debug)]
pub(crate) struct BackgroundEvents<V> {
    events: V,
    under_way: Arc<Mutex<JoinSet<()>>>,
}

impl<V> BackgroundEvents<V> {
    /// Publishes through `events`.
    pub(crate) fn new(events: V) -> Self {
        let under_way = Arc::default();
        Self { events, under_way }
    }

    /// Waits until pending events are published or have failed.
    pub(crate) async fn settle(&self) {
        let mut left = std::mem::take(&mut *self.under_way());
        while left.join_next().await.is_some() {}
    }

    fn under_way(&self) -> std::sync::MutexGuard<'_, JoinSet<()>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V: Events + Clone + 'static> Events for BackgroundEvents<V> {
    async fn publish(&self, events: Vec<Event>) {
        let own = self.events.clone();
        let mut under_way = self.under_way();
        while under_way.try_join_next().is_some() {}
        under_way.spawn(async move { own.publish(events).await });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::domain::LockKey;
    use std::future::pending;
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    /// A bus that answers the first event late, and later ones never.
    #[derive(Clone)]
    struct Slow(UnboundedSender<u64>);

    impl Events for Slow {
        async fn publish(&self, events: Vec<Event>) {
            let token = events[0].token.unwrap().number();
            if token > 1 {
                pending::<()>().await;
            }
            tokio::task::yield_now().await;
            self.0.send(token).unwrap();
        }
    }

    #[tokio::test]
    async fn publishing_does_not_wait_for_the_bus_but_settling_does() {
        let (sender, mut published) = unbounded_channel();
        let slow = BackgroundEvents::new(Slow(sender));

        slow.publish(vec![event(EventKind::RunStopped, 1)]).await;
        let at_once = published.try_recv().is_ok();
        slow.settle().await;

        assert!(!at_once);
        assert_eq!(published.try_recv(), Ok(1));
        // Returns, although the bus never answers.
        slow.publish(vec![event(EventKind::RunStopped, 2)]).await;
    }

    fn event(kind: EventKind, token: u64) -> Event {
        Event {
            kind,
            lock: LockKey::new("nightly").unwrap(),
            holder: None,
            token: Some(FencingToken::from_number(token)),
            reason: String::new(),
            advice: String::new(),
            at: Timestamp::from_millis(0),
            state: None,
            failed: None,
        }
    }

    fn published(once: &DedupEvents<()>, kind: EventKind, token: u64, seconds: u64) -> usize {
        let now = Timestamp::from_millis(seconds * 1_000);
        once.only_new_events(vec![event(kind, token)], now).len()
    }

    #[test]
    fn the_same_alert_is_published_again_only_after_five_minutes() {
        let (once, missing) = (DedupEvents::new(()), EventKind::EvidenceMissing);

        let counts = [0, 1, 299, 301, 302].map(|at| published(&once, missing, 7, at));

        assert_eq!(counts, [1, 0, 0, 1, 0]);
        // Another alert or another run is no repetition.
        assert_eq!(published(&once, EventKind::RunStopped, 7, 303), 1);
        assert_eq!(published(&once, missing, 8, 303), 1);
    }
}
