//! acquire-lock: acquires a permit, takes a place in the queue, or returns the current holder.
//!
//! ```text
//!  execute ─▶ granted, held already, duplicate of a success ─▶ answer
//!     │
//!     └─▶ held, queued, queue full, another capacity, duplicate of a run under way
//!             └─▶ check the holders in the way ─▶ one was freed, or is ending now: execute again
//! ```
//!
//! An acquire of a free lock is one request. A holder is checked only if it is in the way, and only if one of
//! these is true:
//!
//! - its heartbeat is late, or its last heartbeat is older than a minute;
//! - it exceeds a limit of its run;
//! - it is ending;
//! - it may be an earlier attempt at the caller's own run.
//!
//! Any other holder costs its callers no request to Step Functions or ECS.
//!
//! A call is safe to repeat: it finds the grant, the place in the queue, or the same refusal.

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

/// Largest number of holders that one call checks, and of waiters if they keep the run out of the queue. The
/// sweep checks the other holders.
const CHECKS_MAX: usize = 3;

/// The end of the checks, counted from the start of the call. The second decision takes the time that
/// remains.
const CHECKS_END: Duration = Duration::from_secs(5);

/// The end of the decision that is repeated after checks that waited, counted from the start of the call.
const SECOND_DECISION_END: Duration = Duration::from_millis(5800);

/// Longest time for the SendTaskSuccess that ends the waiting state.
const STATE_TIME: Duration = Duration::from_secs(1);

/// How often an earlier attempt at the same run is checked again while its execution runs, and the pause
/// before each check. A caller may retry right after StopExecution, when DescribeExecution, which is
/// eventually consistent, still shows its earlier attempt as running.
const RECHECKS: usize = 3;
const RECHECK_AFTER: Duration = Duration::from_secs(1);

/// The result of the checks of the holders in the way.
///
/// Each check adds to it at once, so that the finished checks count even if a later one times out.
#[derive(Default)]
struct Checked {
    /// The holder whose permit was freed.
    freed: Option<HolderId>,
    /// Whether the response to the request may have changed.
    changed: bool,
    /// Whether the checks waited for an attempt to end, or timed out. Holders may have released their permits
    /// meanwhile.
    waited: bool,
    /// An earlier attempt at the same run that may or may not have ended.
    unsettled: Option<HolderId>,
}

/// Checks the JSON `event` and handles it.
///
/// # Errors
/// As [`run`], and `Lockstep.InvalidRequest`.
pub async fn handle<P: Ports>(deps: &Deps<P>, event: Value) -> Result<AcquireResponse, Error> {
    run(deps, AcquireRequest::read(event, deps.retention)?).await
}

/// Handles one request. If the request has a task token, the waiting state ends with the response, unless the
/// response is `queued`.
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
        // The token is sealed before anything is written, because containers may read the record.
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
    // Step Functions retries this error. By then DescribeExecution shows whether the earlier attempt has
    // ended.
    if let (Err(ProtocolError::Refused(_)), Some(holder)) = (&result, checked.unsettled) {
        // The answer `skipped` or `duplicate` would end a caller's retry without a run.
        return Err(Error::earlier_attempt_in_doubt(lock, &holder));
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
    /// Decides on the request, checks the holders in the way, and decides again if a check changed something.
    async fn decide(&self) -> (Result<Done, ProtocolError>, Checked) {
        let mut result = self.execute().await;
        let mut checked = self.check_holders(&result).await;
        // A caller that is in the queue needs no second decision: a hand-over to it ends its waiting state.
        if self.request.acquire.task_token.is_some() && result.is_ok() {
            return (result, checked);
        }
        if !(checked.changed || checked.waited) {
            return (result, checked);
        }
        result = self.decide_again(&checked, result).await;
        // A run that lost its permit under `yield` during these checks keeps its run key until its end is
        // known.
        if let Some(run) = run_in_flight(&result).cloned() {
            let mut of_run = Checked::default();
            self.settle(&run, 0, &mut of_run).await;
            result = self.decide_again(&of_run, result).await;
            checked.unsettled = of_run.unsettled.or(checked.unsettled);
        }
        (result, checked)
    }

    /// Returns the decision after the checks; `before` is the one that they were made for.
    async fn decide_again(
        &self,
        checked: &Checked,
        before: Result<Done, ProtocolError>,
    ) -> Result<Done, ProtocolError> {
        match (checked.changed, checked.waited) {
            (true, _) => self.execute().await,
            (false, true) => {
                let again = self.time.until(SECOND_DECISION_END, self.execute());
                again.await.unwrap_or(before)
            }
            (false, false) => before,
        }
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
            if !checked.changed && self.is_kept_out_of_queue(result) {
                checked.changed = self.drop_dead_waiters().await;
            }
        };
        // The sweep checks the other holders. The decision is repeated, because holders may have released
        // meanwhile.
        if self.time.until(CHECKS_END, checks).await.is_err() {
            let lock = &self.request.lock;
            tracing::warn!(event = "checks_timed_out", %lock, "the checks of the holders timed out; the sweep repeats them");
            checked.waited = true;
        }
        checked
    }

    /// Returns whether other waiters keep the run out of the queue: the queue is full, or under `catchUp`
    /// `once` a run already waits for the resume.
    fn is_kept_out_of_queue(&self, result: &Result<Done, ProtocolError>) -> bool {
        let catches_up = self.request.acquire.when_paused == WhenPaused::CatchUp;
        match result {
            Err(ProtocolError::Refused(Refusal::QueueFull { .. })) => true,
            Err(ProtocolError::Refused(Refusal::Paused { .. })) => catches_up,
            _ => false,
        }
    }

    /// Removes waiters whose execution has ended, because the event that removes them may be lost. Returns
    /// whether it has removed one.
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
            // A duplicate of a success needs no check: the run key stays taken, whatever became of the
            // holder.
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
            .collect();
        // Only a caller with `waitForEnding` retries the error of an unsettled attempt. For any other caller
        // the refusal stands.
        let retried = |lease: &Lease| self.request.wait_for_ending && terms.may_be_retry_of(lease);
        // A semaphore may have a hundred dead holders. One freed permit is enough for this caller, but the
        // earlier attempt at its own run is always checked.
        suspects.sort_by_key(|(_, lease)| !retried(lease));
        suspects.truncate(CHECKS_MAX);
        let before = suspects.iter().find(|(_, lease)| retried(lease));
        checked.unsettled = before.map(|(holder, _)| holder.clone());
        // The event of the end of an attempt, and its description, may come some moments after the caller's
        // retry. Without the repeated checks the earlier attempt would cause the retry to be skipped, and no
        // run would follow.
        for check in 0..=RECHECKS {
            if check > 0 {
                self.deps.clock().sleep(RECHECK_AFTER).await;
                checked.waited = true;
            }
            let mut running: Vec<&(HolderId, Lease)> = Vec::new();
            let mut doubted = None;
            for suspect @ (holder, lease) in suspects {
                match self.check(holder, lease).await {
                    // One freed permit is enough: the request is executed again, and the sweep checks the
                    // others.
                    Some(Inspection::Freed(_)) => {
                        checked.freed = Some(holder.clone());
                        checked.changed = true;
                        // The permit may go to a waiter, and the earlier attempt, which was checked first,
                        // may still have ended.
                        checked.unsettled = running.first().map(|(holder, _)| holder.clone());
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

    /// Returns the holder of the run key with its lease, which the refusal does not have and which takes a
    /// read.
    ///
    /// If the run has lost its permit and its work has ended, records that end.
    async fn in_flight(&self, run: &Run, checked: &mut Checked) -> Vec<(HolderId, Lease)> {
        let lock = &self.request.lock;
        let record = self.deps.store().load(lock).await;
        let lease = match &record {
            Ok(Some(record)) => record.lease(&run.holder, run.token).cloned(),
            Ok(None) | Err(_) => None,
        };
        // The record was read and has no such lease, so the run continues without its permit, or its end was
        // never recorded. A record that could not be read shows neither.
        if let (None, Ok(_)) = (&lease, &record) {
            self.settle(run, RECHECKS, checked).await;
        }
        let holder = lease.map(|lease| (run.holder.clone(), lease));
        holder.into_iter().collect()
    }

    /// Records the end of a run that continues without its permit, if it has ended. For a caller's retry,
    /// looks up to `rechecks` times more, because the answer `duplicate` would end the retry without a run.
    async fn settle(&self, run: &Run, rechecks: usize, checked: &mut Checked) {
        let lock = &self.request.lock;
        for check in 0..=rechecks {
            if check > 0 {
                self.deps.clock().sleep(RECHECK_AFTER).await;
                checked.waited = true;
            }
            let settled = self.deps.recovery().settle(lock, run).await;
            if let Err(error) = &settled {
                tracing::warn!(event = "run_end_not_recorded", %lock, %error, "the end of the run was not recorded");
            }
            checked.changed = matches!(settled, Ok(Settled::Recorded));
            // The run key may be free in a moment.
            let doubt = matches!(settled, Ok(Settled::Ending) | Err(_));
            let retried = self.request.wait_for_ending;
            checked.unsettled = (doubt && retried).then(|| run.holder.clone());
            if checked.changed || !retried || matches!(settled, Ok(Settled::Ending)) {
                return;
            }
        }
    }

    /// Checks one holder. A failure is logged and returns `None`, because the refusal is an answer without
    /// the check.
    async fn check(&self, holder: &HolderId, lease: &Lease) -> Option<Inspection> {
        let lock = &self.request.lock;
        let checked = self.deps.recovery().check(lock, holder, lease, None).await;
        if let Err(error) = &checked {
            tracing::warn!(event = "check_failed", %lock, %holder, %error, "the holder was not checked");
        }
        checked.ok()
    }

    /// Performs the effects of the decision until [`EFFECTS_END`]. The sweep performs the others.
    async fn perform(&self, effects: Vec<Effect>) {
        let lock = &self.request.lock;
        // The stops come last: each takes evidence, a commit and calls of AWS, and must not delay a wake-up.
        let (stop, rest) = split(effects);
        let effects = async {
            // An acquire has no heartbeat state that it must end.
            let _ = self.deps.effects().perform(lock, rest).await;
            for (other, lease) in stop {
                self.check(&other, &lease).await;
            }
        };
        self.deps.finish_in_call(&self.time, lock, effects).await;
    }

    /// Ends the waiting state with `response`.
    ///
    /// A failure fails the call, so that Step Functions retries it: otherwise the state would wait for its
    /// whole interval. A state that has already ended is no failure: its next attempt registers with a new
    /// task token, and gets the same answer.
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

/// Returns whether a holder in the way may be dead, so that a check is worth its requests: its heartbeat is
/// late, it exceeds a limit, it is ending, or the caller may be a later attempt at the same run.
///
/// The caller's own grant is checked only if it is ending.
fn is_worth_a_check(holder: &HolderId, lease: &Lease, terms: &Terms, now: Timestamp) -> bool {
    let of_another = *holder != terms.holder;
    let is_late = lease.is_overdue(now) || lease.limit_to_enforce(now).is_some();
    lease.exit.ending.is_some() || of_another && (is_late || terms.may_be_retry_of(lease))
}

/// Returns the run under way that has the run key of the request, if that is why the request was refused.
fn run_in_flight(result: &Result<Done, ProtocolError>) -> Option<&Run> {
    match result {
        Err(ProtocolError::Refused(Refusal::Duplicate { run, .. })) => {
            Some(&**run).filter(|run| run.end.is_none())
        }
        _ => None,
    }
}

/// Splits off the holders to be stopped, which need evidence first, from the effects that need none.
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
