//! Releases permits that were granted, or may have been, to a job that has not begun: the response was lost
//! or came too late, or the client disconnected.
//!
//! ```text
//!  no answer ─▶ ask again with the same holder ── granted, held already ─▶ release as failed
//!                 ▲     │ no answer: after a pause     └ not granted ─▶ nothing is left of it
//!                 └─────┘
//! ```

use super::Service;
use super::reservation::Reservation;
use crate::agent::error::ApiError;
use crate::agent::job::JobOutcome;
use crate::lease::unconfirmed::{PAUSE, Pause, give_back, retry_until};
use crate::platform::clock::sleep;
use lockstep::contract::AcquireRequest;
use lockstep::service::Ports;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long a stopping agent waits for unconfirmed grants. Grants that are unconfirmed after that end with
/// their leases.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

impl<P: Ports + 'static> Service<P> {
    /// Repeats `request` in the background until it is known whether a permit was granted, and releases that
    /// permit as failed. Each of the two steps is given up after `length`, when the lease has expired.
    ///
    /// The repeated request may itself be granted the permit. Its release does not start
    /// `minIntervalSeconds`.
    pub(super) fn reconcile_later(
        self: &Arc<Self>,
        reservation: Reservation<P>,
        request: AcquireRequest,
        length: Duration,
    ) {
        let service = Arc::clone(self);
        let unconfirmed = reservation.into_unconfirmed(&request.holder, &request.lock);
        tokio::spawn(async move {
            service.reconcile(request, length).await;
            drop(unconfirmed);
        });
    }

    async fn reconcile(&self, request: AcquireRequest, length: Duration) {
        let (lock, holder) = (&request.lock, &request.holder);
        match give_back(&self.locks, &request, length, self).await {
            Ok(()) => tracing::info!(
                event = "unconfirmed_grant_resolved",
                lock,
                holder,
                "a job that did not begin holds no permit"
            ),
            Err(error) => tracing::warn!(
                event = "release_unconfirmed",
                lock,
                holder,
                %error,
                "could not confirm that the permit of a job that did not begin was released; it expires \
                 with the lease"
            ),
        }
    }

    /// Ends a job as failed, because its client never received the response.
    pub(super) async fn release_undelivered(&self, id: &str) {
        let Some(end) = self.registry().get(id).map(|job| job.lease_end()) else {
            return;
        };
        let attempt = || self.end(id, JobOutcome::Failed, None);
        let ended = retry_until(end, ApiError::leaves_open, self, attempt);
        if let Err(error) = ended.await {
            tracing::warn!(
                event = "release_failed",
                ?error,
                "the lock table did not confirm the release: the lock is free when its lease expires"
            );
        }
    }

    /// Waits until no grant is unconfirmed, at most 3 s.
    pub(in crate::agent) async fn reconciled(&self) {
        let mut changed = self.changed.subscribe();
        let reconciled = async {
            while self.registry().capacity.unconfirmed_count() > 0 {
                changed.changed().await.ok();
            }
        };
        if timeout(SHUTDOWN_TIMEOUT, reconciled).await.is_err() {
            let unconfirmed = self.registry().capacity.unconfirmed_count();
            tracing::warn!(
                event = "reconcile_timed_out",
                unconfirmed,
                "could not confirm that all permits were released; they expire with their leases"
            );
        }
    }
}

impl<P: Ports + 'static> Pause for Service<P> {
    /// Returns after `length`, or within a second once the agent is stopping.
    async fn pause(&self, length: Duration) {
        let mut changed = self.changed.subscribe();
        if self.registry().capacity.is_stopping() {
            return sleep(PAUSE.min(length)).await;
        }
        let stopping = async {
            while !self.registry().capacity.is_stopping() {
                changed.changed().await.ok();
            }
        };
        tokio::select! {
            () = sleep(length) => {}
            () = stopping => {}
        }
    }
}
