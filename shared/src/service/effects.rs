//! The effects of a commit: heartbeat states end, waiters wake up, permits pass on.
//!
//! The commit comes first, so a failed effect is only late: the waiting state registers again, and
//! the sweep checks each grant that is not confirmed. A heartbeat state that was not ended fails the call that
//! had to end it ([`StillWaits`]), and the repetition of that call ends the state.
//!
//! ```text
//!  hand-over ──▶ SendTaskSuccess ── the state has ended ──▶ the waiter confirms its grant
//!      ▲               │ no state waits
//!      │               ▼
//!      │         DescribeExecution ── runs, or may have been redriven ──▶ it keeps its turn
//!      └── over for 30 s before the grant: recover, and on to the next waiter
//! ```
//! A process in a container has no key of task tokens. It asks the reaper by an event to send the
//! wake-up.

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

/// Most effects that one call performs. Each dead waiter costs some; the rest is left to the sweep.
const STEPS_MAX: usize = 60;

/// SendTaskSuccess gave no answer: a heartbeat state may still wait. A repetition of the call ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StillWaits;

/// Performs the effects of commits.
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
        // An effect may lead to a command with effects of its own: a dead waiter's permit goes to
        // the next. A list and no recursion, so that the number of steps is bounded.
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
        tracing::warn!(event = "effects_deferred", %lock, left, "effects are left to the sweep");
        ended
    }

    /// Ends a heartbeat state. A refusal of the call is no error: no repetition helps, and the state ends by its own
    /// next heartbeat.
    async fn end_heartbeat(&self, lock: &LockKey, token: &TaskToken) -> Result<(), StillWaits> {
        match self.end_state(lock, token, "{}").await {
            Err(ExecutionsError::Unavailable(_)) => Err(StillWaits),
            Ok(_) | Err(ExecutionsError::Denied(_)) => Ok(()),
        }
    }

    /// Sends the wake-up of a hand-over again. A waiter that has ended may have worked in between, so
    /// its permit is not passed on: [`super::RecoveryService`] checks its tasks.
    pub async fn wake_again(&self, lock: &LockKey, holder: &HolderId, lease: &Lease) {
        self.is_gone(lock, holder, lease).await;
    }

    /// Sends the wake-up of a hand-over. Where no state waits any more, DescribeExecution decides. A
    /// waiter that has confirmed its grant since keeps its permit, because it may have started a task.
    async fn wake(&self, lock: &LockKey, holder: &HolderId, lease: &Lease) -> Vec<Effect> {
        let passed_on = match self.is_gone(lock, holder, lease).await {
            true => self.pass_on(lock, holder, lease).await,
            false => None,
        };
        // The waiter keeps the permit, so its run starts here. acquire-lock, which it asks to
        // confirm the grant, finds it held already and publishes no start.
        if passed_on.is_none() {
            let about = self.about(lock, holder, lease);
            self.deps.publish_run(Some(about.started())).await;
        }
        passed_on.unwrap_or_default()
    }

    /// Ends the waiting state with the grant. Whether no state waits any more.
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
                    self.delegate_wake(lock, holder, lease).await;
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

    /// Publishes an event that has the reaper send the wake-up: a container cannot open the sealed
    /// task token. The event names the lock, and the reaper reads the rest.
    ///
    /// If the event is lost, the sweep finds a grant that is not confirmed.
    async fn delegate_wake(&self, lock: &LockKey, holder: &HolderId, lease: &Lease) {
        let event = self.about(lock, holder, lease).handed_over();
        self.deps.events.publish(vec![event]).await;
    }

    /// The holder of `lease`, now.
    fn about<'b>(&self, lock: &'b LockKey, holder: &'b HolderId, lease: &Lease) -> About<'b> {
        About {
            lock,
            holder,
            token: Some(lease.token),
            at: self.deps.now(),
        }
    }

    /// Passes on the permit of a waiter whose execution had ended before the hand-over. Returns the effects
    /// of that, or `None` if the waiter keeps the permit.
    async fn pass_on(
        &self,
        lock: &LockKey,
        holder: &HolderId,
        lease: &Lease,
    ) -> Option<Vec<Effect>> {
        let execution = ExecutionArn::of_holder(holder)?;
        let evidence = match self.deps.executions.describe(&execution).await {
            // A description may lag behind a redrive that the waiter has reported. One that ended
            // after the grant may have been woken before, and its task may run: its end is evidence
            // for the reaper. So is that of one that may have been redriven: it ended a moment ago, or
            // before it registered.
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
            // Not known may mean too new: the sweep decides when the lease has run out.
            Ok(None) | Err(_) => return None,
        };
        let recover = Command::Recover(Recover {
            holder: holder.clone(),
            token: lease.token,
            // If the waiter has confirmed meanwhile, the version is another one, and it keeps its
            // permit.
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

    /// Ends the waiting state of a waiter that has left the queue, with the answer that
    /// acquire-lock would give it. It is in the queue no more, so if this fails, it registers again
    /// after its interval and gets the answer then.
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
                (answer, about.gave_way(&taken, false))
            }
            (Dismissal::GaveUp | Dismissal::Duplicate(_), _) => {
                let answer = GaveUp::late(lock);
                let event = about.wait_given_up(&answer.message);
                (AcquireResponse::GaveUp(answer), Some(event))
            }
            // The eviction has an event of its own.
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

    /// Ends the state that waits with `token`. A failure is logged.
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

    /// Executes a command that an effect leads to; `None` if it failed, which is logged and left to
    /// the sweep.
    async fn execute(&self, lock: &LockKey, command: &Command) -> (Option<Outcome>, Vec<Effect>) {
        match self.deps.protocol.execute(lock, command).await {
            Ok(done) => (Some(done.outcome), done.effects),
            Err(error) => {
                tracing::warn!(event = "hand_over_failed", %lock, %error, "the permit was not passed on");
                (None, Vec::new())
            }
        }
    }
}
