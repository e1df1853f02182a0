//! Begins, renews and ends jobs on the lock table.

mod beat;
mod begin;
mod end;
mod reconcile;
mod reservation;

use super::error::ApiError;
use super::job::Phase;
use super::registry::JobRegistry;
use super::response::JobView;
use crate::lease::client::LockClient;
use crate::lease::table::LockTable;
use crate::platform::clock::{Instant, reached};
use crate::platform::identity::HolderIdentity;
use crate::protect::Protection;
use crate::protect::keeper::InFlight;
use lockstep::contract::Grant;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How often a table that gives no answer is asked, for one request of a program.
const TRIES: u32 = 3;

/// Begins, renews and ends jobs.
#[derive(Debug)]
pub(super) struct Service<T = LockClient> {
    /// The lock table.
    pub(super) locks: T,
    /// Where this process runs.
    pub(super) site: HolderIdentity,
    /// The protection of its task.
    pub(super) protection: Protection,
    /// Lease of a job that asks for none.
    pub(super) lease: Duration,
    /// What a job gets to stop.
    pub(super) grace: Duration,
    /// The jobs.
    pub(super) book: Mutex<JobRegistry<InFlight>>,
    /// Says that something became of a job.
    pub(super) changed: watch::Sender<()>,
}

impl<T: LockTable> Service<T> {
    /// A job as it stands, or as it stands when it is lost or has ended, if that comes within
    /// `most`.
    ///
    /// # Errors
    /// That there is no such job.
    pub(super) async fn look(&self, id: &str, most: Duration) -> Result<JobView, ApiError> {
        let end = Instant::now() + most;
        let mut changed = self.changed.subscribe();
        loop {
            let (view, is_open) = {
                let book = self.book();
                let job = book.look(id).ok_or_else(ApiError::no_such_job)?;
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

    /// The jobs that are not over, without their ids.
    pub(super) fn list(&self) -> Vec<JobView> {
        let book = self.book();
        let jobs = book.unfinished();
        jobs.into_iter()
            .map(|(_, job)| JobView::of(None, job))
            .collect()
    }

    /// Sees to it that what becomes of jobs by themselves becomes of them in time.
    pub(super) async fn keep(&self) {
        let mut changed = self.changed.subscribe();
        loop {
            self.tick();
            let next = self.book().next();
            tokio::select! {
                () = reached(next) => {}
                _ = changed.changed() => {}
            }
        }
    }

    fn tick(&self) {
        let (lost, closed) = {
            let mut book = self.book();
            let open = book.open();
            (book.tick(Instant::now()), book.open() < open)
        };
        for (Grant { lock, holder, .. }, why) in &lost {
            tracing::warn!(lock, holder, "the job has to stop: {why}");
        }
        if closed || !lost.is_empty() {
            self.changed.send_replace(());
        }
    }

    /// Begins no job any more, and waits until those that were beginning have begun.
    pub(super) async fn stop(&self) {
        let mut changed = self.changed.subscribe();
        self.book().places.stop();
        self.changed.send_replace(());
        while !self.book().places.is_settled() {
            changed.changed().await.ok();
        }
    }

    /// Waits until no job is open.
    pub(super) async fn empty(&self) {
        let mut changed = self.changed.subscribe();
        while self.book().open() > 0 {
            changed.changed().await.ok();
        }
    }

    /// The book, never held over an await.
    pub(super) fn book(&self) -> MutexGuard<'_, JobRegistry<InFlight>> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
