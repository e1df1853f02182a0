//! acquire-lock: acquires a permit, takes a place in the queue, or returns the current holder.
//!
//! ```text
//!  execute ─▶ granted, held already, duplicate of a success ─▶ answer
//!     │
//!     └─▶ held, queued, queue full, another capacity, duplicate of a run under way
//!             └─▶ check the holders in the way ─▶ one was freed, or is ending now: execute again
//! ```
//!
//! A free lock is one request. Holders are checked only where they are in the way, and only those
//! that are silent for longer than a heartbeat or a minute, that are over a limit, that are ending, or that are an
//! earlier attempt of the caller's own run. A holder whose last heartbeat is less than a minute old costs its
//! callers no call of AWS.
//!
//! All calls are safe to repeat. A repeated call finds the grant, the place in the queue, or the
//! same refusal.

mod answer;
mod report;
mod resume;

use self::answer::{held, refused};
use super::recover::Settled;
use super::waiters::Waiters;
use super::{DECISION_END, Deps, EFFECTS_END, Ports};
use crate::clock::{CallTime, Clock, within};
use crate::contract::{AcquireRequest, AcquireResponse, CheckedAcquire};
use crate::error::Error;
use crate::executions::Executions;
use lockstep_core::domain::{
    Effect, HolderId, Lease, Outcome, Refusal, Run, TaskToken, Terms, Timestamp, WhenPaused,
};
use lockstep_core::protocol::{Done, ProtocolError};
use lockstep_core::recovery::Inspection;
use lockstep_core::store::LockStore;
use serde_json::Value;
use std::time::Duration;

/// Most holders, and most waiters that keep a run out of the queue, that one call checks. The others are left to the sweep.
const CHECKS_MAX: usize = 3;

/// The end of the checks, counted from the start of the call. It leaves time to decide again.
const CHECKS_END: Duration = Duration::from_secs(5);

/// The end of the decision that is made again after checks that waited, counted from the start of the call.
const AGAIN_END: Duration = Duration::from_millis(5800);

/// Longest time for the call that ends the waiting state.
const STATE_TIME: Duration = Duration::from_secs(1);

/// How often an earlier attempt at the same run is checked again while its execution runs, and the
/// pause before each check. A caller retries right after StopExecution, and DescribeExecution is
/// eventually consistent.
const RECHECKS: usize = 3;
const RECHECK_AFTER: Duration = Duration::from_secs(1);

/// The result of checking the holders in the way.
///
/// It is filled while the checks go on, so that those that were made count even if the time is
/// over.
#[derive(Default)]
struct Checked {
    /// The holder whose permit was freed.
    freed: Option<HolderId>,
    /// Whether the response to the request may have changed.
    changed: bool,
    /// Whether the checks took their time, for an attempt to end or for an answer. Holders may have released meanwhile.
    waited: bool,
    /// An earlier attempt at the same run of which it is not known whether it has ended.
    unsettled: Option<HolderId>,
}

/// Checks the JSON `event` and handles it.
///
/// # Errors
/// As [`run`], and `Lockstep.InvalidRequest`.
pub async fn handle<P: Ports>(deps: &Deps<P>, event: Value) -> Result<AcquireResponse, Error> {
    run(deps, AcquireRequest::read(event, deps.retention)?).await
}

/// Handles one request. With a task token, the waiting state ends with the response, unless that is
/// `queued`.
///
/// # Errors
/// `Lockstep.LockHeld`, `QueueFull`, `PermitsMismatch`, `LockPaused`,
/// `LockFrozen`, `Contended`, `Unavailable`, `Denied`, `Corrupt`; to a redriven execution `LeaseLost`.
pub async fn run<P: Ports>(
    deps: &Deps<P>,
    mut request: CheckedAcquire,
) -> Result<AcquireResponse, Error> {
    let time = CallTime::start(deps.clock());
    if let Some(token) = &mut request.acquire.task_token {
        let sealed = deps.executions.seal(&request.lock, token);
        // Before anything is written: a container reads the record.
        *token = time.until(DECISION_END, sealed).await??;
    }
    let lock = &request.lock;
    if let Some(renew) = &request.resume {
        let resumed = resume::run(deps, lock, renew);
        return time.until(EFFECTS_END, resumed).await?;
    }
    let call = Call {
        deps,
        request: &request,
        time,
    };
    let (result, checked) = call.time.until(DECISION_END, call.decide()).await?;
    // Step Functions retries this name; by then the description shows what has become of the
    // attempt.
    if let (Err(ProtocolError::Refused(_)), Some(holder)) = (&result, checked.unsettled) {
        // A skip, or a duplicate, would end a caller's retry without a run.
        return Err(Error::in_doubt(lock, &holder));
    }
    let now = deps.now();
    let response = match result {
        Ok(done) => {
            call.perform(done.effects).await;
            held(&request, &deps.table, done.outcome, checked.freed)
        }
        Err(ProtocolError::Refused(refusal)) => {
            report::refusal(deps, &request, &refusal, now).await;
            refused(&request, refusal)?
        }
        Err(error) => return Err(Error::of_command(lock, error)),
    };
    if let Some(token) = &request.acquire.task_token {
        call.end_waiting_state(token, &response).await?;
    }
    report::response(deps, &request, &response, now).await;
    Ok(response)
}

/// One call of acquire-lock.
struct Call<'a, P: Ports> {
    deps: &'a Deps<P>,
    request: &'a CheckedAcquire,
    time: CallTime<'a, P::Clock>,
}

impl<P: Ports> Call<'_, P> {
    /// The decision on the request, after a check of the holders in the way.
    async fn decide(&self) -> (Result<Done, ProtocolError>, Checked) {
        let mut result = self.execute().await;
        let mut checked = self.check_holders(&result).await;
        // A waiting state that a recovery has granted a permit is woken like any other.
        let is_queued = self.request.acquire.task_token.is_some() && result.is_ok();
        if checked.changed && !is_queued {
            result = self.execute().await;
            checked.waited = false;
            // A run that lost its permit under `yield` by this check keeps its key until its end is known.
            if run_in_flight(&result).is_some() {
                let of_run = self.check_holders(&result).await;
                checked.unsettled = of_run.unsettled;
                if of_run.changed {
                    result = self.execute().await;
                } else {
                    checked.waited = of_run.waited;
                }
            }
        }
        if checked.waited && !is_queued {
            // Without an answer in time the first one stands.
            let again = self.time.until(AGAIN_END, self.execute()).await;
            result = again.unwrap_or(result);
        }
        (result, checked)
    }

    async fn execute(&self) -> Result<Done, ProtocolError> {
        let Self { deps, request, .. } = self;
        let command = request.command();
        deps.protocol.execute(&request.lock, &command).await
    }

    /// Checks holders in the way that may be dead or ending, until [`CHECKS_END`].
    async fn check_holders(&self, result: &Result<Done, ProtocolError>) -> Checked {
        let mut checked = Checked::default();
        let checks = async {
            self.check_each(result, &mut checked).await;
            if !checked.changed && self.is_kept_out(result) {
                checked.changed = self.drop_dead_waiters().await;
            }
        };
        // The refusal stands, and the sweep goes on with the holders. The caller asks again.
        if self.time.until(CHECKS_END, checks).await.is_err() {
            let lock = &self.request.lock;
            tracing::warn!(event = "checks_timed_out", %lock, "the checks of the holders timed out");
            checked.waited = true;
        }
        checked
    }

    /// Whether the run has no place because others wait: the queue is full, or one waits for the resume already.
    fn is_kept_out(&self, result: &Result<Done, ProtocolError>) -> bool {
        let catches_up = self.request.acquire.when_paused == WhenPaused::CatchUp;
        match result {
            Err(ProtocolError::Refused(Refusal::QueueFull { .. })) => true,
            Err(ProtocolError::Refused(Refusal::Paused { .. })) => catches_up,
            _ => false,
        }
    }

    /// Removes waiters whose execution has ended. The event that would have removed them may be lost.
    async fn drop_dead_waiters(&self) -> bool {
        let (deps, lock) = (self.deps, &self.request.lock);
        let dropped = Waiters { deps, lock }.drop_dead(CHECKS_MAX).await;
        if let Err(error) = &dropped {
            tracing::warn!(event = "check_failed", %lock, %error, "the waiters were not checked");
        }
        dropped.unwrap_or(false)
    }

    async fn check_each(&self, result: &Result<Done, ProtocolError>, checked: &mut Checked) {
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
            // A success needs no check: its key stays taken whatever has become of the holder.
            _ => match run_in_flight(result) {
                Some(run) => self.in_flight(run, checked).await,
                None => return,
            },
        };
        if holders.is_empty() {
            return;
        }
        let now = self.deps.now();
        let terms = &self.request.acquire.terms;
        let mut suspects: Vec<_> = holders
            .iter()
            .filter(|(holder, lease)| is_worth_a_check(holder, lease, terms, now))
            // A semaphore may have a hundred dead holders. One freed permit is enough for this
            // caller.
            .take(CHECKS_MAX)
            .collect();
        // Only a caller with `waitForEnding` retries such an error; to any other the refusal
        // stands.
        let retried = |lease| self.request.wait_for_ending && terms.may_repeat(lease);
        let before = suspects.iter().find(|(_, lease)| retried(lease));
        checked.unsettled = before.map(|(holder, _)| holder.clone());
        // The event of the end of an attempt, and its description, come some moments after a
        // caller's retry. Without these checks the retry would be skipped by its own predecessor,
        // and end without a run.
        for check in 0..=RECHECKS {
            if check > 0 {
                self.deps.clock().sleep(RECHECK_AFTER).await;
                checked.waited = true;
            }
            let (mut running, mut doubted) = (Vec::new(), None);
            for suspect @ (holder, lease) in suspects {
                match self.check(holder, lease).await {
                    // One is enough: the request is executed again, and the others are the sweep's.
                    Some(Inspection::Freed(_)) => {
                        checked.freed = Some(holder.clone());
                        (checked.changed, checked.unsettled) = (true, None);
                        return;
                    }
                    Some(Inspection::Ending | Inspection::Unlisted | Inspection::Settling) => {
                        checked.changed |= lease.exit.ending.is_none()
                    }
                    Some(Inspection::Renewed) | None if retried(lease) => {
                        doubted = Some(holder.clone());
                        running.push(suspect);
                    }
                    Some(Inspection::Held) if retried(lease) => running.push(suspect),
                    Some(Inspection::Held | Inspection::Renewed) | None => {}
                }
            }
            checked.unsettled = doubted;
            if checked.changed || running.is_empty() {
                return;
            }
            suspects = running;
        }
    }

    /// The current holder of the run key. The refusal has its name without its lease, which takes a
    /// read. If the run lost its permit and its work has ended, its end is recorded.
    async fn in_flight(&self, run: &Run, checked: &mut Checked) -> Vec<(HolderId, Lease)> {
        let lock = &self.request.lock;
        let record = self.deps.store().load(lock).await;
        let lease = match &record {
            Ok(Some(record)) => record.lease(&run.holder, run.token).cloned(),
            Ok(None) | Err(_) => None,
        };
        // The record is read and has no such lease, so the run goes on without its permit, or its
        // end was never recorded. A record that could not be read shows neither.
        if let (None, Ok(_)) = (&lease, &record) {
            match self.deps.recovery().settle(lock, run).await {
                Ok(Settled::Recorded) => checked.changed = true,
                // Its key may be free in a moment: a duplicate would end a caller's retry without a run.
                Ok(Settled::Ending) if self.request.wait_for_ending => {
                    checked.unsettled = Some(run.holder.clone());
                }
                Ok(Settled::Ending | Settled::Not) => {}
                Err(error) => {
                    tracing::warn!(event = "run_end_not_recorded", %lock, %error, "the end of the run was not recorded");
                }
            }
        }
        let holder = lease.map(|lease| (run.holder.clone(), lease));
        holder.into_iter().collect()
    }

    /// Checks one holder. The response does not depend on it, so a failure is only logged.
    async fn check(&self, holder: &HolderId, lease: &Lease) -> Option<Inspection> {
        let lock = &self.request.lock;
        let checked = self.deps.recovery().check(lock, holder, lease, None).await;
        if let Err(error) = &checked {
            tracing::warn!(event = "check_failed", %lock, %holder, %error, "the holder was not checked");
        }
        checked.ok()
    }

    /// Performs the effects of the decision, until [`EFFECTS_END`]. The sweep does what is left.
    async fn perform(&self, effects: Vec<Effect>) {
        let lock = &self.request.lock;
        // Stops last: each takes evidence, a commit and calls of AWS, and must not delay a wake-up.
        let (stop, rest) = split(effects);
        let effects = async {
            // An acquire ends no heartbeat state of its own.
            let _ = self.deps.effects().perform(lock, rest).await;
            for (other, lease) in stop {
                self.check(&other, &lease).await;
            }
        };
        self.deps.finish_in_call(&self.time, lock, effects).await;
    }

    /// Ends the waiting state with `response`. Otherwise the state would wait for its whole interval, so
    /// a failure fails the call, and Step Functions retries.
    ///
    /// A state that has ended already is no failure: its next attempt registers with a new task
    /// token, and finds the same answer.
    async fn end_waiting_state(
        &self,
        token: &TaskToken,
        response: &AcquireResponse,
    ) -> Result<(), Error> {
        if !matches!(response, AcquireResponse::Queued(_)) {
            let (deps, output) = (self.deps, response.to_json());
            let ended = deps
                .executions
                .end_state(&self.request.lock, token, &output);
            within(deps.clock(), STATE_TIME, ended).await??;
        }
        Ok(())
    }
}

/// Whether a holder in the way may be dead: it is silent or over a limit, its work is being stopped, or the caller
/// is a later attempt at the same run. The caller itself may be in its own way with a grant that is ending.
fn is_worth_a_check(holder: &HolderId, lease: &Lease, terms: &Terms, now: Timestamp) -> bool {
    let of_another = *holder != terms.holder;
    let is_late = lease.is_overdue(now) || lease.is_stopped_for(now).is_some();
    lease.exit.ending.is_some() || of_another && (is_late || terms.may_repeat(lease))
}

/// The run under way that has the run key of the request.
fn run_in_flight(result: &Result<Done, ProtocolError>) -> Option<&Run> {
    match result {
        Err(ProtocolError::Refused(Refusal::Duplicate { run, .. })) => {
            Some(&**run).filter(|run| run.end.is_none())
        }
        _ => None,
    }
}

/// The holders to be stopped, which take evidence first, and the effects that need none.
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
