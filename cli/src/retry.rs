//! Asks a lock table that gave no answer once more.

use crate::platform::clock::{Instant, sleep};
use lockstep::error::Error;
use std::time::Duration;

/// What is left to the table, or to the network, between two requests.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a silent table is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// So many times.
    Tries(u32),
    /// Until then, and once at least.
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
    /// Whether another request may follow the `asked`-th one.
    fn lasts(self, asked: u32) -> bool {
        match self {
            Self::Tries(tries) => asked < tries,
            Self::Until(end) => end.left() > PAUSE,
        }
    }
}

/// Asks about `lock` until there is an answer, or the bound is met. Each request may be sent twice: a
/// grant is found again, and a release that was written says so.
///
/// # Errors
/// What the table says, or that it said nothing the last time either.
pub(crate) async fn again<T, F: Future<Output = Result<T, Error>>>(
    lock: &str,
    bound: impl Into<Bound>,
    mut ask: impl FnMut() -> F,
) -> Result<T, Error> {
    let bound = bound.into();
    let mut asked = 0;
    loop {
        asked += 1;
        match ask().await {
            Err(error) if error.name().is_retryable() && bound.lasts(asked) => {
                tracing::warn!(lock, %error, asked, "no answer; asking again");
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

    async fn asked(bound: impl Into<Bound>, error: impl Fn() -> Error) -> u32 {
        let mut asked = 0;
        let answer: Result<(), _> = again("a", bound, || {
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
        assert_eq!(asked(Instant::now(), silent).await, 1);
        // Paused time flies; this end does not come.
        let end = Instant::now() + Duration::from_secs(3_600);
        let asking = tokio::time::timeout(Duration::from_secs(60), asked(end, silent));
        assert!(asking.await.is_err(), "it gave up");
    }
}
