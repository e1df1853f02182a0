//! Permits that may have been granted although nobody works under them: the answer was lost, or came
//! too late, or its client has gone.

use super::Service;
use super::place::Place;
use crate::agent::answer::Failure;
use crate::agent::table::Table;
use crate::sys::clock::{Instant, sleep};
use lockstep::contract::{AcquireRequest, AcquireResponse, Grant, ReleaseOutcome};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// First pause before the table is asked once more; it doubles.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest of these pauses.
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// How long an agent that ends waits for answers. What it does not hear of has to run out.
const AT_THE_END: Duration = Duration::from_secs(3);

impl<T: Table> Service<T> {
    /// Finds out in the background what became of `request`, for a lease of `length`: until then its
    /// lock would be held, and nobody would work.
    ///
    /// Asking again may be what takes the permit. It is given back at once then, as failed, and as
    /// if nobody had had it: the lock does not rest.
    pub(super) fn doubt(
        self: &Arc<Self>,
        place: Place<T>,
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
        let request = AcquireRequest {
            min_interval_seconds: None,
            ..request
        };
        let (lock, holder) = (&request.lock, &request.holder);
        let asked = self.insist(Instant::now() + length, || async {
            Ok(self.locks.acquire_again(&request).await?.0)
        });
        let gone = match asked.await {
            Ok(AcquireResponse::Granted(permit) | AcquireResponse::AlreadyHeld(permit)) => {
                self.surrender(&permit.grant, length).await
            }
            Ok(_) => Ok(()),
            Err(failure) if failure.leaves_open() => Err(failure),
            Err(_) => Ok(()),
        };
        match gone {
            Ok(()) => tracing::info!(lock, holder, "nothing is left of a job that did not begin"),
            Err(failure) => tracing::warn!(
                lock,
                holder,
                ?failure,
                "a job that did not begin may hold a permit: its lease has to run out"
            ),
        }
    }

    async fn surrender(&self, grant: &Grant, length: Duration) -> Result<(), Failure> {
        let released = self.insist(Instant::now() + length, || async {
            self.locks.release(grant, ReleaseOutcome::Failed).await?;
            Ok(())
        });
        released.await
    }

    /// Ends a job that nobody has heard of.
    pub(super) async fn let_go(&self, id: &str) {
        let Some(end) = self.book().look(id).map(|job| job.ends()) else {
            return;
        };
        let ended = self.insist(end, || self.end(id, ReleaseOutcome::Failed));
        if let Err(failure) = ended.await {
            tracing::warn!(?failure, "a lock is not released: its lease has to run out");
        }
    }

    /// Asks until there is an answer, or until the lease that it is about has come to its `end`.
    pub(super) async fn insist<A, F: Future<Output = Result<A, Failure>>>(
        &self,
        end: Instant,
        mut ask: impl FnMut() -> F,
    ) -> Result<A, Failure> {
        let mut length = PAUSE;
        loop {
            let answer = ask().await;
            let is_open = answer.as_ref().is_err_and(Failure::leaves_open);
            if !is_open || end.left().is_zero() {
                return answer;
            }
            self.pause(length).await;
            length = (length * 2).min(PAUSE_MAX);
        }
    }

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
