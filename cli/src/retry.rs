//! Retries a request to the lock table.

use crate::platform::clock::Instant;
use crate::platform::env::variable;
use crate::platform::retry::retry_if;
use lockstep::error::Error;
use std::time::Duration;

/// Pause between two requests.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a request is retried.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// This number of requests.
    Tries(u32),
    /// Until this time, but at least one request.
    Until(Instant),
}

impl From<u32> for Bound {
    fn from(tries: u32) -> Self {
        Self::Tries(tries)
    }
}

impl From<Instant> for Bound {
    fn from(end: Instant) -> Self {
        Self::Until(end)
    }
}

impl Bound {
    /// Returns whether another request may follow after this number of `attempts`.
    fn allows_another(self, attempts: u32) -> bool {
        match self {
            Self::Tries(tries) => attempts < tries,
            Self::Until(end) => end.left() > PAUSE,
        }
    }
}

/// Sends a request about `lock`, and repeats it after a retryable error until the bound is reached. Repeating
/// is safe, because requests are idempotent: an acquire finds the grant of an earlier attempt, and a release
/// reports that it was already written.
///
/// # Errors
/// The first error that is not retryable, or the last error once the bound is reached.
pub(crate) async fn retry<T, F: Future<Output = Result<T, Error>>>(
    lock: &str,
    bound: impl Into<Bound>,
    request: impl FnMut() -> F,
) -> Result<T, Error> {
    retry_unless(|| false, lock, bound, request).await
}

/// Sends a request as [`retry`] does, but does not repeat it once `stopping` returns `true`.
///
/// # Errors
/// As [`retry`].
pub(crate) async fn retry_unless<T, F: Future<Output = Result<T, Error>>>(
    stopping: impl Fn() -> bool,
    lock: &str,
    bound: impl Into<Bound>,
    request: impl FnMut() -> F,
) -> Result<T, Error> {
    let bound = bound.into();
    let again = |error: &Error, attempts| {
        let retries = may_succeed_later(error) && bound.allows_another(attempts) && !stopping();
        if retries {
            tracing::warn!(event = "request_retried", lock, %error, attempts, "the lock table gave no answer, or a temporary error; retrying");
        }
        retries.then_some(PAUSE)
    };
    retry_if(request, again).await
}

/// Returns whether the same request may succeed later. An error about expired credentials is final if the
/// access key comes from variables, because nothing renews variables.
pub(crate) fn may_succeed_later(error: &Error) -> bool {
    let has_keys = variable("AWS_ACCESS_KEY_ID").is_some();
    error.name().is_retryable() && !(has_keys && is_expired_credentials_error(error.message()))
}

fn is_expired_credentials_error(text: &str) -> bool {
    text.contains("ExpiredToken")
        || text.contains("security token included in the request is expired")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::contract::InvalidRequest;
    use lockstep::domain::LockKey;
    use lockstep::protocol::ProtocolError;

    async fn attempts(bound: impl Into<Bound>, error: impl Fn() -> Error) -> u32 {
        let mut attempts = 0;
        let result: Result<(), _> = retry("a", bound, || {
            attempts += 1;
            let error = error();
            async { Err(error) }
        })
        .await;
        assert_eq!(result.unwrap_err().name(), error().name());
        attempts
    }

    #[test]
    fn an_answer_about_expired_keys_is_known_by_its_code_or_its_text() {
        assert!(is_expired_credentials_error(
            "ExpiredTokenException: The security token"
        ));
        assert!(is_expired_credentials_error(
            "the security token included in the request is expired"
        ));
        assert!(!is_expired_credentials_error(
            "the lock table gave no answer: timeout"
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn only_retryable_errors_are_retried_and_only_within_the_bound() {
        let lock = LockKey::new("a").unwrap();
        let retryable = || Error::of_command(&lock, ProtocolError::Contended);
        let invalid = || InvalidRequest::new("lock", "a", "must not be").into();

        assert_eq!(attempts(3, retryable).await, 3);
        assert_eq!(attempts(1, retryable).await, 1);
        assert_eq!(attempts(3, invalid).await, 1);
        assert_eq!(attempts(Instant::now(), retryable).await, 1);
        // Paused time advances without the clock of `Instant`, so this end is never reached.
        let end = Instant::now() + Duration::from_secs(3_600);
        let retrying = tokio::time::timeout(Duration::from_secs(60), attempts(end, retryable));
        assert!(retrying.await.is_err(), "it gave up");
    }
}
