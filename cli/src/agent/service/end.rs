//! The end of a job, and of all.

use super::{Service, TRIES};
use crate::agent::error::ApiError;
use crate::agent::job::{Ending, Phase};
use crate::agent::response::Ended;
use crate::lease::table::LockTable;
use crate::retry::again;
use lockstep::contract::{Grant, ReleaseOutcome, ReleaseResponse};
use lockstep::error::Error;
use std::sync::Arc;
use tokio::task::JoinSet;

/// How many jobs are released at a time when all of them are.
const AT_ONCE: usize = 32;

impl<T: LockTable> Service<T> {
    /// A program says that its job is over. The first end stays.
    ///
    /// # Errors
    /// That there is no such job, or that the table gave no answer.
    pub(in crate::agent) async fn end(
        &self,
        id: &str,
        outcome: ReleaseOutcome,
    ) -> Result<Ended, ApiError> {
        let job = self
            .book()
            .look(id)
            .map(|job| (job.terms.grant.clone(), job.phase.clone()));
        let grant = match job {
            Some((_, Phase::Ended(ending))) => return Ok((&ending).into()),
            Some((grant, _)) => grant,
            None => return Err(ApiError::no_such_job()),
        };
        let held_seconds = self.give_back(&grant, outcome).await?;
        let Grant { lock, holder, .. } = &grant;
        tracing::info!(lock, holder, ?outcome, held_seconds, "the job has ended");
        let ending = self.book().ended(
            id,
            Ending {
                outcome,
                held_seconds,
            },
        );
        self.changed.send_replace(());
        ending
            .as_ref()
            .map(Ended::from)
            .ok_or_else(ApiError::no_such_job)
    }

    /// Gives a permit back, and says how long it was held; nothing if it was no longer ours.
    pub(super) async fn give_back(
        &self,
        grant: &Grant,
        outcome: ReleaseOutcome,
    ) -> Result<Option<f64>, Error> {
        let released = again(&grant.lock, TRIES, || self.locks.release(grant, outcome));
        Ok(match released.await? {
            ReleaseResponse::Released { held_seconds, .. } => Some(held_seconds),
            ReleaseResponse::Lost { .. } | ReleaseResponse::Ending { .. } => None,
        })
    }

    /// Ends all jobs as failed: their program is dead.
    pub(in crate::agent) async fn end_all(self: &Arc<Self>) {
        let ids: Vec<_> = {
            let book = self.book();
            let jobs = book.unfinished().into_iter();
            jobs.map(|(id, _)| id.to_owned()).collect()
        };
        for some in ids.chunks(AT_ONCE) {
            let mut ends = JoinSet::new();
            for id in some {
                let (own, id) = (Arc::clone(self), id.clone());
                ends.spawn(async move {
                    if let Err(failure) = own.end(&id, ReleaseOutcome::Failed).await {
                        tracing::error!(
                            ?failure,
                            "a lock is not released: its lease has to run out"
                        );
                    }
                });
            }
            ends.join_all().await;
        }
    }
}
