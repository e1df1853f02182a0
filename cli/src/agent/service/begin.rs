//! The beginning of a job.
//!
//! ```text
//!  reserve a place ─▶ protect the task ─▶ acquire ── granted ─▶ register ─▶ 201
//!                                            ├ held ──────────▶ 200 or 409
//!                                            └ no answer ─────▶ 503; asked again until it is known
//! ```
//! The program knows only from the response that a job has begun. A permit whose response did not reach the
//! program belongs to no job, so it is released as soon as that is known.

use super::reservation::Reservation;
use super::{Service, TRIES};
use crate::agent::error::ApiError;
use crate::agent::job::Job;
use crate::agent::request::BeginRequest;
use crate::agent::response::{Begun, Granted, NotGranted};
use crate::lease::held::Held;
use crate::platform::env::secret_id;
use crate::protect::keeper::InFlight;
use crate::retry::retry;
use axum::http::StatusCode;
use lockstep::contract::{AcquireResponse, ErrorName, Grant};
use lockstep::service::Ports;
use std::sync::Arc;
use tokio::sync::oneshot;

/// What a job needs before its lock is acquired. A drop gives all of it back.
struct Prepared<P: Ports + 'static> {
    id: String,
    reservation: Reservation<P>,
    in_flight: InFlight,
}

impl<P: Ports + 'static> Service<P> {
    /// Begins a job and sends the result to `reply`. If the client has disconnected, releases the job as
    /// failed.
    pub(in crate::agent) async fn begin(
        self: Arc<Self>,
        request: BeginRequest,
        mut reply: oneshot::Sender<Result<Begun, ApiError>>,
    ) {
        let prepared = tokio::select! {
            biased;
            // No request has been sent to the lock table yet.
            () = reply.closed() => return,
            prepared = self.prepare(&request) => prepared,
        };
        let begun = match prepared {
            Ok(prepared) => self.acquire(prepared, &request).await,
            Err(error) => Err(error),
        };
        if let Err(Ok(Begun::Granted(granted))) = reply.send(begun) {
            tracing::warn!(
                event = "client_disconnected",
                job = request.name,
                "the client disconnected before it got the response; the job is released as failed"
            );
            self.release_undelivered(&granted.job).await;
        }
    }

    /// Does everything that may take long before the lock is acquired, because the lease runs from then on.
    async fn prepare(self: &Arc<Self>, request: &BeginRequest) -> Result<Prepared<P>, ApiError> {
        request.check()?;
        let reservation = Reservation::reserve(self)?;
        let id = secret_id().map_err(|error| {
            let message = format!("no id can be generated for the job: {error}");
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "Agent.Internal", message)
        })?;
        let in_flight = self.protection.begin().await.map_err(|refused| {
            let message = format!("the task is not protected (--protect=required): {refused}");
            let status = StatusCode::SERVICE_UNAVAILABLE;
            ApiError::new(status, "Agent.NotProtected", message)
        })?;
        Ok(Prepared {
            id,
            reservation,
            in_flight,
        })
    }

    /// Acquires the lock, and registers the job if the lock is granted. Otherwise drops `prepared`.
    async fn acquire(
        self: &Arc<Self>,
        prepared: Prepared<P>,
        request: &BeginRequest,
    ) -> Result<Begun, ApiError> {
        let times = request.times(self.lease, self.grace);
        let holder = self.identity.holder_for(&request.name);
        let acquire = request.acquire(holder, times.seconds());
        let asked = retry(&acquire.lock, TRIES, || self.locks.acquire(&acquire));
        let (permit, sent) = match asked.await {
            Ok((AcquireResponse::Granted(permit) | AcquireResponse::AlreadyHeld(permit), sent)) => {
                (permit, sent)
            }
            Ok((refused, _)) => return self.not_granted(&acquire.lock, refused),
            Err(error) => {
                // The permit may have been granted. The capacity stays reserved until that is known.
                if error.name().is_retryable() {
                    self.reconcile_later(prepared.reservation, acquire, times.length);
                } else if error.name() == ErrorName::LockHeld {
                    self.check_unconfirmed(&acquire.lock)?;
                }
                return Err(error.into());
            }
        };
        // A job under this permit would have to stop before it has begun.
        if times.stop_at(sent).left().is_zero() {
            self.reconcile_later(prepared.reservation, acquire, times.length);
            let message = "the lock table answered when the lease was almost over; its permit is being released: retry";
            return Err(ApiError::unavailable(message));
        }
        let expires_at = self.locks.on_this_machines_clock(permit.expires_at.clone());
        let held = Held::acquired(permit, times, sent);
        let (name, guard) = (request.name.clone(), prepared.in_flight);
        let job = Job::begun(name, held, expires_at, guard)
            .limited(request.max_run(), request.no_progress());
        let granted = self.register(prepared.id, prepared.reservation, job);
        Ok(Begun::Granted(Box::new(granted)))
    }

    fn not_granted(&self, lock: &str, answer: AcquireResponse) -> Result<Begun, ApiError> {
        let (refused, held_by_other) = match answer {
            AcquireResponse::Skipped(skipped) => (NotGranted::Skipped(skipped), true),
            AcquireResponse::Duplicate(run) => {
                let runs = run.ended_at.is_none();
                (NotGranted::Duplicate(run), runs)
            }
            // These responses do not occur: a job never queues, and no execution is redriven.
            other => {
                let message =
                    format!("the lock table sent a response that no job can get: {other:?}");
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                return Err(ApiError::new(status, "Agent.Internal", message));
            }
        };
        if held_by_other {
            self.check_unconfirmed(lock)?;
        }
        Ok(Begun::NotGranted(Box::new(refused)))
    }

    /// Fails if a grant of `lock` is unconfirmed: no job runs under that permit, so neither "held" nor
    /// "duplicate" would be a true answer.
    fn check_unconfirmed(&self, lock: &str) -> Result<(), ApiError> {
        if self.registry().capacity.is_unconfirmed(lock) {
            let message = "the lock may be held by a job that did not begin, because the response to its \
                           request was lost; that permit is being released: retry";
            return Err(ApiError::unavailable(message));
        }
        Ok(())
    }

    /// Adds the job to the registry, which makes the job open.
    fn register(&self, id: String, reservation: Reservation<P>, job: Job<InFlight>) -> Granted {
        let Grant {
            lock,
            holder,
            token,
            ..
        } = &job.held.grant;
        tracing::info!(
            event = "job_started",
            job = job.name,
            lock,
            holder,
            token,
            "the job begins"
        );
        let granted = {
            let mut registry = self.registry();
            let granted = Granted::of(&id, &job);
            registry.begun(id, job);
            reservation.consume();
            granted
        };
        self.changed.send_replace(());
        granted
    }
}
