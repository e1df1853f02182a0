//! The beginning of a job.

use super::place::Place;
use super::{Service, TRIES};
use crate::again::again;
use crate::agent::answer::{Begun, Failure, Granted};
use crate::agent::job::Terms;
use crate::agent::table::Table;
use crate::agent::wish::BeginRequest;
use crate::protect::keeper::InFlight;
use crate::sys::clock::Instant;
use crate::sys::env::secret_id;
use axum::http::StatusCode;
use lockstep::contract::{AcquireResponse, Grant, Granted as Permit, ReleaseOutcome};
use std::sync::Arc;

impl<T: Table> Service<T> {
    /// Takes the lock that `request` asks for, and protects the task.
    ///
    /// # Errors
    /// Why the job must not begin.
    pub(in crate::agent) async fn begin(
        self: &Arc<Self>,
        request: &BeginRequest,
    ) -> Result<Begun, Failure> {
        request.check()?;
        let place = Place::reserve(self)?;
        let times = request.times(self.lease, self.grace);
        let id = secret_id().map_err(|error| {
            let message = format!("no randomness for the job's id: {error}");
            Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "Agent.Internal", message)
        })?;
        let holder = self.site.holder_for(&request.name);
        let acquire = request.acquire(holder, times.seconds());
        let asked = again(&acquire.lock, TRIES, || self.locks.acquire(&acquire));
        let (permit, sent) = match asked.await? {
            (AcquireResponse::Granted(permit) | AcquireResponse::AlreadyHeld(permit), sent) => {
                (permit, sent)
            }
            (refused, _) => return Ok(Begun::Not(Box::new(refused))),
        };
        let in_flight = match self.protection.begin().await {
            Ok(in_flight) => in_flight,
            Err(refused) => {
                self.give_back(&permit.grant, ReleaseOutcome::Failed)
                    .await
                    .ok();
                let message = format!("the task is not protected (--protect=required): {refused}");
                let status = StatusCode::SERVICE_UNAVAILABLE;
                return Err(Failure::new(status, "Agent.NotProtected", message));
            }
        };
        let terms = Terms {
            name: request.name.clone(),
            grant: permit.grant.clone(),
            times,
            max_run: request.max_run(),
            no_progress: request.no_progress(),
        };
        let granted = self.note(&id, terms, permit, sent, in_flight, place);
        Ok(Begun::Granted(Box::new(granted)))
    }

    /// A job is under way from here on.
    fn note(
        &self,
        id: &str,
        terms: Terms,
        permit: Permit,
        sent: Instant,
        kept: InFlight,
        place: Place<T>,
    ) -> Granted {
        let Grant {
            lock,
            holder,
            token,
            ..
        } = &permit.grant;
        tracing::info!(job = terms.name, lock, holder, token, "the job begins");
        let pairs = permit.environment.into_iter();
        let environment = pairs.map(|pair| (pair.name, pair.value)).collect();
        let granted = {
            let mut book = self.book();
            let job = book.begun(id.to_owned(), terms, (sent, permit.expires_at), kept);
            place.taken();
            Granted::of(id, job, environment)
        };
        self.changed.send_replace(());
        granted
    }
}
