//! The beginning of a job.

use super::reservation::Reservation;
use super::{Service, TRIES};
use crate::agent::error::ApiError;
use crate::agent::job::Terms;
use crate::agent::request::BeginRequest;
use crate::agent::response::{Begun, Granted};
use crate::lease::table::LockTable;
use crate::platform::clock::Instant;
use crate::platform::env::secret_id;
use crate::protect::keeper::InFlight;
use crate::retry::again;
use axum::http::StatusCode;
use lockstep::contract::{AcquireResponse, ErrorName, Grant, Granted as Permit};
use std::sync::Arc;
use tokio::sync::oneshot;

/// What a job has before its lock is asked for. A drop gives it back.
struct Ready<T: LockTable> {
    /// Its id.
    id: String,
    place: Reservation<T>,
    in_flight: InFlight,
}

impl<T: LockTable> Service<T> {
    /// Begins the job that a client wishes for, and tells it what came of that. Of a client that
    /// has gone nothing is left.
    pub(in crate::agent) async fn begin(
        self: Arc<Self>,
        wish: BeginRequest,
        mut tell: oneshot::Sender<Result<Begun, ApiError>>,
    ) {
        let ready = tokio::select! {
            biased;
            // The table has not been asked yet.
            () = tell.closed() => return,
            ready = self.ready(&wish) => ready,
        };
        let begun = match ready {
            Ok(ready) => self.take(ready, &wish).await,
            Err(failure) => Err(failure),
        };
        if let Err(Ok(Begun::Granted(granted))) = tell.send(begun) {
            tracing::warn!(
                job = wish.name,
                "nobody is there to be told that the job may begin"
            );
            self.let_go(&granted.job).await;
        }
    }

    /// Sees to all that may take long before the lock is taken: its lease runs from then on.
    async fn ready(self: &Arc<Self>, wish: &BeginRequest) -> Result<Ready<T>, ApiError> {
        wish.check()?;
        let place = Reservation::reserve(self)?;
        let id = secret_id().map_err(|error| {
            let message = format!("no randomness for the job's id: {error}");
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "Agent.Internal", message)
        })?;
        let in_flight = self.protection.begin().await.map_err(|refused| {
            let message = format!("the task is not protected (--protect=required): {refused}");
            let status = StatusCode::SERVICE_UNAVAILABLE;
            ApiError::new(status, "Agent.NotProtected", message)
        })?;
        Ok(Ready {
            id,
            place,
            in_flight,
        })
    }

    /// Takes the lock. Unless it is granted, all that the job had is given back.
    async fn take(
        self: &Arc<Self>,
        ready: Ready<T>,
        wish: &BeginRequest,
    ) -> Result<Begun, ApiError> {
        let times = wish.times(self.lease, self.grace);
        let holder = self.site.holder_for(&wish.name);
        let acquire = wish.acquire(holder, times.seconds());
        let asked = again(&acquire.lock, TRIES, || self.locks.acquire(&acquire));
        let (permit, sent) = match asked.await {
            Ok((AcquireResponse::Granted(permit) | AcquireResponse::AlreadyHeld(permit), sent)) => {
                (permit, sent)
            }
            Ok((refused, _)) => return self.not_granted(&acquire.lock, refused),
            Err(error) => {
                if error.name().is_retryable() {
                    self.doubt(ready.place, acquire, times.length);
                } else if error.name() == ErrorName::LockHeld {
                    self.check_doubts(&acquire.lock)?;
                }
                return Err(error.into());
            }
        };
        if times.stop_at(sent).left().is_zero() {
            self.doubt(ready.place, acquire, times.length);
            let message = "the answer came so late that the lease is all but over; ask again";
            return Err(ApiError::unavailable(message));
        }
        let terms = Terms {
            name: wish.name.clone(),
            grant: permit.grant.clone(),
            times,
            max_run: wish.max_run(),
            no_progress: wish.no_progress(),
        };
        let granted = self.note(ready, terms, permit, sent);
        Ok(Begun::Granted(Box::new(granted)))
    }

    fn not_granted(&self, lock: &str, answer: AcquireResponse) -> Result<Begun, ApiError> {
        let by_others_at_work = match &answer {
            AcquireResponse::Skipped(_) => true,
            AcquireResponse::Duplicate(run) => run.ended_at.is_none(),
            _ => false,
        };
        if by_others_at_work {
            self.check_doubts(lock)?;
        }
        Ok(Begun::Not(Box::new(answer)))
    }

    /// Nobody is at work under a permit that was taken unseen: then there is something to do.
    fn check_doubts(&self, lock: &str) -> Result<(), ApiError> {
        if self.book().places.is_doubted(lock) {
            let message = "perhaps held by a job that did not begin, since the answer to its \
                           request was lost; its permit is being given back: ask again";
            return Err(ApiError::unavailable(message));
        }
        Ok(())
    }

    /// A job is under way from here on.
    fn note(&self, ready: Ready<T>, terms: Terms, permit: Permit, sent: Instant) -> Granted {
        let Grant {
            lock,
            holder,
            token,
            ..
        } = &permit.grant;
        tracing::info!(job = terms.name, lock, holder, token, "the job begins");
        let pairs = permit.environment.into_iter();
        let environment = pairs.map(|pair| (pair.name, pair.value)).collect();
        let Ready {
            id,
            place,
            in_flight,
        } = ready;
        let granted = {
            let mut book = self.book();
            let job = book.begun(id.clone(), terms, (sent, permit.expires_at), in_flight);
            place.taken();
            Granted::of(&id, job, environment)
        };
        self.changed.send_replace(());
        granted
    }
}
