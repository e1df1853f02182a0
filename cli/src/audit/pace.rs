//! The pace of requests to one service: a token bucket, like those by which AWS throttles requests.

use crate::platform::clock::Instant;
use std::time::Duration;

/// Slowest pace to which throttling leads, in requests per second.
const SLOWEST: f64 = 0.2;

/// The pace at which requests may follow each other.
#[derive(Debug)]
pub(super) struct Pace {
    /// Requests per second.
    rate: f64,
    /// Maximum number of requests at once, after a pause.
    burst: f64,
    /// Requests that may be sent at once at the time `at`; negative if requests are waiting.
    left: f64,
    at: Instant,
}

impl Pace {
    /// Allows `burst` requests at once, and `rate` more each second.
    pub(super) fn new(rate: f64, burst: f64) -> Self {
        Self {
            rate,
            burst,
            left: burst,
            at: Instant::now(),
        }
    }

    /// Waits until the next request may be sent.
    pub(super) async fn turn(&mut self) {
        let wait = self.take(Instant::now());
        (Instant::now() + wait).reached().await;
    }

    /// Halves the pace and ends the burst, after a request that was throttled.
    pub(super) fn slow_down(&mut self) {
        self.rate = (self.rate / 2.0).max(SLOWEST.min(self.rate));
        self.burst = 1.0;
        self.left = 0.0;
    }

    /// Takes a request out of the bucket at `now`, and returns how long the request has to wait.
    fn take(&mut self, now: Instant) -> Duration {
        let passed = now.millis().saturating_sub(self.at.millis());
        let filled = Duration::from_millis(passed).as_secs_f64() * self.rate;
        self.left = (self.left + filled).min(self.burst) - 1.0;
        self.at = now;
        Duration::from_secs_f64((-self.left / self.rate).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times at which `count` requests are sent, in milliseconds after the first call.
    fn sent(pace: &mut Pace, count: usize) -> Vec<u64> {
        let mut now = pace.at.millis();
        let begin = now;
        let mut send = |_| {
            let wait = pace.take(Instant::from_millis(now));
            now += u64::try_from(wait.as_millis()).unwrap();
            now - begin
        };
        (0..count).map(&mut send).collect()
    }

    #[test]
    fn requests_after_the_burst_come_at_the_rate() {
        let mut pace = Pace::new(2.0, 3.0);

        assert_eq!(sent(&mut pace, 6), [0, 0, 0, 500, 1_000, 1_500]);
    }

    #[test]
    fn throttling_halves_the_rate_and_ends_the_burst() {
        let mut pace = Pace::new(2.0, 50.0);

        pace.slow_down();

        assert_eq!(sent(&mut pace, 3), [1_000, 2_000, 3_000]);
        for _ in 0..20 {
            pace.slow_down();
        }
        assert_eq!(sent(&mut pace, 1), [5_000]);
        let mut slow = Pace::new(0.1, 1.0);
        slow.slow_down();
        assert_eq!(slow.rate, 0.1, "never faster than it was");
    }
}
