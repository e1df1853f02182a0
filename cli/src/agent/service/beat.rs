//! The beats of a job.
//!
//! ```text
//!  beat ── open ─▶ renewed a moment ago, no new progress ─▶ 200, no request
//!             └──▶ heartbeat ── Renewed ──▶ 200
//!                     │ LeaseLost, Ended ─▶ lost: 410
//!                     └ no answer ────────▶ 503, the job stays open until its deadline
//! ```

use super::Service;
use crate::agent::error::ApiError;
use crate::agent::job::Phase;
use crate::agent::registry::Beat;
use crate::agent::response::Beaten;
use crate::platform::clock::Instant;
use lockstep::contract::{ErrorName, Grant, HeartbeatResponse};
use lockstep::service::Ports;

impl<P: Ports + 'static> Service<P> {
    /// Records a beat, and renews the lease unless it was renewed less than a sixth of its length ago.
    ///
    /// # Errors
    /// If the job must stop, or the lock table did not answer.
    pub(in crate::agent) async fn beat(
        &self,
        id: &str,
        progress: Option<&str>,
    ) -> Result<Beaten, ApiError> {
        self.tick();
        let beat = self.registry().beat(id, progress, Instant::now());
        let (grant, lease, progress) = match beat {
            Beat::Fresh(expires_at) => return Ok(Beaten { expires_at }),
            Beat::Renew(grant, lease, progress) => (grant, lease, progress),
            Beat::Over(phase) => return Err(ApiError::over(&phase)),
            Beat::Unknown => return Err(ApiError::no_such_job()),
        };
        let sent = Instant::now();
        match self
            .locks
            .renew(&grant, Some(lease), progress.clone())
            .await
        {
            Ok(HeartbeatResponse::Renewed { expires_at, .. }) => {
                let expires_at = self.locks.on_this_machines_clock(expires_at);
                let mut registry = self.registry();
                match registry.renewed(id, (sent, expires_at.clone()), progress) {
                    Some(Phase::Open) => Ok(Beaten { expires_at }),
                    // The job was lost while the request was under way. It has to stop, although its lease is
                    // renewed in the table.
                    Some(over) => Err(ApiError::over(over)),
                    None => Err(ApiError::no_such_job()),
                }
            }
            Ok(HeartbeatResponse::Ended) => {
                Err(self.lost(id, &grant, "its run has been released by another caller"))
            }
            Err(error) if error.name() == ErrorName::LeaseLost => {
                Err(self.lost(id, &grant, error.message()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn lost(&self, id: &str, grant: &Grant, reason: &str) -> ApiError {
        tracing::warn!(
            event = "lease_lost",
            lock = grant.lock,
            holder = grant.holder,
            "the job has to stop: {reason}"
        );
        let mut registry = self.registry();
        registry.lost(id, reason);
        let error = registry
            .get(id)
            .map_or_else(ApiError::no_such_job, |job| ApiError::over(&job.phase));
        drop(registry);
        self.changed.send_replace(());
        error
    }
}
