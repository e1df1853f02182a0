//! Handles each event of the loop.
//!
//! If the queue or the table denies access at the start, the worker ends: the deployment fails, instead of
//! its messages. Later, the same answer counts as a temporary failure. A failure of the table opens the
//! circuit breaker, and a failure of the queue begins a pause.

use super::health::{Health, HealthSignal};
use super::{Done, IDLE_AFTER, Poll, Probed, Received, Unusable, Work};
use crate::platform::clock::Instant;
use crate::worker::decide::Kind;
use crate::worker::queue::{Queue, QueueError};
use crate::worker::shutdown::ShutdownWatch;
use lockstep::store::StoreError;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinError;

impl<Q: Queue, W: Work> Poll<Q, W> {
    /// Handles the result of a probe of the lock table.
    pub(super) fn on_probed(&mut self, answer: Probed) -> Result<(), Unusable> {
        let answers = match answer {
            Ok(()) => {
                self.has_table = true;
                true
            }
            Err(error @ StoreError::Denied(_)) if !self.has_table => {
                return Err(Unusable::Table(error));
            }
            Err(error) => {
                tracing::warn!(event = "table_probe_failed", "{error}");
                false
            }
        };
        let pause = self.breaker.record_probe(answers, Instant::now());
        self.log_pause(pause);
        Ok(())
    }

    /// Dispatches received messages. After the signal, gives them back at once.
    pub(super) fn on_received(&mut self, answer: Received) -> Result<(), Unusable> {
        let messages = match answer {
            Ok(messages) => messages,
            Err(error @ (QueueError::Missing(_) | QueueError::Denied(_))) if !self.has_queue => {
                return Err(Unusable::Queue(error));
            }
            Err(error) => {
                tracing::warn!(event = "receive_failed", %error, "ReceiveMessage failed");
                self.breaker.receive_failed(Instant::now());
                return Ok(());
            }
        };
        self.has_queue = true;
        self.breaker.receive_succeeded();
        for message in messages {
            let work = Arc::clone(&self.work);
            // The receive was under way at the signal. Its messages are hidden from other workers until they
            // are given back.
            if self.shutdown.is_some() {
                self.running.spawn(work.give_back(message));
            } else {
                let shutdown = ShutdownWatch::of(&self.phase);
                let health = HealthSignal::new(&self.health.0);
                self.breaker.dispatched();
                self.running.spawn(work.handle(message, shutdown, health));
            }
        }
        Ok(())
    }

    /// Counts a processed message, and keeps its protection for [`IDLE_AFTER`].
    pub(super) fn on_done(&mut self, done: Result<Done, JoinError>) {
        let done = done.unwrap_or_else(|error| {
            tracing::error!(
                event = "message_panicked",
                %error,
                "the processing of a message panicked: the message becomes visible when its visibility timeout ends"
            );
            Done {
                kind: Kind::Failed,
                in_flight: None,
            }
        });
        self.tally.add(done.kind);
        if let Some(in_flight) = done.in_flight {
            self.lingering = Some((in_flight, Instant::now() + IDLE_AFTER));
        }
    }

    pub(super) fn on_health(&mut self, health: Health) {
        let pause = self.breaker.record_health(health, Instant::now());
        self.log_pause(pause);
    }

    fn log_pause(&self, pause: Option<Duration>) {
        if let Some(pause) = pause.filter(|_| self.shutdown.is_none()) {
            tracing::warn!(
                event = "circuit_opened",
                "the circuit breaker has opened: no message is received for {pause:.1?}"
            );
        }
    }
}
