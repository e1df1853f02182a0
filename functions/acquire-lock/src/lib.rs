//! acquire-lock: take a permit, wait for one, or say who has it.

mod report;

use lockstep::clock::Clock;
use lockstep::contract::{
    AcquireRequest, AcquireResponse, CheckedAcquire, Duplicate, GaveUp, Granted, Overlap, Queued,
    Skipped,
};
use lockstep::domain::{Effect, HolderId, Lease, LockKey, Outcome, Refusal, Run, TaskToken};
use lockstep::error::Error;
use lockstep::events::Events;
use lockstep::executions::Executions;
use lockstep::protocol::{Done, ProtocolError};
use lockstep::recovery::{Caretaker, Looked};
use lockstep::store::LockStore;
use lockstep::tasks::Tasks;
use lockstep::telemetry::{MetricSink, Metrics};
use serde_json::Value;

/// Most overdue holders that one call looks after. The sweep sees to the others.
const LOOKS_MAX: usize = 3;

/// What the handler works with, built once before the first event.
#[derive(Debug)]
pub struct Deps<S, C, E, T, V, K> {
    /// The protocol, and what is done about holders that are overdue.
    pub caretaker: Caretaker<S, C, E, T, V>,
    /// Where metrics go.
    pub metrics: Metrics<K>,
}

/// Answers one request. With a task token, the waiting state gets the answer too, unless that is
/// to go on waiting.
///
/// # Errors
/// `Lockstep.InvalidRequest`, `LockHeld`, `QueueFull`, `PermitsMismatch`, `LockPaused`,
/// `LockFrozen`, `Contended`, `Unavailable`, `Denied`, `Corrupt`.
pub async fn handle<S: LockStore, C: Clock, E: Executions, T: Tasks, V: Events, K: MetricSink>(
    deps: &Deps<S, C, E, T, V, K>,
    event: Value,
) -> Result<AcquireResponse, Error> {
    let follow = &deps.caretaker.follow;
    let request = AcquireRequest::read(event, follow.retention)?;
    let lock = &request.lock;
    let mut result = deps.execute(&request).await;
    let freed = deps.look_after(&request, &result).await?;
    // A waiting state that a recovery has let in is woken like any other.
    let is_queued = request.acquire.task_token.is_some() && result.is_ok();
    if freed.is_some() && !is_queued {
        result = deps.execute(&request).await;
    }
    let now = follow.protocol.clock().now();
    let response = match result {
        Ok(done) => {
            let (stop, rest) = split(done.effects);
            follow.perform(lock, rest).await;
            for (other, lease) in stop {
                deps.look(&request, &other, &lease).await?;
            }
            held(&request, &follow.table, done.outcome, freed)
        }
        Err(ProtocolError::Refused(refusal)) => {
            report::refusal(deps, &request, &refusal, now).await;
            refused(&request, refusal)?
        }
        Err(error) => return Err(Error::of_command(lock, error)),
    };
    if let Some(token) = &request.acquire.task_token {
        deps.answer_state(token, &response).await?;
    }
    report::response(deps, &request, &response, now).await;
    Ok(response)
}

impl<S: LockStore, C: Clock, E: Executions, T: Tasks, V: Events, K: MetricSink>
    Deps<S, C, E, T, V, K>
{
    async fn execute(&self, request: &CheckedAcquire) -> Result<Done, ProtocolError> {
        let protocol = &self.caretaker.follow.protocol;
        protocol.execute(&request.lock, &request.command()).await
    }

    /// Looks whether holders in the way that are overdue are dead. Says whose permit it freed.
    async fn look_after(
        &self,
        request: &CheckedAcquire,
        result: &Result<Done, ProtocolError>,
    ) -> Result<Option<HolderId>, Error> {
        let holders = match result {
            Ok(Done {
                outcome: Outcome::Queued { holders, .. },
                ..
            })
            | Err(ProtocolError::Refused(
                Refusal::Held { holders, .. }
                | Refusal::QueueFull { holders, .. }
                | Refusal::PermitsMismatch { holders, .. },
            )) => holders.clone(),
            Err(ProtocolError::Refused(Refusal::Duplicate { run, .. })) if run.end.is_none() => {
                self.in_flight(&request.lock, run).await?
            }
            _ => return Ok(None),
        };
        let now = self.caretaker.follow.protocol.clock().now();
        let overdue = holders.iter().filter(|(_, lease)| lease.is_overdue(now));
        for (holder, lease) in overdue.take(LOOKS_MAX) {
            if self.look(request, holder, lease).await? {
                return Ok(Some(holder.clone()));
            }
        }
        Ok(None)
    }

    /// The holder that has the run key now. The refusal tells who it is, and not how its lease
    /// stands: that takes a read.
    async fn in_flight(&self, lock: &LockKey, run: &Run) -> Result<Vec<(HolderId, Lease)>, Error> {
        let record = self.caretaker.follow.protocol.store().load(lock).await?;
        let lease = record.and_then(|record| record.lease(&run.holder, run.token).cloned());
        let holder = lease.map(|lease| (run.holder.clone(), lease));
        Ok(holder.into_iter().collect())
    }

    async fn look(
        &self,
        request: &CheckedAcquire,
        holder: &HolderId,
        lease: &Lease,
    ) -> Result<bool, Error> {
        let looked = self.caretaker.look_after(&request.lock, holder, lease);
        let looked = looked.await;
        let looked = looked.map_err(|error| Error::of_command(&request.lock, error))?;
        Ok(matches!(looked, Looked::Freed(_)))
    }

    /// A state that could not be ended waits in vain for its whole interval: better to fail, and to
    /// be tried again.
    async fn answer_state(
        &self,
        token: &TaskToken,
        response: &AcquireResponse,
    ) -> Result<(), Error> {
        if matches!(response, AcquireResponse::Queued(_)) {
            return Ok(());
        }
        let executions = &self.caretaker.follow.executions;
        executions.end_state(token, &response.to_json()).await?;
        Ok(())
    }
}

fn split(effects: Vec<Effect>) -> (Vec<(HolderId, Lease)>, Vec<Effect>) {
    let mut stop = Vec::new();
    let mut rest = Vec::new();
    for effect in effects {
        match effect {
            Effect::Stop(holder, lease) => stop.push((holder, lease)),
            other => rest.push(other),
        }
    }
    (stop, rest)
}

/// The answer to a caller that holds a permit or a place.
fn held(
    request: &CheckedAcquire,
    table: &str,
    outcome: Outcome,
    freed: Option<HolderId>,
) -> AcquireResponse {
    let (lock, holder) = (&request.lock, &request.acquire.terms.holder);
    match outcome {
        Outcome::Granted { lease } => AcquireResponse::Granted(Granted {
            taken_from: freed.map(|holder| holder.to_string()),
            ..Granted::of(lock, holder, &lease, table)
        }),
        Outcome::AlreadyHeld { lease } => {
            AcquireResponse::AlreadyHeld(Granted::of(lock, holder, &lease, table))
        }
        Outcome::Queued {
            position,
            length,
            holders,
        } => AcquireResponse::Queued(Queued::of(lock, position, length, &holders)),
        Outcome::GaveUp { waiting, holders } => {
            AcquireResponse::GaveUp(GaveUp::of(lock, waiting, &holders))
        }
        other => unreachable!("an acquire never comes to {other:?}"),
    }
}

/// The answer to a caller that gets no permit: data where the request asked for data.
fn refused(request: &CheckedAcquire, refusal: Refusal) -> Result<AcquireResponse, Error> {
    let lock = &request.lock;
    match (refusal, request.overlap) {
        (Refusal::Duplicate { run_key, run }, _) => Ok(AcquireResponse::Duplicate(Duplicate::of(
            lock, &run_key, &run,
        ))),
        (
            Refusal::Held {
                holders, waiting, ..
            },
            Overlap::Skip,
        ) => Ok(AcquireResponse::Skipped(Skipped::full(
            lock, waiting, &holders,
        ))),
        (Refusal::TooSoon { not_before }, Overlap::Skip) => {
            Ok(AcquireResponse::Skipped(Skipped::resting(lock, not_before)))
        }
        (refusal, _) => Err(Error::of_refusal(lock, refusal)),
    }
}
