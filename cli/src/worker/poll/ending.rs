//! How the loop ends.

use super::{Poll, Work};
use crate::platform::clock::Instant;
use crate::worker::queue::Queue;
use crate::worker::report::Tally;
use crate::worker::shutdown::{Shutdown, ShutdownPhase};
use nix::sys::signal::Signal;
use std::future::pending;
use std::time::Duration;

impl<Q: Queue, W: Work> Poll<Q, W> {
    pub(super) fn told_to_end(&mut self, signal: Signal, grace: Duration) {
        let now = Instant::now();
        let at_work = self.running.len();
        match &mut self.stopping {
            Some(end) => end.again(now),
            None => self.stopping = Some(Shutdown::begin(signal, now, grace)),
        }
        tracing::info!(%signal, at_work, "no more messages are received");
        self.go_on_ending();
    }

    /// A receive goes on as long as commands may finish: if its connection were cut, the queue could
    /// hide messages from everybody that it had sent to nobody.
    pub(super) fn go_on_ending(&mut self) {
        let order = self.stopping.map(|end| end.order(Instant::now()));
        let order = order.unwrap_or_default();
        self.orders.send_if_modified(|told| {
            let is_new = *told != order;
            *told = order;
            is_new
        });
        if order >= ShutdownPhase::Stop {
            self.receiving = None;
        }
    }

    /// Counts the last message out. If another one is in flight by now, the task stays protected.
    pub(super) async fn unprotect(&mut self) {
        if let Some((in_flight, _)) = self.spare.take() {
            in_flight.end().await;
        }
    }

    pub(super) async fn finish(mut self, signal: Signal) -> (Signal, Tally) {
        let lost = self.running.len();
        if lost > 0 {
            tracing::error!(
                messages = lost,
                "not given back in time: they come back when their visibility ends"
            );
        }
        self.unprotect().await;
        (signal, self.tally)
    }
}

/// Returns when an end has taken longer than it may.
pub(super) async fn given_up(end: Option<Shutdown>) -> Signal {
    match end {
        Some(end) => {
            end.give_up_at().reached().await;
            end.signal
        }
        None => pending().await,
    }
}
