//! The only place that reads the wall clock or waits.

use crate::domain::Timestamp;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// Time as the protocol sees it.
pub trait Clock: Send + Sync {
    /// The present.
    fn now(&self) -> Timestamp;

    /// Returns after `length`.
    fn sleep(&self, length: Duration) -> impl Future<Output = ()> + Send;
}

/// What `work` comes to, unless `clock` passes `most` first: then it is dropped where it stands.
pub async fn within<C: Clock, T>(
    clock: &C,
    most: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let (mut work, mut limit) = (pin!(work), pin!(clock.sleep(most)));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => limit.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// The machine's own clock.
///
/// Lambda keeps it in step with the Amazon Time Sync Service; what is left of a difference is
/// covered by [`crate::domain::CLOCK_SKEW`].
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

/// A clock that moves only when it is told to, or when somebody sleeps on it.
#[cfg(feature = "test-util")]
#[derive(Debug)]
pub struct ManualClock(std::sync::atomic::AtomicU64);

#[cfg(feature = "test-util")]
impl ManualClock {
    /// A clock that stands at `start`.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        Self(start.millis().into())
    }

    /// Sets the clock, backwards too.
    pub fn set(&self, now: Timestamp) {
        self.0
            .store(now.millis(), std::sync::atomic::Ordering::SeqCst);
    }

    /// Moves the clock forward.
    pub fn advance(&self, length: Duration) {
        let millis = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        self.0
            .fetch_add(millis, std::sync::atomic::Ordering::SeqCst);
    }
}

#[cfg(feature = "test-util")]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(std::sync::atomic::Ordering::SeqCst))
    }

    async fn sleep(&self, length: Duration) {
        self.advance(length);
    }
}

impl<C: Clock> Clock for &C {
    fn now(&self) -> Timestamp {
        (**self).now()
    }

    fn sleep(&self, length: Duration) -> impl Future<Output = ()> + Send {
        (**self).sleep(length)
    }
}
