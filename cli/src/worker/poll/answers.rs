//! What the loop makes of the answers that it gets.

use super::health::{Health, HealthSignal};
use super::{Done, IDLE_AFTER, Looked, Poll, Received, Unusable, Work};
use crate::platform::clock::Instant;
use crate::worker::decide::Kind;
use crate::worker::queue::{Queue, QueueError};
use crate::worker::shutdown::ShutdownWatch;
use lockstep::store::StoreError;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinError;

impl<Q: Queue, W: Work> Poll<Q, W> {
    /// What the lock table shows.
    pub(super) fn seen(&mut self, answer: Looked) -> Result<(), Unusable> {
        let answers = match answer {
            Ok(()) => {
                self.has_table = true;
                true
            }
            Err(error @ StoreError::Denied(_)) if !self.has_table => {
                return Err(Unusable::Table(error));
            }
            Err(error) => {
                tracing::warn!("{error}");
                false
            }
        };
        let pause = self.breaker.looked(answers, Instant::now());
        self.tell_of(pause);
        Ok(())
    }

    /// Hands messages out. What came too late for that goes back at once.
    pub(super) fn take(&mut self, answer: Received) -> Result<(), Unusable> {
        let messages = match answer {
            Ok(messages) => messages,
            Err(error @ (QueueError::Missing(_) | QueueError::Denied(_))) if !self.has_queue => {
                return Err(Unusable::Queue(error));
            }
            Err(error) => {
                tracing::warn!(%error, "no messages could be received");
                self.breaker.not_received(Instant::now());
                return Ok(());
            }
        };
        self.has_queue = true;
        self.breaker.received();
        for message in messages {
            let work = Arc::clone(&self.work);
            if self.stopping.is_some() {
                self.running.spawn(work.give_back(message));
            } else {
                let orders = ShutdownWatch::of(&self.orders);
                let probe = HealthSignal::new(&self.shown.0);
                self.breaker.handed_out();
                self.running.spawn(work.handle(message, orders, probe));
            }
        }
        Ok(())
    }

    pub(super) fn account(&mut self, done: Result<Done, JoinError>) {
        let done = done.unwrap_or_else(|error| {
            tracing::error!(%error, "a message was given up; it comes back when its visibility ends");
            Done {
                kind: Kind::Failed,
                in_flight: None,
            }
        });
        self.tally.add(done.kind);
        if let Some(in_flight) = done.in_flight {
            self.spare = Some((in_flight, Instant::now() + IDLE_AFTER));
        }
    }

    pub(super) fn learn(&mut self, shown: Health) {
        let pause = self.breaker.shown(shown, Instant::now());
        self.tell_of(pause);
    }

    fn tell_of(&self, pause: Option<Duration>) {
        if let Some(pause) = pause.filter(|_| self.stopping.is_none()) {
            tracing::warn!("no message is received for {pause:.1?}");
        }
    }
}
