//! acquire-lock: take a permit, wait for one, or say who has it.

mod report;
mod resume;

use lockstep::clock::{Clock, within};
use lockstep::contract::{
    AcquireRequest, AcquireResponse, CheckedAcquire, Duplicate, GaveUp, Granted, Overlap, Queued,
    Skipped,
};
use lockstep::domain::{
    Effect, HolderId, Lease, LockKey, Outcome, Refusal, Run, TaskToken, Terms, Timestamp,
};
use lockstep::error::Error;
use lockstep::events::Events;
use lockstep::executions::Executions;
use lockstep::protocol::{Done, ProtocolError};
use lockstep::recovery::{Caretaker, Inspection};
use lockstep::store::LockStore;
use lockstep::tasks::Tasks;
use lockstep::telemetry::{MetricSink, Metrics};
use serde_json::Value;
use std::time::Duration;

/// Most holders that one call checks. The sweep checks the others.
const CHECKS_MAX: usize = 3;

/// How long the checks of one call may take: the function has ten seconds.
const CHECKS_TIME: Duration = Duration::from_secs(5);

/// How often another attempt at the same run is checked again while it is seen to run, and after
/// which pause. A caller that retries asks right after StopExecution, and DescribeExecution is
/// eventually consistent.
const RECHECKS: usize = 3;
const RECHECK_AFTER: Duration = Duration::from_secs(1);

/// What the handler works with, built once before the first event.
#[derive(Debug)]
pub struct Deps<S, C, E, T, V, K> {
    /// The protocol, and what is done about holders that may be dead.
    pub caretaker: Caretaker<S, C, E, T, V>,
    /// Where metrics go.
    pub metrics: Metrics<K>,
}

/// What the checks of holders came to.
#[derive(Default)]
struct Checked {
    /// Whose permit was freed.
    freed: Option<HolderId>,
    /// Whether the answer to the request may be another one now.
    changed: bool,
}

/// Answers one request. With a task token, the waiting state gets the answer too, unless that is
/// to go on waiting.
///
/// # Errors
/// `Lockstep.InvalidRequest`, `LockHeld`, `QueueFull`, `PermitsMismatch`, `LockPaused`,
/// `LockFrozen`, `Contended`, `Unavailable`, `Denied`, `Corrupt`; to a redriven execution `LeaseLost`.
pub async fn handle<S: LockStore, C: Clock, E: Executions, T: Tasks, V: Events, K: MetricSink>(
    deps: &Deps<S, C, E, T, V, K>,
    event: Value,
) -> Result<AcquireResponse, Error> {
    let follow = &deps.caretaker.follow;
    let mut request = AcquireRequest::read(event, follow.retention)?;
    if let Some(token) = &mut request.acquire.task_token {
        *token = follow.executions.seal(&request.lock, token).await?;
    }
    if let Some(renew) = &request.resume {
        return deps.resume(&request, renew).await;
    }
    let lock = &request.lock;
    let mut result = deps.execute(&request).await;
    let checked = deps.check_holders(&request, &result).await;
    // A waiting state that a recovery has let in is woken like any other.
    let is_queued = request.acquire.task_token.is_some() && result.is_ok();
    if checked.changed && !is_queued {
        result = deps.execute(&request).await;
    }
    let now = follow.protocol.clock().now();
    let response = match result {
        Ok(done) => {
            let (stop, rest) = split(done.effects);
            follow.perform(lock, rest).await;
            for (other, lease) in stop {
                deps.check(&request, &other, &lease).await;
            }
            held(&request, &follow.table, done.outcome, checked.freed)
        }
        Err(ProtocolError::Refused(refusal)) => {
            report::refusal(deps, &request, &refusal, now).await;
            refused(&request, refusal)?
        }
        Err(error) => return Err(Error::of_command(lock, error)),
    };
    if let Some(token) = &request.acquire.task_token {
        deps.answer_state(lock, token, &response).await?;
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

    /// Checks holders in the way that may be dead or ending, within [`CHECKS_TIME`].
    async fn check_holders(
        &self,
        request: &CheckedAcquire,
        result: &Result<Done, ProtocolError>,
    ) -> Checked {
        let mut checked = Checked::default();
        let checks = self.check_each(request, result, &mut checked);
        if within(self.clock(), CHECKS_TIME, checks).await.is_none() {
            tracing::warn!(lock = %request.lock, "the checks of holders took too long");
        }
        checked
    }

    async fn check_each(
        &self,
        request: &CheckedAcquire,
        result: &Result<Done, ProtocolError>,
        checked: &mut Checked,
    ) {
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
                self.in_flight(&request.lock, run, checked).await
            }
            _ => return,
        };
        let now = self.clock().now();
        let terms = &request.acquire.terms;
        let mut suspects: Vec<_> = holders
            .iter()
            .filter(|(holder, lease)| {
                *holder != terms.holder && is_worth_a_check(lease, terms, now)
            })
            .take(CHECKS_MAX)
            .collect();
        for check in 0..=RECHECKS {
            if check > 0 {
                self.clock().sleep(RECHECK_AFTER).await;
            }
            let mut running = Vec::new();
            for suspect @ (holder, lease) in suspects {
                match self.check(request, holder, lease).await {
                    Some(Inspection::Freed(_)) => {
                        checked.freed = Some(holder.clone());
                        checked.changed = true;
                        return;
                    }
                    Some(Inspection::Ending | Inspection::Unlisted) => {
                        checked.changed |= lease.ending.is_none()
                    }
                    Some(Inspection::Held | Inspection::Renewed)
                        if is_attempt_before(lease, terms) =>
                    {
                        running.push(suspect);
                    }
                    Some(Inspection::Held | Inspection::Renewed) | None => {}
                }
            }
            if checked.changed || running.is_empty() || !request.wait_for_ending {
                return;
            }
            suspects = running;
        }
    }

    /// The holder that has the run key now. The refusal has its name, and not its lease: that takes
    /// a read. A run that went on without its permit is settled here, if its work is over.
    async fn in_flight(
        &self,
        lock: &LockKey,
        run: &Run,
        checked: &mut Checked,
    ) -> Vec<(HolderId, Lease)> {
        let record = self.caretaker.follow.protocol.store().load(lock).await;
        let lease = match &record {
            Ok(Some(record)) => record.lease(&run.holder, run.token).cloned(),
            Ok(None) | Err(_) => None,
        };
        if let (None, Ok(_)) = (&lease, &record) {
            match self.caretaker.settle(lock, run).await {
                Ok(settled) => checked.changed |= settled,
                Err(error) => {
                    tracing::warn!(%lock, %error, "the end of a run was not recorded");
                }
            }
        }
        let holder = lease.map(|lease| (run.holder.clone(), lease));
        holder.into_iter().collect()
    }

    /// The answer to this request does not depend on it, so a failure is only logged.
    async fn check(
        &self,
        request: &CheckedAcquire,
        holder: &HolderId,
        lease: &Lease,
    ) -> Option<Inspection> {
        let lock = &request.lock;
        let checked = self.caretaker.check(lock, holder, lease, None).await;
        if let Err(error) = &checked {
            tracing::warn!(%lock, %holder, %error, "the holder was not checked");
        }
        checked.ok()
    }

    fn clock(&self) -> &C {
        self.caretaker.follow.protocol.clock()
    }

    /// A state that could not be ended waits in vain for its whole interval: better to fail, and to
    /// be tried again.
    async fn answer_state(
        &self,
        lock: &LockKey,
        token: &TaskToken,
        response: &AcquireResponse,
    ) -> Result<(), Error> {
        if matches!(response, AcquireResponse::Queued(_)) {
            return Ok(());
        }
        let executions = &self.caretaker.follow.executions;
        executions
            .end_state(lock, token, &response.to_json())
            .await?;
        Ok(())
    }
}

/// Whether a holder in the way may be dead: it is silent, its work is being stopped, or the caller
/// is a later attempt at the same run.
fn is_worth_a_check(lease: &Lease, terms: &Terms, now: Timestamp) -> bool {
    lease.is_overdue(now) || lease.ending.is_some() || is_attempt_before(lease, terms)
}

/// Whether the caller may be a later attempt at the run of `lease`.
fn is_attempt_before(lease: &Lease, terms: &Terms) -> bool {
    let same_parent = terms.parent.is_some() && terms.parent == lease.parent;
    let same_run = terms.run_key.is_some() && terms.run_key == lease.run_key;
    same_parent || same_run
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
