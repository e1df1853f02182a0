//! Acquires the lock of a message.

use super::MessageProcessor;
use crate::once_key::lock;
use crate::platform::clock::Instant;
use crate::retry::retry_unless;
use crate::worker::queue::Queue;
use crate::worker::shutdown::ShutdownWatch;
use lockstep::contract::{AcquireRequest, AcquireResponse, CatchUp, Overlap, Stale};
use lockstep::error::Error;

/// Permits of each lock: messages in flight under it, in all workers together.
const PERMITS: i64 = 100;
/// Attempts to acquire a lock. The holder stays the same, so a retry finds a grant whose response
/// was lost.
const TRIES: u32 = 3;

impl<Q: Queue> MessageProcessor<Q> {
    /// Creates the acquire request for a once key, with a new holder.
    pub(super) fn request(&self, once_key: String) -> AcquireRequest {
        let lease_seconds = self.times.seconds();
        AcquireRequest {
            lock: lock(&self.lock, &once_key),
            holder: self.identity.new_holder(),
            permits: Some(PERMITS),
            lease_seconds: Some(lease_seconds),
            heartbeat_seconds: Some((lease_seconds / 3).max(1)),
            // The worker enforces both: the table sees the progress only at each renewal.
            max_heartbeat_seconds: None,
            max_run_seconds: None,
            no_progress_seconds: None,
            min_interval_seconds: None,
            expect_every_seconds: None,
            run_key: Some(once_key),
            overlap: Overlap::Skip,
            // A message that finds its lock full is received again later.
            may_wait: true,
            wait_for_ending: false,
            on_paused: None,
            catch_up: CatchUp::None,
            max_queue: None,
            task_token: None,
            wait_until: None,
            stale_policy: Stale::Terminate,
            work: None,
            parent: None,
            redrive_count: None,
            redrive: None,
        }
    }

    /// Returns the response, and when its request was sent.
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
