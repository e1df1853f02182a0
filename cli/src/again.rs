//! Asks a lock table that gave no answer once more.

use crate::sys::clock::sleep;
use lockstep::error::Error;
use std::time::Duration;

/// What is left to the table, or to the network, between two requests.
const PAUSE: Duration = Duration::from_secs(1);

/// Asks up to `tries` times about `lock`. Each request may be sent twice: a grant is found again, and
/// a release that was written says so.
///
/// # Errors
/// What the table says, or that it said nothing the last time either.
pub(crate) async fn again<T, F: Future<Output = Result<T, Error>>>(
    lock: &str,
    tries: u32,
    mut ask: impl FnMut() -> F,
) -> Result<T, Error> {
    let mut left = tries;
    loop {
        left = left.saturating_sub(1);
        match ask().await {
            Err(error) if error.name().is_retryable() && left > 0 => {
                tracing::warn!(lock, %error, left, "no answer; asking again");
                sleep(PAUSE).await;
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::contract::InvalidRequest;
    use lockstep::domain::LockKey;
    use lockstep::protocol::ProtocolError;

    async fn asked(tries: u32, error: impl Fn() -> Error) -> u32 {
        let mut asked = 0;
        let answer: Result<(), _> = again("a", tries, || {
            asked += 1;
            let error = error();
            async { Err(error) }
        })
        .await;
        assert_eq!(answer.unwrap_err().name(), error().name());
        asked
    }

    #[tokio::test(start_paused = true)]
    async fn only_silence_is_asked_again_and_not_for_ever() {
        let lock = LockKey::new("a").unwrap();
        let silent = || Error::of_command(&lock, ProtocolError::Contended);
        let invalid = || InvalidRequest::new("lock", "a", "must not be").into();

        assert_eq!(asked(3, silent).await, 3);
        assert_eq!(asked(1, silent).await, 1);
        assert_eq!(asked(3, invalid).await, 1);
    }
}
