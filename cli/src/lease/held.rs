//! A permit that this process holds.

use crate::lease::client::LockClient;
use crate::lease::timing::LeaseTiming;
use crate::platform::clock::Instant;
use crate::retry::{Bound, retry};
use lockstep::contract::{Grant, Granted, ReleaseOutcome, ReleaseResponse};
use lockstep::error::Error;
use lockstep::service::Ports;
use std::time::Duration;

/// Who has to release a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// This process.
    Acquired,
    /// The workflow, from which the grant was adopted.
    Adopted,
}

/// The outcome of a run, and the reason of a failure, if people are to get a message about it.
pub(crate) type RunEnd<'a> = (ReleaseOutcome, Option<&'a str>);

/// A permit that this process holds, with the times of its lease.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// The grant.
    pub(crate) grant: Grant,
    /// The times of its lease.
    pub(crate) times: LeaseTiming,
    /// When the request that the lease counts from was sent. At the table, the lease may have begun at any
    /// time after that.
    pub(crate) sent: Instant,
    /// Environment variables for the work.
    pub(crate) environment: Vec<(String, String)>,
    /// Who has to release it.
    pub(crate) hold: Hold,
}

impl Held {
    /// Creates the permit that was granted to a request sent at `sent`.
    pub(crate) fn acquired(granted: Granted, times: LeaseTiming, sent: Instant) -> Self {
        let pairs = granted.environment.into_iter();
        Self {
            environment: pairs.map(|pair| (pair.name, pair.value)).collect(),
            grant: granted.grant,
            times,
            sent,
            hold: Hold::Acquired,
        }
    }

    /// Returns the length of the lease.
    pub(crate) fn length(&self) -> Duration {
        self.times.length
    }

    /// Returns the times that a renewal writes into the lease; `None` for an adopted grant, whose workflow
    /// sets the times.
    pub(crate) fn renewal_times(&self) -> Option<LeaseTiming> {
        (self.hold == Hold::Acquired).then_some(self.times)
    }

    /// Returns when the work is asked to stop, unless another renewal comes.
    pub(crate) fn stop_at(&self) -> Instant {
        self.times.stop_at(self.sent)
    }

    /// Returns when the work has to be dead, unless another renewal comes.
    pub(crate) fn kill_at(&self) -> Instant {
        self.times.kill_at(self.sent)
    }

    /// Returns when the lease expires, unless another renewal comes.
    pub(crate) fn expires(&self) -> Instant {
        self.sent + self.times.length
    }

    /// Releases the permit, also an adopted one.
    ///
    /// # Errors
    /// The errors of release-lock, after the retries that `bound` allows.
    pub(crate) async fn try_release(
        &self,
        locks: &LockClient<impl Ports>,
        (outcome, failure): RunEnd<'_>,
        bound: impl Into<Bound>,
    ) -> Result<ReleaseResponse, Error> {
        let request = || locks.release(&self.grant, outcome, failure);
        retry(&self.grant.lock, bound, request).await
    }

    /// Releases the permit, and logs a failure: the lock is then free when its lease expires.
    pub(crate) async fn release(
        &self,
        locks: &LockClient<impl Ports>,
        end: RunEnd<'_>,
        bound: impl Into<Bound>,
    ) {
        let lock = &self.grant.lock;
        match self.try_release(locks, end, bound).await {
            Ok(ReleaseResponse::Released { .. } | ReleaseResponse::Ending { .. }) => {}
            Ok(ReleaseResponse::Lost { holders, .. }) => {
                tracing::warn!(
                    event = "release_refused",
                    lock,
                    ?holders,
                    "the lease was already lost when the permit was released"
                );
            }
            Err(error) => {
                tracing::error!(
                    event = "release_failed",
                    lock,
                    %error,
                    "the lock table did not confirm the release: the lock is free when its lease expires"
                );
            }
        }
    }
}
