//! The only place that measures time and waits.

use std::time::{Duration, Instant};

/// The time since its start.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    #[expect(
        clippy::disallowed_methods,
        reason = "a measurement reads the clock that never goes back"
    )]
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the time since the start.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// Returns the time since the start in milliseconds.
    #[must_use]
    pub fn millis(self) -> f64 {
        self.elapsed().as_secs_f64() * 1000.0
    }
}

/// The CPU time of this thread so far, in milliseconds. Zero where the kernel has no schedstat.
#[must_use]
pub fn cpu_millis() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = schedstat
        .split(' ')
        .next()
        .and_then(|first| first.parse::<f64>().ok());
    nanos.unwrap_or_default() / 1e6
}

/// Blocks the thread for `length`.
#[expect(
    clippy::disallowed_methods,
    reason = "the timers of tokio count in milliseconds, which is too coarse for a delay of five"
)]
pub fn pause(length: Duration) {
    std::thread::sleep(length);
}
