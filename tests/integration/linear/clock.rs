//! Time that runs fast, so that many leases end in a second, and clocks that differ from it.

use crate::fixture::START;
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::Timestamp;
use std::time::Duration;
use tokio::time::Instant;

/// How many seconds of a history pass in a second.
const PACE: u32 = 8;

/// The true time of a history. It is monotonic, and no part of the product reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrueTime(Instant);

impl TrueTime {
    /// Begins now.
    pub(super) fn begin() -> Self {
        Self(Instant::now())
    }

    /// Returns the true time after another `length` of real time.
    pub(super) fn after(self, length: Duration) -> u64 {
        self.micros() + u64::try_from((length * PACE).as_micros()).expect("a short time")
    }

    /// Returns microseconds since 1970, which compare with the ends of leases.
    pub(super) fn micros(self) -> u64 {
        let since = (self.0.elapsed() * PACE).as_micros();
        START.millis() * 1000 + u64::try_from(since).expect("a short history")
    }
}

/// The clock of one client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientClock {
    pub(super) time: TrueTime,
    /// Its difference from the true time, in milliseconds.
    pub(super) skew: i64,
}

impl Clock for ClientClock {
    fn now(&self) -> Timestamp {
        let now = self.time.micros() / 1000;
        Timestamp::from_millis(now.saturating_add_signed(self.skew))
    }

    async fn sleep(&self, length: Duration) {
        SystemClock.sleep(length / PACE).await;
    }
}
