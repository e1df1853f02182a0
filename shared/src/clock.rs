//! The machine's clock, and the time limits of a call. Only this module reads the wall clock or sleeps.

pub use lockstep_core::clock::Clock;
#[cfg(feature = "test-util")]
pub use lockstep_core::clock::ManualClock;

use lockstep_core::domain::Timestamp;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// The error of work that was not complete within this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no response within {0:?}; a retry is safe")]
pub struct OutOfTime(Duration);

/// Returns the output of `work`.
///
/// # Errors
/// [`OutOfTime`] if `most` passes on `clock` first. `work` is then dropped before it is complete.
pub async fn within<C: Clock, T>(
    clock: &C,
    most: Duration,
    work: impl Future<Output = T>,
) -> Result<T, OutOfTime> {
    let (mut work, mut limit) = (pin!(work), pin!(clock.sleep(most)));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Ok(value)),
        Poll::Pending => limit.as_mut().poll(context).map(|()| Err(OutOfTime(most))),
    })
    .await
}

/// The time that has passed since the start of a call, and limits counted from that start.
#[derive(Debug)]
pub struct CallTime<'a, C> {
    clock: &'a C,
    start: Timestamp,
}

impl<'a, C: Clock> CallTime<'a, C> {
    /// Starts a call now.
    pub fn start(clock: &'a C) -> Self {
        let start = clock.now();
        Self { clock, start }
    }

    /// Returns the time since the start of the call.
    pub fn age(&self) -> Duration {
        Duration::from_millis(self.clock.now().millis_since(self.start))
    }

    /// Returns the output of `work`.
    ///
    /// # Errors
    /// [`OutOfTime`] if `limit` passes since the start of the call first. `work` is then dropped before it is
    /// complete.
    pub async fn until<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, OutOfTime> {
        // On the heap, because a call nests several of these futures, and the compiler limits the depth of
        // such types.
        let work = Box::pin(work);
        let output = within(self.clock, limit.saturating_sub(self.age()), work).await;
        output.map_err(|_| OutOfTime(limit))
    }
}

/// The machine's own clock.
///
/// Lambda synchronizes it with the Amazon Time Sync Service; [`lockstep_core::domain::CLOCK_SKEW`] covers
/// the remaining difference.
#[cfg(any(feature = "aws", feature = "lambda"))]
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[cfg(any(feature = "aws", feature = "lambda"))]
impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the clock"
    )]
    fn now(&self) -> Timestamp {
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let millis = since_1970.map_or(0, |length| length.as_millis());
        Timestamp::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that waits"
    )]
    async fn sleep(&self, length: Duration) {
        tokio::time::sleep(length).await;
    }
}
