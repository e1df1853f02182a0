//! Acquires the lock of a message.

use super::MessageProcessor;
use crate::once_key::lock;
use crate::platform::clock::{Instant, sleep};
use crate::worker::queue::Queue;
use crate::worker::shutdown::ShutdownWatch;
use lockstep::contract::{AcquireRequest, AcquireResponse, Overlap, Stale};
use lockstep::error::Error;
use std::time::Duration;

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
            max_run_seconds: None,
            no_progress_seconds: None,
            min_interval_seconds: None,
            run_key: Some(once_key),
            overlap: Overlap::Skip,
            // A message that finds its lock full is received again later.
            may_wait: true,
            wait_for_ending: false,
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
        let mut tries = 0;
        loop {
            tries += 1;
            match self.locks.acquire(request).await {
                Ok(answer) => return Ok(answer),
                Err(error)
                    if error.name().is_retryable() && tries < TRIES && !shutdown.is_stopping() =>
                {
                    tracing::warn!(
                        event = "request_retried",
                        lock = request.lock,
                        %error,
                        "no answer; retrying"
                    );
                    sleep(Duration::from_secs(1)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
