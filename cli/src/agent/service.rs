//! Begins, renews and ends jobs on the lock table.

use super::answer::{Beaten, Begun, Ended, Failure, Granted, View};
use super::book::{Beat, Book};
use super::job::{Ending, Phase, Terms};
use super::wish::BeginRequest;
use crate::locks::Locks;
use crate::protect::Protection;
use crate::protect::keeper::InFlight;
use crate::site::Site;
use crate::sys::clock::{Instant, reached, sleep};
use crate::sys::env::secret_id;
use axum::http::StatusCode;
use lockstep::contract::{
    AcquireRequest, AcquireResponse, ErrorName, Grant, Granted as Permit, HeartbeatResponse,
    ReleaseOutcome, ReleaseResponse,
};
use lockstep::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How often a table that gives no answer is asked, for one request of a program.
const TRIES: u32 = 3;
/// How many jobs are released at a time when all of them are.
const AT_ONCE: usize = 32;

/// Begins, renews and ends jobs.
#[derive(Debug)]
pub(super) struct Service {
    /// The lock table.
    pub(super) locks: Locks,
    /// Where this process runs.
    pub(super) site: Site,
    /// The protection of its task.
    pub(super) protection: Protection,
    /// Lease of a job that asks for none.
    pub(super) lease: Duration,
    /// What a job gets to stop.
    pub(super) grace: Duration,
    /// The jobs.
    pub(super) book: Mutex<Book<InFlight>>,
    /// Says that something became of a job.
    pub(super) changed: watch::Sender<()>,
}

impl Service {
    /// Takes the lock that `request` asks for, and protects the task.
    ///
    /// # Errors
    /// Why the job must not begin.
    pub(super) async fn begin(&self, request: &BeginRequest) -> Result<Begun, Failure> {
        request.check()?;
        self.book().reserve()?;
        let begun = self.begin_in_place(request).await;
        if !matches!(begun, Ok(Begun::Granted(_))) {
            self.book().not_begun();
        }
        self.changed.send_replace(());
        begun
    }

    async fn begin_in_place(&self, request: &BeginRequest) -> Result<Begun, Failure> {
        let times = request.times(self.lease, self.grace);
        let id = secret_id().map_err(|error| {
            let message = format!("no randomness for the job's id: {error}");
            Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "Agent.Internal", message)
        })?;
        let holder = self.site.holder_for(&request.name);
        let acquire = request.acquire(holder, times.seconds());
        let (permit, sent) = match self.acquire(&acquire).await? {
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
        Ok(self.note(&id, terms, permit, sent, in_flight))
    }

    /// A job is under way from here on.
    fn note(&self, id: &str, terms: Terms, permit: Permit, sent: Instant, kept: InFlight) -> Begun {
        let Grant {
            lock,
            holder,
            token,
            ..
        } = &permit.grant;
        tracing::info!(job = terms.name, lock, holder, token, "the job begins");
        let pairs = permit.environment.into_iter();
        let environment = pairs.map(|pair| (pair.name, pair.value)).collect();
        let mut book = self.book();
        let job = book.begun(id.to_owned(), terms, (sent, permit.expires_at), kept);
        Begun::Granted(Box::new(Granted::of(id, job, environment)))
    }

    /// Asks again where no answer came: the same holder gets the same grant.
    async fn acquire(&self, request: &AcquireRequest) -> Result<(AcquireResponse, Instant), Error> {
        let mut tries = 1;
        loop {
            match self.locks.acquire(request).await {
                Ok(answer) => return Ok(answer),
                Err(error) if error.name().is_retryable() && tries < TRIES => {
                    tracing::warn!(lock = request.lock, %error, "asking again");
                    tries += 1;
                    sleep(Duration::from_secs(1)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// A program says that its job is at work.
    ///
    /// # Errors
    /// Why the job must stop, or that the table gave no answer.
    pub(super) async fn beat(&self, id: &str, progress: Option<&str>) -> Result<Beaten, Failure> {
        self.tick();
        let beat = self.book().beat(id, progress, Instant::now());
        let (grant, progress) = match beat {
            Beat::Fresh(expires_at) => return Ok(Beaten { expires_at }),
            Beat::Renew(grant, progress) => (grant, progress),
            Beat::Over(phase) => return Err(Failure::over(&phase)),
            Beat::Unknown => return Err(Failure::no_such_job()),
        };
        let sent = Instant::now();
        match self.locks.renew(&grant, progress.clone()).await {
            Ok(HeartbeatResponse::Renewed { expires_at, .. }) => {
                let mut book = self.book();
                match book.renewed(id, (sent, expires_at.clone()), progress) {
                    Some(Phase::Open) => Ok(Beaten { expires_at }),
                    Some(over) => Err(Failure::over(over)),
                    None => Err(Failure::no_such_job()),
                }
            }
            Ok(HeartbeatResponse::Ended) => {
                Err(self.lost(id, &grant, "its run has been released by somebody else"))
            }
            Err(error) if error.name() == ErrorName::LeaseLost => {
                Err(self.lost(id, &grant, error.message()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn lost(&self, id: &str, grant: &Grant, why: &str) -> Failure {
        tracing::warn!(
            lock = grant.lock,
            holder = grant.holder,
            "the job has lost its lease: {why}"
        );
        let mut book = self.book();
        book.lost(id, why);
        let failure = book
            .look(id)
            .map_or_else(Failure::no_such_job, |job| Failure::over(&job.phase));
        drop(book);
        self.changed.send_replace(());
        failure
    }

    /// A program says that its job is over. The first end stays.
    ///
    /// # Errors
    /// That there is no such job, or that the table gave no answer.
    pub(super) async fn end(&self, id: &str, outcome: ReleaseOutcome) -> Result<Ended, Failure> {
        let job = self
            .book()
            .look(id)
            .map(|job| (job.terms.grant.clone(), job.phase.clone()));
        let grant = match job {
            Some((_, Phase::Ended(ending))) => return Ok((&ending).into()),
            Some((grant, _)) => grant,
            None => return Err(Failure::no_such_job()),
        };
        let held_seconds = self.give_back(&grant, outcome).await?;
        let Grant { lock, holder, .. } = &grant;
        tracing::info!(lock, holder, ?outcome, held_seconds, "the job has ended");
        let ending = self.book().ended(
            id,
            Ending {
                outcome,
                held_seconds,
            },
        );
        self.changed.send_replace(());
        ending
            .as_ref()
            .map(Ended::from)
            .ok_or_else(Failure::no_such_job)
    }

    /// Gives a permit back, and says how long it was held; nothing if it was no longer ours.
    async fn give_back(
        &self,
        grant: &Grant,
        outcome: ReleaseOutcome,
    ) -> Result<Option<f64>, Error> {
        let mut tries = 1;
        loop {
            match self.locks.release(grant, outcome).await {
                Ok(ReleaseResponse::Released { held_seconds, .. }) => {
                    return Ok(Some(held_seconds));
                }
                Ok(ReleaseResponse::Lost { .. }) => return Ok(None),
                Err(error) if error.name().is_retryable() && tries < TRIES => {
                    tracing::warn!(lock = grant.lock, %error, "the lock was not released; trying again");
                    tries += 1;
                    sleep(Duration::from_secs(1)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// A job as it stands, or as it stands when it is lost or has ended, if that comes within
    /// `most`.
    ///
    /// # Errors
    /// That there is no such job.
    pub(super) async fn look(&self, id: &str, most: Duration) -> Result<View, Failure> {
        let end = Instant::now() + most;
        let mut changed = self.changed.subscribe();
        loop {
            let (view, is_open) = {
                let book = self.book();
                let job = book.look(id).ok_or_else(Failure::no_such_job)?;
                (View::of(Some(id), job), job.phase == Phase::Open)
            };
            if !is_open || end.left().is_zero() {
                return Ok(view);
            }
            tokio::select! {
                _ = changed.changed() => {}
                () = end.reached() => {}
            }
        }
    }

    /// The jobs that are not over, without their ids.
    pub(super) fn list(&self) -> Vec<View> {
        let book = self.book();
        let jobs = book.unfinished();
        jobs.into_iter()
            .map(|(_, job)| View::of(None, job))
            .collect()
    }

    /// Sees to it that what becomes of jobs by themselves becomes of them in time.
    pub(super) async fn keep(&self) {
        let mut changed = self.changed.subscribe();
        loop {
            self.tick();
            let next = self.book().next();
            tokio::select! {
                () = reached(next) => {}
                _ = changed.changed() => {}
            }
        }
    }

    fn tick(&self) {
        let (lost, closed) = {
            let mut book = self.book();
            let open = book.open();
            (book.tick(Instant::now()), book.open() < open)
        };
        for (Grant { lock, holder, .. }, why) in &lost {
            tracing::warn!(lock, holder, "the job has to stop: {why}");
        }
        if closed || !lost.is_empty() {
            self.changed.send_replace(());
        }
    }

    /// Begins no job any more, and waits until those that were beginning have begun.
    pub(super) async fn stop(&self) {
        let mut changed = self.changed.subscribe();
        self.book().stop();
        while !self.book().is_settled() {
            changed.changed().await.ok();
        }
    }

    /// Waits until no job is open.
    pub(super) async fn empty(&self) {
        let mut changed = self.changed.subscribe();
        while self.book().open() > 0 {
            changed.changed().await.ok();
        }
    }

    /// Ends all jobs as failed: their program is dead.
    pub(super) async fn end_all(self: &Arc<Self>) {
        let ids: Vec<_> = {
            let book = self.book();
            let jobs = book.unfinished().into_iter();
            jobs.map(|(id, _)| id.to_owned()).collect()
        };
        for some in ids.chunks(AT_ONCE) {
            let mut ends = JoinSet::new();
            for id in some {
                let (own, id) = (Arc::clone(self), id.clone());
                ends.spawn(async move {
                    if let Err(failure) = own.end(&id, ReleaseOutcome::Failed).await {
                        tracing::error!(
                            ?failure,
                            "a lock is not released: its lease has to run out"
                        );
                    }
                });
            }
            ends.join_all().await;
        }
    }

    /// The book, never held over an await.
    pub(super) fn book(&self) -> MutexGuard<'_, Book<InFlight>> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
