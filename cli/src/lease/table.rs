//! The lock table, as far as its requests can be made up for a test.

use crate::lease::client::LockClient;
use crate::platform::clock::Instant;
use lockstep::contract::{
    AcquireRequest, AcquireResponse, Grant, HeartbeatResponse, ReleaseOutcome, ReleaseResponse,
};
use lockstep::error::Error;

#[cfg(test)]
pub(crate) mod memory;

/// A lock table. An error that is retryable leaves open whether the request was carried out.
pub(crate) trait LockTable: Send + Sync + 'static {
    /// Takes a permit, or says who has it. The lease of a permit is counted from the time that
    /// comes with the answer.
    fn acquire(
        &self,
        request: &AcquireRequest,
    ) -> impl Future<Output = Result<(AcquireResponse, Instant), Error>> + Send;

    /// Asks once more, which does not count as one more run.
    fn acquire_again(
        &self,
        request: &AcquireRequest,
    ) -> impl Future<Output = Result<(AcquireResponse, Instant), Error>> + Send;

    /// Moves the end of a lease forward, and tells how far the work has come.
    fn renew(
        &self,
        grant: &Grant,
        progress: Option<String>,
    ) -> impl Future<Output = Result<HeartbeatResponse, Error>> + Send;

    /// Gives a permit back.
    fn release(
        &self,
        grant: &Grant,
        outcome: ReleaseOutcome,
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
    ) -> Result<ReleaseResponse, Error> {
        Self::release(self, grant, outcome).await
    }
}
