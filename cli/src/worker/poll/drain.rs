//! Drains the loop after a signal, until no message is left or the grace period is over.
//!
//! Commands may finish within the first part of the grace period. Those that have not finished are stopped
//! then, and their messages are given back.

use super::{Ended, Poll, Work};
use crate::platform::clock::Instant;
use crate::worker::queue::Queue;
use crate::worker::report::Tally;
use crate::worker::shutdown::{Shutdown, ShutdownPhase};
use nix::sys::signal::Signal;
use std::future::pending;
use std::time::Duration;

impl<Q: Queue, W: Work> Poll<Q, W> {
    /// Begins the shutdown at the first signal, and moves it to its next phase at each further one.
    pub(super) fn on_signal(&mut self, signal: Signal, grace: Duration) {
        let now = Instant::now();
        let at_work = self.running.len();
        match &mut self.shutdown {
            Some(end) => end.escalate(now),
            None => self.shutdown = Some(Shutdown::begin(signal, now, grace)),
        }
        tracing::info!(
            event = "signal_received",
            %signal,
            at_work,
            "the worker is shutting down: no more messages are received"
        );
        self.advance_shutdown();
    }

    /// Stops receiving. The deployment that replaces this worker waits until its messages are finished.
    pub(super) fn on_replaced(&mut self, by: &str) {
        self.is_replaced = true;
        tracing::info!(
            event = "worker_replaced",
            by,
            at_work = self.running.len(),
            "a deployment replaces this task: no more messages are received"
        );
    }

    /// Publishes the phase of the shutdown. A ReceiveMessage call under way continues while commands may
    /// finish: if its connection were cut, SQS could hide messages that no worker has received.
    pub(super) fn advance_shutdown(&mut self) {
        let next = self.shutdown.map(|end| end.phase(Instant::now()));
        let next = next.unwrap_or_default();
        self.phase.send_if_modified(|phase| {
            let is_new = *phase != next;
            *phase = next;
            is_new
        });
        if next >= ShutdownPhase::Stop {
            self.receiving = None;
        }
    }

    /// Counts the last message out of the protection. The task stays protected if another message is in
    /// flight.
    pub(super) async fn unprotect(&mut self) {
        if let Some((in_flight, _)) = self.lingering.take() {
            in_flight.end().await;
        }
    }

    pub(super) async fn finish(mut self, ended: Ended) -> (Ended, Tally) {
        let lost = self.running.len();
        if lost > 0 {
            tracing::error!(
                event = "messages_abandoned",
                messages = lost,
                "messages were not given back before the worker had to end: they become visible when their visibility timeout ends"
            );
        }
        self.unprotect().await;
        (ended, self.tally)
    }
}

/// Returns when `shutdown` has exceeded its time, with the signal that began it; never returns without a
/// shutdown.
pub(super) async fn overdue(shutdown: Option<Shutdown>) -> Signal {
    match shutdown {
        Some(shutdown) => {
            shutdown.give_up_at().reached().await;
            shutdown.signal
        }
        None => pending().await,
    }
}
