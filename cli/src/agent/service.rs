//! Begins, renews and ends jobs on the lock table.
//!
//! The registry is plain data behind a mutex, which is never held during a request to the lock table. So a
//! response is applied to the state that the registry has when the response comes. That may be another state
//! than at the request: a job that was lost meanwhile stays lost.

mod beat;
mod begin;
mod end;
mod reconcile;
mod reservation;

use super::error::ApiError;
use super::job::Phase;
use super::registry::JobRegistry;
use super::response::JobView;
use crate::lease::client::{LockClient, OnAws};
use crate::platform::clock::{Instant, reached};
use crate::platform::identity::HolderIdentity;
use crate::protect::Protection;
use crate::protect::keeper::InFlight;
use lockstep::contract::Grant;
use lockstep::service::Ports;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Most attempts at the lock table for one request of a program.
const TRIES: u32 = 3;

/// Begins, renews and ends jobs.
pub(super) struct Service<P: Ports = OnAws> {
    /// The lock table.
    pub(super) locks: LockClient<P>,
    /// The identity of this process, with which the names of its holders begin.
    pub(super) identity: HolderIdentity,
    /// Scale-in protection of the task.
    pub(super) protection: Protection,
    /// Lease of a job that does not set `leaseSeconds`.
    pub(super) lease: Duration,
    /// How long a job has to stop before its lease ends.
    pub(super) grace: Duration,
    /// The jobs.
    pub(super) registry: Mutex<JobRegistry<InFlight>>,
    /// Notifies of changes in the state of jobs and in the capacity.
    pub(super) changed: watch::Sender<()>,
}

impl<P: Ports + 'static> Service<P> {
    /// Returns the state of a job. If the job is open, waits up to `wait` until it is lost or has ended.
    ///
    /// # Errors
    /// If there is no such job.
    pub(super) async fn get(&self, id: &str, wait: Duration) -> Result<JobView, ApiError> {
        let end = Instant::now() + wait;
        // Subscribed before the first read, so that a change between the two is noticed.
        let mut changed = self.changed.subscribe();
        loop {
            let (view, is_open) = {
                let registry = self.registry();
                let job = registry.get(id).ok_or_else(ApiError::no_such_job)?;
                (JobView::of(Some(id), job), job.phase == Phase::Open)
            };
            if !is_open || end.left().is_zero() {
                return Ok(view);
            }
            tokio::select! {
                _ = changed.changed() => {}
                () = end.reached() => {}
            }
        }
    }

    /// Returns the jobs that are not closed, without their ids.
    pub(super) fn list(&self) -> Vec<JobView> {
        let registry = self.registry();
        let jobs = registry.unfinished();
        jobs.into_iter()
            .map(|(_, job)| JobView::of(None, job))
            .collect()
    }

    /// Advances the registry at each of its deadlines, forever.
    pub(super) async fn run_timer(&self) {
        let mut changed = self.changed.subscribe();
        loop {
            self.tick();
            let next = self.registry().next_deadline();
            tokio::select! {
                () = reached(next) => {}
                _ = changed.changed() => {}
            }
        }
    }

    /// Advances the registry to the present, and logs the jobs that this loses. Called before each beat too:
    /// if the timer is late, a beat must not renew the lease of a job that is past its deadline.
    fn tick(&self) {
        let (lost, closed) = {
            let mut registry = self.registry();
            let open = registry.open();
            (registry.tick(Instant::now()), registry.open() < open)
        };
        for (Grant { lock, holder, .. }, reason) in &lost {
            tracing::warn!(
                event = "job_lost",
                lock,
                holder,
                "the job has to stop: {reason}"
            );
        }
        if closed || !lost.is_empty() {
            self.changed.send_replace(());
        }
    }

    /// Refuses all further jobs, and waits for those being begun.
    pub(super) async fn stop(&self) {
        let mut changed = self.changed.subscribe();
        self.registry().capacity.stop();
        self.changed.send_replace(());
        while !self.registry().capacity.is_settled() {
            changed.changed().await.ok();
        }
    }

    /// Waits until no job is open.
    pub(super) async fn drained(&self) {
        let mut changed = self.changed.subscribe();
        while self.registry().open() > 0 {
            changed.changed().await.ok();
        }
    }

    /// Locks the registry. The guard must not be held over an await.
    pub(super) fn registry(&self) -> MutexGuard<'_, JobRegistry<InFlight>> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
