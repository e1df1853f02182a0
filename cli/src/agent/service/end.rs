//! The end of one job, and of all jobs.
//!
//! The first end of a job counts, and every later one gets the same response. A lost job has to be ended too:
//! its release shows that its work has stopped, so that the next run does not have to wait for the end of the
//! lease.

use super::{Service, TRIES};
use crate::agent::error::ApiError;
use crate::agent::job::{JobEnd, JobOutcome, Phase};
use crate::agent::response::Ended;
use lockstep::contract::{Grant, ReleaseResponse};
use lockstep::service::Ports;
use std::sync::Arc;
use tokio::task::JoinSet;

/// How many jobs are released at a time when all of them end.
const ENDS_AT_ONCE: usize = 32;

impl<P: Ports + 'static> Service<P> {
    /// Ends a job and releases its permit. The first end counts; later ones return it. `failure` says why the
    /// job failed; if it is set, people get a message.
    ///
    /// # Errors
    /// If there is no such job, or the lock table did not answer.
    pub(in crate::agent) async fn end(
        &self,
        id: &str,
        outcome: JobOutcome,
        failure: Option<&str>,
    ) -> Result<Ended, ApiError> {
        let job = self
            .registry()
            .get(id)
            .map(|job| (job.held.clone(), job.phase.clone()));
        let held = match job {
            Some((_, Phase::Ended(end))) => return Ok((&end).into()),
            Some((held, _)) => held,
            None => return Err(ApiError::no_such_job()),
        };
        // Without a response the job stays as it is, and the program has to end it again.
        let released = held.try_release(&self.locks, (outcome.into(), failure), TRIES);
        let held_seconds = match released.await? {
            ReleaseResponse::Released { held_seconds, .. } => Some(held_seconds),
            ReleaseResponse::Lost { .. } | ReleaseResponse::Ending { .. } => None,
        };
        let Grant { lock, holder, .. } = &held.grant;
        tracing::info!(
            event = "job_ended",
            lock,
            holder,
            ?outcome,
            held_seconds,
            "the job has ended"
        );
        let end = self.registry().ended(
            id,
            JobEnd {
                outcome,
                held_seconds,
            },
        );
        self.changed.send_replace(());
        end.as_ref()
            .map(Ended::from)
            .ok_or_else(ApiError::no_such_job)
    }

    /// Ends all open jobs as failed, because their program is dead.
    pub(in crate::agent) async fn end_all(self: &Arc<Self>) {
        let ids: Vec<_> = {
            let registry = self.registry();
            let jobs = registry.unfinished().into_iter();
            jobs.map(|(id, _)| id.to_owned()).collect()
        };
        for some in ids.chunks(ENDS_AT_ONCE) {
            let mut ends = JoinSet::new();
            for id in some {
                let (service, id) = (Arc::clone(self), id.clone());
                ends.spawn(async move {
                    let failure = Some("the program of the job has ended");
                    let ended = service.end(&id, JobOutcome::Failed, failure);
                    if let Err(error) = ended.await {
                        tracing::error!(
                            event = "release_failed",
                            ?error,
                            "the lock table did not confirm the release: the lock is free when its lease expires"
                        );
                    }
                });
            }
            ends.join_all().await;
        }
    }
}
