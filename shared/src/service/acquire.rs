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
mod checks;
mod looks;
mod report;
mod resume;

use self::answer::{goes_on_to_wait, held, refused};
use self::looks::Looks;
use super::{DECISION_END, Deps, EFFECTS_END, Ports};
use crate::clock::{CallTime, OutOfTime, within};
use crate::contract::{AcquireRequest, AcquireResponse, CheckedAcquire};
use crate::error::Error;
use crate::executions::Executions;
use lockstep_core::domain::{Effect, HolderId, Lease, TaskToken};
use lockstep_core::protocol::{Done, ProtocolError};
use serde_json::Value;
use std::time::Duration;

/// Longest time for the SendTaskSuccess that ends the waiting state.
const STATE_TIME: Duration = Duration::from_secs(1);

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
    let (result, looks) = call.time.until(DECISION_END, call.decide()).await??;
    // Step Functions retries this error. By then DescribeExecution shows whether the earlier attempt has
    // ended.
    if let Err(ProtocolError::Refused(refusal)) = &result
        && !goes_on_to_wait(&request, refusal)
        && let Some(holder) = call.attempt_in_doubt(refusal, &looks)
    {
        // The answer `skipped` or `duplicate` would end a caller's retry without a run.
        return Err(Error::earlier_attempt_in_doubt(lock, &holder));
    }
    let now = deps.now();
    let response = match result {
        Ok(done) => {
            call.perform(done.effects).await;
            held(&request, &deps.table, done.outcome, looks.freed)
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
    /// Decides on the request, and again after each look at the holders in the way that may have changed the
    /// decision.
    ///
    /// # Errors
    /// [`OutOfTime`] if the table gives no answer to a later decision. That decision may be written, so the one
    /// before is no answer any more.
    async fn decide(&self) -> Result<(Result<Done, ProtocolError>, Looks), OutOfTime> {
        let mut looks = Looks::default();
        let mut result = self.execute().await;
        while self.look(&result, &mut looks).await {
            result = self.time.until(DECISION_END, self.execute()).await?;
        }
        Ok((result, looks))
    }

    async fn execute(&self) -> Result<Done, ProtocolError> {
        let Self { deps, request, .. } = self;
        let command = request.command();
        deps.protocol.execute(&request.lock, &command).await
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
