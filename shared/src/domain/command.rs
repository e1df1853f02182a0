//! What a caller asks of a lock.

use super::holder::{HolderId, TaskToken};
use super::permits::Permits;
use super::record::LockRecord;
use super::run::{RunId, RunKey, RunOutcome};
use super::time::Seconds;
use super::token::FencingToken;

/// What a caller asks of a lock. Valid by construction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Take a permit.
    Acquire(Acquire),
    /// Move the end of a lease forward.
    Renew(Renew),
    /// Give a permit back.
    Release(Release),
}

/// Take a permit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Acquire {
    /// Who asks.
    pub holder: HolderId,
    /// Capacity that the caller expects the lock to have.
    pub permits: Permits,
    /// Length of the lease.
    pub lease: Seconds,
    /// The run may not last longer than this.
    pub max_run: Option<Seconds>,
    /// No other grant within this time.
    pub min_interval: Option<Seconds>,
    /// Idempotency key of the trigger.
    pub run_key: Option<RunKey>,
    /// How long an ended run is remembered.
    pub retention: Seconds,
}

/// Move the end of a lease forward.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Renew {
    /// Who holds.
    pub holder: HolderId,
    /// Under which grant.
    pub token: FencingToken,
    /// The run key of the grant.
    pub run_key: Option<RunKey>,
    /// The heartbeat state to end at release.
    pub beat: Option<TaskToken>,
}

/// Give a permit back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    /// Who held.
    pub holder: HolderId,
    /// Under which grant.
    pub token: FencingToken,
    /// The run key of the grant.
    pub run_key: Option<RunKey>,
    /// How the work ended.
    pub outcome: RunOutcome,
    /// How long the run is remembered.
    pub retention: Seconds,
}

impl Command {
    /// The run that must be read before this command can be decided on `record`.
    ///
    /// Only a heartbeat that finds its lease gone asks: was it released, or lost? Acquire and
    /// release write the run in the same transaction and see it there.
    #[must_use]
    pub fn run_to_read(&self, record: Option<&LockRecord>) -> Option<RunId> {
        let Self::Renew(renew) = self else {
            return None;
        };
        let held = record.is_some_and(|r| r.lease(&renew.holder, renew.token).is_some());
        (!held).then(|| RunId::of(renew.run_key.as_ref(), renew.token))
    }
}
