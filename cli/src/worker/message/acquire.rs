//! Acquires the lock of a message.

use super::MessageProcessor;
use crate::once_key::lock;
use crate::platform::clock::Instant;
use crate::retry::retry_unless;
use crate::worker::queue::Queue;
use crate::worker::shutdown::ShutdownWatch;
use lockstep::contract::{AcquireRequest, AcquireResponse, LockOptions};
use lockstep::error::Error;

/// Permits of each lock: the maximum number of messages that all workers together have in flight under the
/// lock. The messages of a queue are spread over several locks.
const PERMITS: i64 = 100;
/// Maximum number of attempts to acquire a lock. The holder is the same in each, so a retry finds a grant
/// whose response was lost.
const TRIES: u32 = 3;

impl<Q: Queue> MessageProcessor<Q> {
    /// Creates the acquire request for a once key, with a new holder.
    pub(super) fn request(&self, once_key: String) -> AcquireRequest {
        let lock = lock(&self.lock, &once_key);
        // `maxRunSeconds` and `noProgressSeconds` are not set, because the worker enforces them: the table
        // sees the progress only at each renewal.
        let options = LockOptions {
            permits: Some(PERMITS),
            lease_seconds: Some(self.times.seconds()),
            run_key: Some(once_key),
            ..LockOptions::default()
        };
        AcquireRequest {
            options,
            // With `mayWait`, a full lock is not reported as a skipped run: the message is received again
            // later.
            may_wait: true,
            ..AcquireRequest::new(lock, self.identity.new_holder())
        }
    }

    /// Acquires the lock. Returns the response, and when its request was sent.
    pub(super) async fn acquire(
        &self,
        request: &AcquireRequest,
        shutdown: &ShutdownWatch,
    ) -> Result<(AcquireResponse, Instant), Error> {
        let stopping = || shutdown.is_stopping();
        let attempt = || self.locks.acquire(request);
        retry_unless(stopping, &request.lock, TRIES, attempt).await
    }
}
