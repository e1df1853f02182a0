//! Monotonic time, which goes on while the machine is suspended.

use nix::time::{ClockId, clock_gettime};
use std::future::pending;
use std::ops::Add;
use std::time::Duration;

/// The clock that goes on while the machine is suspended. On macOS that is the monotonic clock.
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::CLOCK_BOOTTIME;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::CLOCK_MONOTONIC;

/// Time since the machine started, including the time that it was suspended
/// (`CLOCK_BOOTTIME`, <https://man7.org/linux/man-pages/man3/clock_gettime.3.html>). All processes
/// of one machine share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant(Duration);

impl Instant {
    /// Reads the clock.
    pub(crate) fn now() -> Self {
        let now = clock_gettime(CLOCK);
        Self(now.map(Duration::from).unwrap_or_default())
    }

    /// Returns the time `millis` milliseconds after the start of the machine.
    pub(crate) const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// Returns the milliseconds since the start of the machine.
    pub(crate) fn millis(self) -> u64 {
        u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the time left until this time; zero if it has passed.
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_sub(Self::now().0)
    }

    /// Returns at this time. Sleeps at most 5 s at once, which bounds the delay after the machine was
    /// suspended.
    pub(crate) async fn reached(self) {
        loop {
            let left = self.left();
            if left.is_zero() {
                return;
            }
            sleep(left.min(Duration::from_secs(5))).await;
        }
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, length: Duration) -> Self {
        Self(self.0 + length)
    }
}

/// Returns at `time`; never returns for `None`.
pub(crate) async fn reached(time: Option<Instant>) {
    match time {
        Some(time) => time.reached().await,
        None => pending().await,
    }
}

/// Returns the earlier of two times, or the only one.
pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

/// Returns after `length`.
#[expect(clippy::disallowed_methods, reason = "the one place that waits")]
pub(crate) async fn sleep(length: Duration) {
    tokio::time::sleep(length).await;
}

/// Blocks this thread for `length`.
#[expect(clippy::disallowed_methods, reason = "the one place that blocks")]
pub(crate) fn pause(length: Duration) {
    std::thread::sleep(length);
}
