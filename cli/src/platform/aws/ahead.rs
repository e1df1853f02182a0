//! Loads credentials before the last ones expire, and without the time limit of a request.
//!
//! ```text
//!  loaded                      5 min before their end         end
//!    |---- every request uses them ----|-- still used, loading --|-- requests wait for the load
//! ```
//!
//! The time limit of a renewal is a part of the lease, and a `credential_process` may take longer. So each
//! load runs in a task of its own, which outlives the request that waits for it. There is one load at a time.

use super::failure::Failure;
use super::profiles::Profiles;
use super::usable::checked;
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, SharedCredentialsProvider, future};
use lockstep::clock::{Clock, SystemClock};
use std::time::{Duration, UNIX_EPOCH};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// Time before the end of the credentials at which others are loaded.
pub(super) const BY: Duration = Duration::from_secs(300);

/// Time before the end of the credentials in which no request uses them, as in the SDK.
const UNUSED: Duration = Duration::from_secs(10);

/// Provides credentials, and loads others before they expire.
#[derive(Debug)]
pub(super) struct Ahead {
    by: Duration,
    then: SharedCredentialsProvider,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    latest: Option<Credentials>,
    load: Option<JoinHandle<provider::Result>>,
}

impl Ahead {
    /// Creates a provider that provides `first`, and loads others from `then` before `first` expires.
    pub(super) fn after(first: Option<Credentials>, then: SharedCredentialsProvider) -> Self {
        let state = State {
            latest: first,
            load: None,
        };
        let state = Mutex::new(state);
        let by = BY;
        Self { by, then, state }
    }

    /// Creates a provider that provides `first` until they expire, and asks `ended` for others only after
    /// that.
    pub(super) fn until_expiry(first: Credentials, ended: SharedCredentialsProvider) -> Self {
        let by = UNUSED;
        Self {
            by,
            ..Self::after(Some(first), ended)
        }
    }

    /// Returns the latest credentials while they are good. After that, waits for others.
    pub(super) async fn provide(&self) -> provider::Result {
        let mut state = self.state.lock().await;
        loop {
            // Credentials without an expiry are long-term keys, which are loaded once
            // (<https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-sourcing-external.html>).
            let latest = state.latest.clone();
            if let Some(latest) = latest.as_ref().filter(|latest| lasts(latest, self.by)) {
                return Ok(latest.clone());
            }
            let usable = latest.filter(|latest| lasts(latest, UNUSED));
            let load = state.load.get_or_insert_with(|| {
                let then = self.then.clone();
                tokio::spawn(async move { checked(then.provide_credentials().await) })
            });
            let has_ended = load.is_finished();
            if let Some(latest) = usable.clone().filter(|_| !has_ended) {
                return Ok(latest);
            }
            // The load stays in place until it ends: if this request is cancelled before, the next one waits
            // for it.
            let loaded = load
                .await
                .unwrap_or_else(|error| Err(CredentialsError::unhandled(error)));
            state.load = None;
            match loaded {
                Ok(loaded) => state.latest = Some(loaded),
                Err(error) if usable.is_some() => log(&error).await,
                // A load that failed in the background may have failed long ago, so another one is started.
                Err(_) if has_ended => {}
                Err(error) => return Err(error),
            }
            let good = state
                .latest
                .clone()
                .filter(|latest| !has_ended || lasts(latest, UNUSED));
            if let Some(latest) = good {
                return Ok(latest);
            }
        }
    }
}

async fn log(error: &CredentialsError) {
    let failure = Failure::of(error, Profiles::read().await.ok().as_ref());
    tracing::warn!(
        event = "credentials_not_renewed",
        "the AWS credentials were not renewed; retrying until they expire: {}",
        failure.text
    );
}

impl ProvideCredentials for Ahead {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.provide())
    }

    fn fallback_on_interrupt(&self) -> Option<Credentials> {
        self.then.fallback_on_interrupt()
    }
}

/// Returns whether `credentials` are good for longer than `length`.
fn lasts(credentials: &Credentials, length: Duration) -> bool {
    let now = UNIX_EPOCH + Duration::from_millis(SystemClock.now().millis());
    credentials.expiry().is_none_or(|end| end > now + length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::clock::sleep;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use tokio::time::timeout;

    /// Gives credentials after the time `takes`. Each is named by its number and good for `good_for` seconds.
    /// Every second load fails if `fails` is true.
    #[derive(Debug, Clone, Default)]
    struct Slow {
        loads: Arc<AtomicU64>,
        takes: Duration,
        good_for: u64,
        fails: bool,
    }

    impl ProvideCredentials for Slow {
        fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
        where
            Self: 'a,
        {
            future::ProvideCredentials::new(async {
                let number = self.loads.fetch_add(1, Ordering::Relaxed) + 1;
                sleep(self.takes).await;
                if self.fails && number.is_multiple_of(2) {
                    return Err(CredentialsError::provider_error("the vault is sealed"));
                }
                Ok(named(&number.to_string(), self.good_for))
            })
        }
    }

    fn named(name: &str, good_for: u64) -> Credentials {
        let now = Duration::from_millis(SystemClock.now().millis());
        let end = UNIX_EPOCH + now + Duration::from_secs(good_for);
        Credentials::new(name, "secret", None, Some(end), "test")
    }

    fn ahead(first: Option<Credentials>, then: &Slow) -> Ahead {
        Ahead::after(first, SharedCredentialsProvider::new(then.clone()))
    }

    /// Returns the names of the credentials that some requests get, one after the other. Loads end between
    /// two of them.
    async fn asked(ahead: &Ahead, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..count {
            let given = ahead.provide().await;
            names.push(given.map_or("none".into(), |given| given.access_key_id().to_owned()));
            sleep(Duration::from_millis(50)).await;
        }
        names
    }

    #[tokio::test]
    async fn credentials_are_used_to_their_end_and_others_loaded_ahead_of_it() {
        for (good_for, then_for, fails, expected) in [
            (3_600, 3_600, false, ["first", "first", "first"]),
            (60, 3_600, false, ["first", "1", "1"]),
            (60, 60, true, ["first", "1", "1"]),
            (1, 3_600, false, ["1", "1", "1"]),
        ] {
            let then = Slow {
                good_for: then_for,
                fails,
                ..Slow::default()
            };
            let ahead = ahead(Some(named("first", good_for)), &then);

            assert_eq!(asked(&ahead, 3).await, expected, "{good_for} {then_for}");
        }
    }

    #[tokio::test]
    async fn credentials_without_others_are_used_to_their_end_in_silence() {
        let then = Slow {
            good_for: 3_600,
            ..Slow::default()
        };
        for (good_for, name, loads) in [(60, "first", 0), (1, "1", 1)] {
            let first = named("first", good_for);
            let ahead = Ahead::until_expiry(first, SharedCredentialsProvider::new(then.clone()));

            assert_eq!(asked(&ahead, 2).await, [name, name]);
            assert_eq!(then.loads.load(Ordering::Relaxed), loads, "{good_for}");
        }
    }

    #[tokio::test]
    async fn a_load_of_credentials_that_cannot_sign_fails() {
        for (id, secret, token) in [
            ("", "secret", None),
            ("id\r", "secret", None),
            ("id", "", None),
            ("id", "secret\n", None),
            ("id", "secret", Some("to\nken")),
            ("idé", "secret", None),
        ] {
            let token = token.map(str::to_owned);
            let wrong = Credentials::new(id, secret, token, None, "test");
            let ahead = Ahead::after(None, SharedCredentialsProvider::new(wrong));

            assert!(ahead.provide().await.is_err(), "{id:?} {secret:?}");
        }
    }

    #[tokio::test]
    async fn a_load_outlives_the_requests_that_wait_for_it() {
        let then = Slow {
            takes: Duration::from_millis(300),
            good_for: 3_600,
            ..Slow::default()
        };
        let ahead = ahead(None, &then);

        while timeout(Duration::from_millis(20), ahead.provide())
            .await
            .is_err()
        {}

        assert_eq!(asked(&ahead, 1).await, ["1"]);
        assert_eq!(then.loads.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_failed_load_is_an_error_once_there_are_no_credentials() {
        let then = Slow {
            loads: Arc::new(AtomicU64::new(1)),
            good_for: 3_600,
            fails: true,
            ..Slow::default()
        };

        assert_eq!(asked(&ahead(None, &then), 2).await, ["none", "3"]);
        then.loads.store(1, Ordering::Relaxed);
        let ahead = ahead(Some(named("first", 60)), &then);
        assert_eq!(asked(&ahead, 4).await, ["first", "first", "first", "3"]);
    }
}
