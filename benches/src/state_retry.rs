//! The Retry of a state of exclusive-run, as Step Functions applies it.

use lockstep::backoff::Backoff;
use lockstep::clock::Clock;
use serde_json::Value;
use std::sync::LazyLock;
use std::time::Duration;

static DEFINITION: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../statemachines/exclusive-run.asl.json");
    serde_json::from_str(text).expect("a definition")
});

/// The retrier of a state for any error that is not excluded.
#[derive(Debug)]
pub struct StateRetry {
    attempts: u64,
    backoff: Backoff,
}

impl StateRetry {
    /// The Retry of the state `name`. The `seed` chooses the waits.
    ///
    /// # Panics
    /// When the state has none for all errors, or one that a [`Backoff`] cannot stand for.
    #[must_use]
    pub fn of(name: &str, seed: u64) -> Self {
        let retriers = &DEFINITION["States"][name]["Retry"];
        let all = |retrier: &&Value| retrier["ErrorEquals"][0] == "States.ALL";
        let retrier = retriers.as_array().into_iter().flatten().find(all);
        let retrier = retrier.unwrap_or_else(|| panic!("{name} retries not all errors"));
        assert_eq!(retrier["BackoffRate"], 2.0, "{retrier}");
        assert_eq!(retrier["JitterStrategy"], "FULL", "{retrier}");
        let number = |field: &str| retrier[field].as_u64().expect("a whole number");
        let seconds = |field: &str| Duration::from_secs(number(field));
        Self {
            attempts: number("MaxAttempts"),
            backoff: Backoff::new(seconds("IntervalSeconds"), seconds("MaxDelaySeconds"), seed),
        }
    }

    /// The answer of `call`, and the names of the errors of the attempts that failed. No answer when all did.
    pub async fn apply<T>(
        &self,
        clock: &impl Clock,
        call: impl AsyncFn() -> Result<T, String>,
    ) -> (Option<T>, Vec<String>) {
        let mut failures = Vec::new();
        loop {
            match call().await {
                Ok(answer) => return (Some(answer), failures),
                Err(name) => failures.push(name),
            }
            let retry = u32::try_from(failures.len() - 1).unwrap_or(u32::MAX);
            if u64::from(retry) == self.attempts {
                return (None, failures);
            }
            clock.sleep(self.backoff.wait(retry)).await;
        }
    }
}
