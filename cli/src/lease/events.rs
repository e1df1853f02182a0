//! Events that are told once, and that nobody waits for.

use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::{FencingToken, Seconds, Timestamp};
use lockstep::events::{Event, EventKind, Events};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::JoinSet;

/// For how long the same event is not told again.
const QUIET: Seconds = Seconds::of(300);

/// Tells of a thing once in five minutes.
///
/// A process that waits looks at the holder in front of it every second, and each look may come to
/// the same alert.
#[derive(Debug)]
pub(crate) struct DedupEvents<V> {
    events: V,
    told: Mutex<HashMap<Subject, Timestamp>>,
}

/// What an event is about.
type Subject = (EventKind, String, Option<FencingToken>);

impl<V> DedupEvents<V> {
    /// Tells through `events`.
    pub(crate) fn new(events: V) -> Self {
        let told = Mutex::default();
        Self { events, told }
    }

    fn news(&self, mut events: Vec<Event>, now: Timestamp) -> Vec<Event> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.retain(|_, at| now < at.plus(QUIET));
        events.retain(|event| {
            // Of those that had no grant each is another run.
            let Some(token) = event.token else {
                return true;
            };
            let subject = (event.kind, event.lock.to_string(), Some(token));
            let is_news = !told.contains_key(&subject);
            told.entry(subject).or_insert(now);
            is_news
        });
        events
    }
}

impl<V: Events> Events for DedupEvents<V> {
    async fn publish(&self, events: Vec<Event>) {
        let news = self.news(events, SystemClock.now());
        if !news.is_empty() {
            self.events.publish(news).await;
        }
    }
}

/// Tells aside: whoever has lost its lease learns it when the table says so, and not when an event
/// bus has answered.
#[derive(Clone, Debug)]
pub(crate) struct BackgroundEvents<V> {
    events: V,
    under_way: Arc<Mutex<JoinSet<()>>>,
}

impl<V> BackgroundEvents<V> {
    /// Tells through `events`.
    pub(crate) fn new(events: V) -> Self {
        let under_way = Arc::default();
        Self { events, under_way }
    }

    /// Waits until all is told that is under way, as well as can be done.
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

    /// A bus that answers the first of two events late, and the rest never.
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
    async fn whoever_has_something_to_tell_does_not_wait_for_the_bus_but_the_end_does() {
        let (tell, mut told) = unbounded_channel();
        let slow = BackgroundEvents::new(Slow(tell));

        slow.publish(vec![event(EventKind::RunStopped, 1)]).await;
        let at_once = told.try_recv().is_ok();
        slow.settle().await;

        assert!(!at_once);
        assert_eq!(told.try_recv(), Ok(1));
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
        }
    }

    fn kinds_told(once: &DedupEvents<()>, kind: EventKind, token: u64, seconds: u64) -> usize {
        let now = Timestamp::from_millis(seconds * 1_000);
        once.news(vec![event(kind, token)], now).len()
    }

    #[test]
    fn the_same_alert_is_told_again_only_after_five_minutes() {
        let once = DedupEvents::new(());

        let told =
            [0, 1, 299, 301, 302].map(|at| kinds_told(&once, EventKind::EvidenceMissing, 7, at));

        assert_eq!(told, [1, 0, 0, 1, 0]);
    }

    #[test]
    fn another_alert_or_another_run_is_news() {
        let once = DedupEvents::new(());
        kinds_told(&once, EventKind::EvidenceMissing, 7, 0);

        assert_eq!(kinds_told(&once, EventKind::RunStopped, 7, 1), 1);
        assert_eq!(kinds_told(&once, EventKind::EvidenceMissing, 8, 1), 1);
    }
}
