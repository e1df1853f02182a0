//! Exponential backoff between the attempts of a command that met a conflict.

use std::sync::Mutex;
use std::time::Duration;

/// Exponential backoff with full jitter: each wait is a random part of an upper bound that doubles with
/// each retry.
///
/// Full jitter completes contended work with the fewest calls of the usual kinds of backoff
/// (<https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/>).
#[derive(Debug)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    random: Mutex<fastrand::Rng>,
}

impl Backoff {
    /// Creates a backoff whose first wait is at most `first`. The bound doubles with each retry, up to
    /// `most`. The same `seed` gives the same waits.
    #[must_use]
    pub fn new(first: Duration, most: Duration, seed: u64) -> Self {
        Self {
            first,
            most,
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
        }
    }

    /// Returns the wait before retry number `attempt`, counted from 0.
    pub fn wait(&self, attempt: u32) -> Duration {
        let bound = self
            .first
            .saturating_mul(1 << attempt.min(16))
            .min(self.most);
        let mut random = self
            .random
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        bound.mul_f64(random.f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_stay_below_the_bound_that_doubles_up_to_the_most() {
        let backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(60), 7);

        for (attempt, bound) in [(0, 10), (1, 20), (2, 40), (3, 60), (40, 60)] {
            for _ in 0..100 {
                assert!(backoff.wait(attempt) <= Duration::from_millis(bound));
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_waits() {
        let waits = |seed| {
            let backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1), seed);
            [0, 1, 2, 3, 4, 5, 6, 7].map(|attempt| backoff.wait(attempt))
        };

        assert_eq!(waits(42), waits(42));
        assert_ne!(waits(42), waits(43));
    }
}
