//! Asks for the lock of a message.

use super::MessageProcessor;
use crate::platform::clock::{Instant, sleep};
use crate::worker::key::lock;
use crate::worker::queue::Queue;
use crate::worker::shutdown::ShutdownWatch;
use lockstep::contract::{AcquireRequest, AcquireResponse, Overlap, Stale};
use lockstep::error::Error;
use std::time::Duration;

/// How many messages may be at work under one of the locks, in all workers together.
const PERMITS: i64 = 100;
/// How often a lock is asked for. The holder stays the same: a grant whose answer was lost is found.
const TRIES: u32 = 3;

impl<Q: Queue> MessageProcessor<Q> {
    pub(super) fn request(&self, once_key: String) -> AcquireRequest {
        let lease_seconds = self.times.seconds();
        AcquireRequest {
            lock: lock(&self.lock, &once_key),
            holder: self.site.new_holder(),
            permits: Some(PERMITS),
            lease_seconds: Some(lease_seconds),
            heartbeat_seconds: Some((lease_seconds / 3).max(1)),
            // Both are judged here: the table sees only what is there at a renewal.
            max_run_seconds: None,
            no_progress_seconds: None,
            min_interval_seconds: None,
            run_key: Some(once_key),
            overlap: Overlap::Skip,
            // A message that finds its lock full comes back: nobody has given way for good.
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

    /// The answer, and when its request was sent.
    pub(super) async fn acquire(
        &self,
        request: &AcquireRequest,
        orders: &ShutdownWatch,
    ) -> Result<(AcquireResponse, Instant), Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.locks.acquire(request).await {
                Ok(answer) => return Ok(answer),
                Err(error)
                    if error.name().is_retryable() && tries < TRIES && !orders.is_stopping() =>
                {
                    tracing::warn!(lock = request.lock, %error, "asking again");
                    sleep(Duration::from_secs(1)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
