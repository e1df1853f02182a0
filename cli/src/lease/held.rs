//! A permit that this process holds.

use crate::lease::client::LockClient;
use crate::lease::timing::LeaseTiming;
use crate::platform::clock::Instant;
use crate::retry::{Bound, retry};
use lockstep::contract::{Grant, Granted, ReleaseOutcome, ReleaseResponse};
use lockstep::error::Error;
use lockstep::service::Ports;
use std::time::Duration;

/// What has to release a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// This process.
    Acquired,
    /// The workflow that the grant was adopted from.
    Adopted,
}

/// The outcome of a run, and why it failed if people are to get a message.
pub(crate) type RunEnd<'a> = (ReleaseOutcome, Option<&'a str>);

/// A permit that this process holds, and until when.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// The grant.
    pub(crate) grant: Grant,
    /// The times of its lease.
    pub(crate) times: LeaseTiming,
    /// When the request was sent that the lease counts from: at the table it may have begun any time
    /// after that.
    pub(crate) sent: Instant,
    /// Variables for the environment of the work.
    pub(crate) environment: Vec<(String, String)>,
    /// What has to release it.
    pub(crate) hold: Hold,
}

impl Held {
    /// A permit that a request sent at `sent` was granted.
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

    /// The length of the lease.
    pub(crate) fn length(&self) -> Duration {
        self.times.length
    }

    /// The times that a renewal writes into the lease. `None` for an adopted grant: its workflow sets the times.
    pub(crate) fn own_times(&self) -> Option<LeaseTiming> {
        (self.hold == Hold::Acquired).then_some(self.times)
    }

    /// When the work is asked to stop, unless a renewal comes.
    pub(crate) fn stop_at(&self) -> Instant {
        self.times.stop_at(self.sent)
    }

    /// When the work has to be dead, unless a renewal comes.
    pub(crate) fn kill_at(&self) -> Instant {
        self.times.kill_at(self.sent)
    }

    /// When the lease expires, unless a renewal comes.
    pub(crate) fn expires(&self) -> Instant {
        self.sent + self.times.length
    }

    /// Releases the permit, whatever holds it.
    ///
    /// # Errors
    /// As release-lock, after the retries that `bound` allows.
    pub(crate) async fn try_release(
        &self,
        locks: &LockClient<impl Ports>,
        (outcome, failure): RunEnd<'_>,
        bound: impl Into<Bound>,
    ) -> Result<ReleaseResponse, Error> {
        let request = || locks.release(&self.grant, outcome, failure);
        retry(&self.grant.lock, bound, request).await
    }

    /// Releases the permit, and logs a failure: the lock is then free when its lease has expired.
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
                    "lease already lost at release"
                );
            }
            Err(error) => {
                tracing::error!(
                    event = "release_failed",
                    lock,
                    %error,
                    "lock not released; its lease expires"
                );
            }
        }
    }
}
