//! Permits that may have been granted although nobody works under them: the answer was lost, or came
//! too late, or its client has gone.

use super::Service;
use super::reservation::Reservation;
use crate::agent::error::ApiError;
use crate::lease::table::LockTable;
use crate::lease::unconfirmed::{PAUSE, Pause, give_back, insist};
use crate::platform::clock::sleep;
use lockstep::contract::{AcquireRequest, ReleaseOutcome};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long an agent that ends waits for answers. What it does not hear of has to run out.
const AT_THE_END: Duration = Duration::from_secs(3);

impl<T: LockTable> Service<T> {
    /// Finds out in the background what became of `request`, for a lease of `length`: until then its
    /// lock would be held, and nobody would work.
    ///
    /// Asking again may be what takes the permit. It is given back at once then, as failed, and as
    /// if nobody had had it: the lock does not rest.
    pub(super) fn doubt(
        self: &Arc<Self>,
        place: Reservation<T>,
        request: AcquireRequest,
        length: Duration,
    ) {
        let own = Arc::clone(self);
        let doubt = place.doubted(&request.holder, &request.lock);
        tokio::spawn(async move {
            own.clear_up(request, length).await;
            drop(doubt);
        });
    }

    async fn clear_up(&self, request: AcquireRequest, length: Duration) {
        let (lock, holder) = (&request.lock, &request.holder);
        match give_back(&self.locks, &request, length, self).await {
            Ok(()) => tracing::info!(lock, holder, "nothing is left of a job that did not begin"),
            Err(error) => tracing::warn!(
                lock,
                holder,
                %error,
                "a job that did not begin may hold a permit: its lease has to run out"
            ),
        }
    }

    /// Ends a job that nobody has heard of.
    pub(super) async fn let_go(&self, id: &str) {
        let Some(end) = self.book().look(id).map(|job| job.ends()) else {
            return;
        };
        let ask = || self.end(id, ReleaseOutcome::Failed);
        let ended = insist(end, ApiError::leaves_open, self, ask);
        if let Err(failure) = ended.await {
            tracing::warn!(?failure, "a lock is not released: its lease has to run out");
        }
    }

    /// Waits until no permit is in doubt, though not for long.
    pub(in crate::agent) async fn certain(&self) {
        let mut changed = self.changed.subscribe();
        let certain = async {
            while self.book().places.doubts() > 0 {
                changed.changed().await.ok();
            }
        };
        if timeout(AT_THE_END, certain).await.is_err() {
            let doubts = self.book().places.doubts();
            tracing::warn!(
                doubts,
                "no answer: leases that there may be have to run out"
            );
        }
    }
}

impl<T: LockTable> Pause for Service<T> {
    /// Returns after `length`, or soon if the agent is to stop.
    async fn pause(&self, length: Duration) {
        let mut changed = self.changed.subscribe();
        if self.book().places.is_stopping() {
            return sleep(PAUSE.min(length)).await;
        }
        let stopping = async {
            while !self.book().places.is_stopping() {
                changed.changed().await.ok();
            }
        };
        tokio::select! {
            () = sleep(length) => {}
            () = stopping => {}
        }
    }
}
