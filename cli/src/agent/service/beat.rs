//! The beats of a job.

use super::Service;
use crate::agent::error::ApiError;
use crate::agent::job::Phase;
use crate::agent::registry::Beat;
use crate::agent::response::Beaten;
use crate::lease::table::LockTable;
use crate::platform::clock::Instant;
use lockstep::contract::{ErrorName, Grant, HeartbeatResponse};

impl<T: LockTable> Service<T> {
    /// A program says that its job is at work.
    ///
    /// # Errors
    /// Why the job must stop, or that the table gave no answer.
    pub(in crate::agent) async fn beat(
        &self,
        id: &str,
        progress: Option<&str>,
    ) -> Result<Beaten, ApiError> {
        self.tick();
        let beat = self.book().beat(id, progress, Instant::now());
        let (grant, progress) = match beat {
            Beat::Fresh(expires_at) => return Ok(Beaten { expires_at }),
            Beat::Renew(grant, progress) => (grant, progress),
            Beat::Over(phase) => return Err(ApiError::over(&phase)),
            Beat::Unknown => return Err(ApiError::no_such_job()),
        };
        let sent = Instant::now();
        match self.locks.renew(&grant, progress.clone()).await {
            Ok(HeartbeatResponse::Renewed { expires_at, .. }) => {
                let mut book = self.book();
                match book.renewed(id, (sent, expires_at.clone()), progress) {
                    Some(Phase::Open) => Ok(Beaten { expires_at }),
                    Some(over) => Err(ApiError::over(over)),
                    None => Err(ApiError::no_such_job()),
                }
            }
            Ok(HeartbeatResponse::Ended) => {
                Err(self.lost(id, &grant, "its run has been released by somebody else"))
            }
            Err(error) if error.name() == ErrorName::LeaseLost => {
                Err(self.lost(id, &grant, error.message()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn lost(&self, id: &str, grant: &Grant, why: &str) -> ApiError {
        tracing::warn!(
            lock = grant.lock,
            holder = grant.holder,
            "the job has lost its lease: {why}"
        );
        let mut book = self.book();
        book.lost(id, why);
        let failure = book
            .look(id)
            .map_or_else(ApiError::no_such_job, |job| ApiError::over(&job.phase));
        drop(book);
        self.changed.send_replace(());
        failure
    }
}
