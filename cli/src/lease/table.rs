//! The requests to the lock table, as a trait that tests implement in memory.

use crate::lease::client::LockClient;
use crate::platform::clock::Instant;
use lockstep::contract::{
    AcquireRequest, AcquireResponse, Grant, HeartbeatResponse, ReleaseOutcome, ReleaseResponse,
};
use lockstep::error::Error;

#[cfg(test)]
pub(crate) mod memory;

/// A lock table. A retryable error leaves open whether the request was carried out.
pub(crate) trait LockTable: Send + Sync + 'static {
    /// Acquires a permit, or returns the current holder. The lease of a permit counts from the
    /// returned time.
    fn acquire(
        &self,
        request: &AcquireRequest,
    ) -> impl Future<Output = Result<(AcquireResponse, Instant), Error>> + Send;

    /// Repeats the request, without counting another run in the metrics.
    fn acquire_again(
        &self,
        request: &AcquireRequest,
    ) -> impl Future<Output = Result<(AcquireResponse, Instant), Error>> + Send;

    /// Extends a lease, and records the progress of the work.
    fn renew(
        &self,
        grant: &Grant,
        progress: Option<String>,
    ) -> impl Future<Output = Result<HeartbeatResponse, Error>> + Send;

    /// Releases a permit. `failure` says why the work failed; with one, people get a message.
    fn release(
        &self,
        grant: &Grant,
        outcome: ReleaseOutcome,
        failure: Option<&str>,
    ) -> impl Future<Output = Result<ReleaseResponse, Error>> + Send;
}

impl LockTable for LockClient {
    async fn acquire(&self, request: &AcquireRequest) -> Result<(AcquireResponse, Instant), Error> {
        Self::acquire(self, request).await
    }

    async fn acquire_again(
        &self,
        request: &AcquireRequest,
    ) -> Result<(AcquireResponse, Instant), Error> {
        Self::acquire_again(self, request).await
    }

    async fn renew(
        &self,
        grant: &Grant,
        progress: Option<String>,
    ) -> Result<HeartbeatResponse, Error> {
        Self::renew(self, grant, progress).await
    }

    async fn release(
        &self,
        grant: &Grant,
        outcome: ReleaseOutcome,
        failure: Option<&str>,
    ) -> Result<ReleaseResponse, Error> {
        Self::release(self, grant, outcome, failure).await
    }
}
