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

/// The Retry of a state: of errors that it excludes no attempt, of all others the same ones.
#[derive(Debug)]
pub struct StateRetry {
    excluded: Vec<&'static str>,
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
        let retriers = || retriers.as_array().into_iter().flatten();
        let never = retriers().filter(|retrier| retrier["MaxAttempts"] == 0);
        let names = never.filter_map(|retrier| retrier["ErrorEquals"].as_array());
        let all = |retrier: &&Value| retrier["ErrorEquals"][0] == "States.ALL";
        let retrier = retriers().find(all);
        let retrier = retrier.unwrap_or_else(|| panic!("{name} retries not all errors"));
        assert_eq!(retrier["BackoffRate"], 2.0, "{retrier}");
        assert_eq!(retrier["JitterStrategy"], "FULL", "{retrier}");
        let number = |field: &str| retrier[field].as_u64().expect("a whole number");
        let seconds = |field: &str| Duration::from_secs(number(field));
        Self {
            excluded: names.flatten().filter_map(Value::as_str).collect(),
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
            let is_excluded = |name: &String| self.excluded.contains(&name.as_str());
            if u64::from(retry) == self.attempts || failures.last().is_some_and(is_excluded) {
                return (None, failures);
            }
            clock.sleep(self.backoff.wait(retry)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::virtual_time::VirtualTime;

    /// The attempts at a call that always fails with `name`, and the seconds that they took.
    fn attempts(name: &str) -> (usize, u64) {
        let (time, retry) = (VirtualTime::default(), StateRetry::of("Acquire Lock", 7));
        let call = async || Err::<(), _>(name.to_owned());
        let (_, failures) = time.run(retry.apply(&time, call));
        (failures.len(), time.elapsed().as_secs())
    }

    #[test]
    fn an_error_is_retried_as_often_as_the_state_says_or_excluded() {
        let (unavailable, seconds) = attempts("Lockstep.Unavailable");

        assert_eq!(attempts("Lockstep.Denied"), (1, 0));
        assert_eq!(unavailable, 13, "one call and twelve retries");
        assert!((30..300).contains(&seconds), "{seconds} s");
    }
}
