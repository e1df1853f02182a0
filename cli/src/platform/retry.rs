//! The loop of all requests that are retried.

use crate::platform::clock::sleep;
use std::time::Duration;

/// Makes attempts until one succeeds or `again` returns `None`. `again` gets the error and the number of
/// attempts so far, and returns the pause before the next attempt.
///
/// # Errors
/// The error of the last attempt.
pub(crate) async fn retry_if<T, E, F: Future<Output = Result<T, E>>>(
    mut attempt: impl FnMut() -> F,
    mut again: impl FnMut(&E, u32) -> Option<Duration>,
) -> Result<T, E> {
    let mut attempts = 0;
    loop {
        let error = match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        attempts += 1;
        match again(&error, attempts) {
            Some(pause) => sleep(pause).await,
            None => return Err(error),
        }
    }
}
