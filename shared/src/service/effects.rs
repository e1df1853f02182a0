//! Runs the effects that remain after a commit: ends heartbeat states, wakes waiters, and passes permits on.
//!
//! The commit comes first, so a failed effect is only delayed: the waiting state registers again, and the
//! sweep checks each grant that is not confirmed. If a heartbeat state could not be ended, the call that had
//! to end it fails ([`StillWaits`]), and the retry of that call ends the state.
//!
//! ```text
//!  hand-over ──▶ SendTaskSuccess ── the state has ended ──▶ the waiter confirms its grant
//!      ▲               │ no state waits
//!      │               ▼
//!      │         DescribeExecution ── runs, or may have been redriven ──▶ the waiter keeps its grant
//!      └── ended 30 s or more before the grant: recover, and hand over to the next waiter
//! ```
//! A process in a container does not have the key that opens sealed task tokens. It publishes an event, and
//! the reaper sends the wake-up.

use super::alerts::About;
use super::{Deps, Ports};
use crate::contract::{AcquireResponse, Duplicate, GaveUp, Granted};
use crate::events::{Events, WaitingState};
use crate::executions::{Executions, ExecutionsError, StateEnd};
use lockstep_core::domain::{
    Command, Dismissal, Effect, ExecutionArn, ExecutionState, HolderId, Lease, LockKey, Outcome,
    Recover, RecoveryBasis, Refusal, TaskToken, Waiter,
};
use lockstep_core::recovery::{LAG_MAX, lags_behind};
use std::collections::VecDeque;

/// Largest number of effects that one call performs. Each dead waiter costs some; the sweep performs the
/// others.
const STEPS_MAX: usize = 60;

/// SendTaskSuccess gave no answer, so a heartbeat state may still wait. A retry of the call ends that state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StillWaits;

/// Runs the effects that remain after a commit.
pub struct EffectRunner<'a, P: Ports> {
    pub(super) deps: &'a Deps<P>,
}

impl<P: Ports> EffectRunner<'_, P> {
    /// Performs `effects`, and the effects of the commands that they lead to. A failure is logged.
    ///
    /// [`Effect::Stop`] is left to [`super::RecoveryService`], which gathers evidence first.
    ///
    /// # Errors
    /// [`StillWaits`], after all other effects.
    pub async fn perform(&self, lock: &LockKey, effects: Vec<Effect>) -> Result<(), StillWaits> {
        let mut ended = Ok(());
        // An effect may lead to a command with effects of its own: a dead waiter's permit passes to the next
        // waiter. A list in place of recursion bounds the number of steps.
        let mut left = VecDeque::from(effects);
        for _ in 0..STEPS_MAX {
            let Some(effect) = left.pop_front() else {
                return ended;
            };
            match effect {
                Effect::EndHeartbeat(token) => {
                    ended = ended.and(self.end_heartbeat(lock, &token).await);
                }
                Effect::Wake(holder, lease) => left.extend(self.wake(lock, &holder, &lease).await),
                Effect::WakeAgain(holder, lease) => self.wake_again(lock, &holder, &lease).await,
                Effect::Dismiss(waiter, why) => self.dismiss(lock, &waiter, why).await,
                Effect::HandOver => left.extend(self.execute(lock, &Command::HandOver).await.1),
                Effect::Stop(..) => {}
            }
        }
        let left = left.len();
        tracing::warn!(event = "effects_deferred", %lock, left, "too many effects for one call; the sweep performs the others");
        ended
    }

    /// Ends a heartbeat state. A call that AWS denies is no error: a retry does not help, and the state ends
    /// at its own next heartbeat.
    async fn end_heartbeat(&self, lock: &LockKey, token: &TaskToken) -> Result<(), StillWaits> {
        match self.end_state(lock, token, "{}").await {
            Err(ExecutionsError::Unavailable(_)) => Err(StillWaits),
            Ok(_) | Err(ExecutionsError::Denied(_)) => Ok(()),
        }
    }

    /// Sends the wake-up of a hand-over again.
    ///
    /// The permit of a waiter that has ended is not passed on, because the waiter may have done work since
    /// the hand-over: [`super::RecoveryService`] checks its tasks.
    pub async fn wake_again(&self, lock: &LockKey, holder: &HolderId, lease: &Lease) {
        self.is_gone(lock, holder, lease).await;
    }

    /// Sends the wake-up of a hand-over. If no state waits any more, DescribeExecution decides whether the
    /// permit passes on. A waiter that has confirmed its grant meanwhile keeps its permit, because it may
    /// have started a task.
    async fn wake(&self, lock: &LockKey, holder: &HolderId, lease: &Lease) -> Vec<Effect> {
        let passed_on = match self.is_gone(lock, holder, lease).await {
            true => self.pass_on(lock, holder, lease).await,
            false => None,
        };
        // The waiter keeps the permit, so its run starts here. When the waiter confirms its grant,
        // acquire-lock answers `alreadyHeld` and publishes no start.
        if passed_on.is_none() {
            let about = self.about(lock, holder, lease);
            self.deps.publish_run(Some(about.started())).await;
        }
        passed_on.unwrap_or_default()
    }

    /// Ends the waiting state with the grant. Returns whether no state waits any more.
    async fn is_gone(&self, lock: &LockKey, holder: &HolderId, lease: &Lease) -> bool {
        let token = lease
            .call
            .as_ref()
            .and_then(|call| call.task_token.as_ref());
        if let Some(token) = token {
            let granted = Granted::of(lock, holder, lease, &self.deps.table);
            let output = AcquireResponse::Granted(granted).to_json();
            match self.end_state(lock, token, &output).await {
                Ok(StateEnd::Ended) => {
                    let token = lease.token;
                    tracing::info!(event = "waiter_woken", %lock, %holder, %token, "woken");
                    return false;
                }
                Ok(StateEnd::Sealed) => {
                    self.ask_reaper_to_wake(lock, holder, lease).await;
                    return false;
                }
                // SendTaskSuccess gave no answer, so the state may have ended with the grant: the
                // waiter keeps it.
                Err(_) => return false,
                Ok(StateEnd::NotWaiting) => {}
            }
        }
        true
    }

    /// Publishes an event on which the reaper sends the wake-up, because a container cannot open the sealed
    /// task token. The reaper takes the lock from the event, and everything else from the table.
    ///
    /// If the event is lost, the sweep finds the grant that is not confirmed.
    async fn ask_reaper_to_wake(&self, lock: &LockKey, holder: &HolderId, lease: &Lease) {
        let event = self.about(lock, holder, lease).handed_over();
        self.deps.events.publish(vec![event]).await;
    }

    /// Returns the subject of an event about the holder of `lease`, at the present time.
    fn about<'b>(&self, lock: &'b LockKey, holder: &'b HolderId, lease: &Lease) -> About<'b> {
        About {
            lock,
            holder,
            token: Some(lease.token),
            at: self.deps.now(),
        }
    }

    /// Passes on the permit of a waiter whose execution had ended before the hand-over. Returns the effects
    /// of the recovery, or `None` if the waiter keeps the permit.
    async fn pass_on(
        &self,
        lock: &LockKey,
        holder: &HolderId,
        lease: &Lease,
    ) -> Option<Vec<Effect>> {
        let execution = ExecutionArn::of_holder(holder)?;
        let evidence = match self.deps.executions.describe(&execution).await {
            // The permit is passed on only if the execution ended at least `LAG_MAX` before the grant. An
            // execution that ended later may have been woken before its end, and its task may run: the reaper
            // judges it. The same holds for an execution that may have been redriven, because the description
            // may lag behind the redrive.
            Ok(Some(seen)) => match seen.state {
                ExecutionState::Ended(end)
                    if seen
                        .stopped_at
                        .is_some_and(|at| at.plus(LAG_MAX) <= lease.token.granted_at())
                        && !lags_behind(&seen, lease, self.deps.now()) =>
                {
                    format!("the execution was {} before the hand-over", end.as_str())
                }
                ExecutionState::Ended(_) | ExecutionState::Running => return None,
            },
            // An execution that Step Functions does not know may be too new. The sweep judges it after the
            // lease has expired.
            Ok(None) | Err(_) => return None,
        };
        let recover = Command::Recover(Recover {
            holder: holder.clone(),
            token: lease.token,
            // If the waiter has confirmed its grant meanwhile, the lease has another version, and the waiter
            // keeps its permit.
            seen: lease.version(),
            basis: RecoveryBasis::Unconfirmed,
            succeeded: false,
            evidence: evidence.clone(),
            retention: self.deps.retention,
        });
        let (outcome, effects) = self.execute(lock, &recover).await;
        let Some(Outcome::Freed { outcome }) = outcome else {
            return None;
        };
        if let Some(outcome) = outcome {
            let event = self.about(lock, holder, lease).freed(outcome, &evidence);
            self.deps.events.publish(vec![event]).await;
        }
        Some(effects)
    }

    /// Ends the waiting state of a waiter that was removed from the queue, with the answer that acquire-lock
    /// would give. If this fails, the waiter registers again after its interval, and gets the answer then.
    async fn dismiss(&self, lock: &LockKey, waiter: &Waiter, why: Dismissal) {
        let about = About {
            lock,
            holder: &waiter.terms.holder,
            token: None,
            at: self.deps.now(),
        };
        let run_key = waiter.terms.run_key.clone();
        let run_key = run_key.filter(|_| matches!(why, Dismissal::Duplicate(_)));
        let (answer, event) = match (why, run_key.clone()) {
            (Dismissal::Duplicate(run), Some(run_key)) => {
                let answer = AcquireResponse::Duplicate(Duplicate::of(lock, &run_key, &run));
                let taken = Refusal::Duplicate { run_key, run };
                (answer, about.skipped_or_queue_full(&taken, false))
            }
            (Dismissal::GaveUp | Dismissal::Duplicate(_), _) => {
                let answer = GaveUp::late(lock);
                let event = about.wait_given_up(&answer.message);
                (AcquireResponse::GaveUp(answer), Some(event))
            }
            // The act of the operator that removed the waiter publishes its own event.
            (Dismissal::Evicted, _) => (AcquireResponse::GaveUp(GaveUp::evicted(lock)), None),
        };
        if let Some(token) = &waiter.task_token {
            let end = self.end_state(lock, token, &answer.to_json()).await;
            if end == Ok(StateEnd::Sealed) && token.as_sealed().is_some() {
                let state = WaitingState {
                    task_token: token.clone(),
                    run_key,
                };
                self.deps.events.publish(vec![about.sent_away(state)]).await;
            }
        }
        if let Some(event) = event {
            self.deps.events.publish(vec![event]).await;
        }
    }

    /// Ends the state that waits with `token`, and logs a failure.
    async fn end_state(
        &self,
        lock: &LockKey,
        token: &TaskToken,
        output: &str,
    ) -> Result<StateEnd, ExecutionsError> {
        let end = self.deps.executions.end_state(lock, token, output).await;
        match &end {
            Ok(StateEnd::NotWaiting) => {
                tracing::info!(event = "state_not_waiting", %lock, "no state waits with this task token");
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(event = "state_end_failed", %lock, %error, "SendTaskSuccess failed");
            }
        }
        end
    }

    /// Executes a command that an effect leads to. A failure is logged and returns `None`: the next sweep
    /// executes the command.
    async fn execute(&self, lock: &LockKey, command: &Command) -> (Option<Outcome>, Vec<Effect>) {
        match self.deps.protocol.execute(lock, command).await {
            Ok(done) => (Some(done.outcome), done.effects),
            Err(error) => {
                tracing::warn!(event = "hand_over_failed", %lock, %error, "hand-over failed; the next sweep retries");
                (None, Vec::new())
            }
        }
    }
}
