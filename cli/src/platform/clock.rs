//! Monotonic time that includes suspend.

use nix::time::{ClockId, clock_gettime};
use std::future::pending;
use std::ops::Add;
use std::time::Duration;

/// The clock that goes on while the machine is suspended: on macOS that is the monotonic one.
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

    /// The time `millis` milliseconds after the start of the machine.
    pub(crate) const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// Milliseconds since the start of the machine.
    pub(crate) fn millis(self) -> u64 {
        u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX)
    }

    /// The time left until then; zero if it has passed.
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_sub(Self::now().0)
    }

    /// Returns at that time. Sleeps at most 5 s at once, which bounds the delay after a suspend.
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

/// The earlier of two times, or the only one.
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
