//! Which errors a retrier or a catcher names, and how long a retry waits.

use super::definition::{Catcher, Jitter, Retrier};
use crate::world::World;
use std::time::Duration;

/// Whether a list of names covers `error`
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html>).
pub(super) fn covers(names: &[String], error: &str) -> bool {
    names.iter().any(|name| match name.as_str() {
        "States.ALL" => !matches!(error, "States.DataLimitExceeded" | "States.Runtime"),
        "States.TaskFailed" => error != "States.Timeout",
        name => name == error,
    })
}

/// The first catcher for `error`.
pub(super) fn catcher<'a>(catchers: &'a [Catcher], error: &str) -> Option<&'a Catcher> {
    catchers
        .iter()
        .find(|catcher| covers(&catcher.error_equals, error))
}

/// How often each retrier of a state was used since the state was entered.
pub(super) struct Retries<'a> {
    retriers: &'a [Retrier],
    used: Vec<u32>,
}

impl<'a> Retries<'a> {
    pub(super) fn new(retriers: &'a [Retrier]) -> Self {
        Self {
            retriers,
            used: vec![0; retriers.len()],
        }
    }

    /// All retries since the state was entered.
    pub(super) fn count(&self) -> u32 {
        self.used.iter().sum()
    }

    /// How long to wait before the next attempt, in milliseconds; `None` when there is none. Only
    /// the first retrier that covers the error counts.
    pub(super) fn delay(&mut self, world: &World, error: &str) -> Option<u64> {
        let covers = |retrier: &Retrier| covers(&retrier.error_equals, error);
        let index = self.retriers.iter().position(covers)?;
        let (retrier, used) = (&self.retriers[index], &mut self.used[index]);
        if *used >= retrier.max_attempts {
            return None;
        }
        let delay = millis(retrier, *used);
        *used += 1;
        Some(match retrier.jitter_strategy {
            Jitter::Full => world.number(0..=delay),
            Jitter::None => delay,
        })
    }
}

fn millis(retrier: &Retrier, used: u32) -> u64 {
    let growth = retrier
        .backoff_rate
        .powi(i32::try_from(used).unwrap_or(i32::MAX));
    let seconds = f64::from(retrier.interval_seconds) * growth;
    let most = retrier.max_delay_seconds.unwrap_or(31_622_400);
    let delay = Duration::from_secs_f64(seconds.min(f64::from(most)));
    u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)
}
