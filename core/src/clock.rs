//! The trait for time, and a clock for tests.

use crate::domain::Timestamp;
use auto_impl::auto_impl;
use std::time::Duration;

/// A source of the current time, which can also sleep.
#[auto_impl(&, Arc)]
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;

    /// Returns after `length`.
    fn sleep(&self, length: Duration) -> impl Future<Output = ()> + Send;
}

/// A clock that moves only by [`Self::set`], [`Self::advance`] and [`Clock::sleep`]. A sleep advances
/// the clock and returns at once.
#[cfg(feature = "memory")]
#[derive(Debug)]
pub struct ManualClock(std::sync::atomic::AtomicU64);

#[cfg(feature = "memory")]
impl ManualClock {
    /// Creates a clock that shows `start`.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        Self(start.millis().into())
    }

    /// Sets the time, forward or backward.
    pub fn set(&self, now: Timestamp) {
        self.0
            .store(now.millis(), std::sync::atomic::Ordering::SeqCst);
    }

    /// Moves the time forward by `length`.
    pub fn advance(&self, length: Duration) {
        let millis = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        self.0
            .fetch_add(millis, std::sync::atomic::Ordering::SeqCst);
    }
}

#[cfg(feature = "memory")]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(std::sync::atomic::Ordering::SeqCst))
    }

    async fn sleep(&self, length: Duration) {
        self.advance(length);
    }
}
