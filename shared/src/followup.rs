//! What is left to do after a commit: end heartbeat states, wake waiters, pass permits on.
//!
//! The table has the truth before any of this begins. So whatever fails here is only late: the
//! waiting state registers again, and the sweep looks at every grant that was not taken up.
//!
//! May depend on: protocol, the ports, contract.

use crate::alerts::About;
use crate::clock::Clock;
use crate::contract::{AcquireResponse, Duplicate, GaveUp, Granted};
use crate::domain::{
    Command, Death, Dismissal, Effect, HolderId, Lease, LockKey, Outcome, Recover, Refusal,
    Seconds, TaskToken, Waiter,
};
use crate::events::{Events, WaitingState};
use crate::executions::{ExecutionArn, ExecutionState, Executions, StateEnd};
use crate::protocol::Protocol;
use crate::recovery::{LAG_MAX, lags_behind};
use crate::store::LockStore;
use std::collections::VecDeque;

/// Most steps that one call takes. Each waiter that is gone costs some; what is left is the
/// sweep's.
const STEPS_MAX: usize = 60;

/// What is done after a commit, and what it is done with.
#[derive(Debug)]
pub struct FollowUp<S, C, E, V> {
    /// The protocol on the lock table.
    pub protocol: Protocol<S, C>,
    /// Where states are ended and executions looked at.
    pub executions: E,
    /// Where events go.
    pub events: V,
    /// Name of the lock table, for the containers of the runs that are let in.
    pub table: String,
    /// How long an ended run is remembered.
    pub retention: Seconds,
}

impl<S: LockStore, C: Clock, E: Executions, V: Events> FollowUp<S, C, E, V> {
    /// Does what `effects` ask for, and what that leads to. Nothing here can fail the caller.
    ///
    /// [`Effect::Stop`] is left to [`crate::recovery::Caretaker`]: it takes more permissions.
    pub async fn perform(&self, lock: &LockKey, effects: Vec<Effect>) {
        let mut left = VecDeque::from(effects);
        for _ in 0..STEPS_MAX {
            let Some(effect) = left.pop_front() else {
                return;
            };
            match effect {
                Effect::EndHeartbeat(token) => {
                    self.end_state(lock, &token, "{}").await;
                }
                Effect::Wake(holder, lease) => left.extend(self.wake(lock, &holder, &lease).await),
                Effect::WakeAgain(holder, lease) => self.wake_again(lock, &holder, &lease).await,
                Effect::Dismiss(waiter, why) => self.dismiss(lock, &waiter, why).await,
                Effect::HandOver => left.extend(self.carry_out(lock, &Command::HandOver).await.1),
                Effect::Stop(..) => {}
            }
        }
        tracing::warn!(%lock, left = left.len(), "the rest is left to the sweep");
    }

    /// Tells a waiter once more that its turn has come. One that is gone may have been at work in
    /// between: whether its tasks have stopped is for the caretaker to see.
    pub async fn wake_again(&self, lock: &LockKey, holder: &HolderId, lease: &Lease) {
        self.is_gone(lock, holder, lease).await;
    }

    /// Where no state waits any more, DescribeExecution decides. A waiter that has taken its grant up
    /// since has confirmed it: then the permit is not passed on, for it may have started a task.
    async fn wake(&self, lock: &LockKey, holder: &HolderId, lease: &Lease) -> Vec<Effect> {
        if self.is_gone(lock, holder, lease).await {
            return self.pass_on(lock, holder, lease).await;
        }
        Vec::new()
    }

    /// Tells a waiter that its turn has come; whether nothing waits for that any more.
    async fn is_gone(&self, lock: &LockKey, holder: &HolderId, lease: &Lease) -> bool {
        let token = lease
            .call
            .as_ref()
            .and_then(|call| call.task_token.as_ref());
        if let Some(token) = token {
            let granted = Granted::of(lock, holder, lease, &self.table);
            let output = AcquireResponse::Granted(granted).to_json();
            match self.end_state(lock, token, &output).await {
                Some(StateEnd::Ended) => {
                    tracing::info!(%lock, %holder, token = %lease.token, "woken");
                    return false;
                }
                Some(StateEnd::Sealed) => {
                    self.have_woken(lock, holder, lease).await;
                    return false;
                }
                None => return false,
                Some(StateEnd::NotWaiting) => {}
            }
        }
        true
    }

    /// Has the reaper send a wake-up that a container cannot send: the event names the lock, and the
    /// reaper reads the rest.
    async fn have_woken(&self, lock: &LockKey, holder: &HolderId, lease: &Lease) {
        let about = About {
            lock,
            holder,
            token: Some(lease.token),
            at: self.protocol.clock().now(),
        };
        self.events.publish(vec![about.handed_over()]).await;
    }

    async fn pass_on(&self, lock: &LockKey, holder: &HolderId, lease: &Lease) -> Vec<Effect> {
        let Some(execution) = ExecutionArn::of_holder(holder) else {
            return Vec::new();
        };
        let evidence = match self.executions.look(&execution).await {
            // A description may lag behind a redrive that the waiter has reported. One that ended
            // after the grant may have been woken before, and its task may run: its end is evidence
            // for the reaper. So is that of one that may have been redriven: it ended a moment ago, or
            // before it registered.
            Ok(Some(seen)) => match seen.state {
                ExecutionState::Ended(end)
                    if seen.redrives >= lease.redrives
                        && seen
                            .stopped_at
                            .is_some_and(|at| at.plus(LAG_MAX) <= lease.token.granted_at())
                        && !lags_behind(&seen, lease, self.protocol.clock().now()) =>
                {
                    format!("the execution was {} before its turn came", end.as_str())
                }
                ExecutionState::Ended(_) | ExecutionState::Running => return Vec::new(),
            },
            // Not known may mean too new: the sweep decides when the lease has run out.
            Ok(None) | Err(_) => return Vec::new(),
        };
        let recover = Command::Recover(Recover {
            holder: holder.clone(),
            token: lease.token,
            seen: lease.version(),
            death: Death::Unconfirmed,
            succeeded: false,
            evidence: evidence.clone(),
            retention: self.retention,
        });
        let (outcome, effects) = self.carry_out(lock, &recover).await;
        if let Some(Outcome::Freed {
            outcome: Some(outcome),
        }) = outcome
        {
            let now = self.protocol.clock().now();
            let about = About {
                lock,
                holder,
                token: Some(lease.token),
                at: now,
            };
            self.events
                .publish(vec![about.freed(outcome, &evidence)])
                .await;
        }
        effects
    }

    async fn dismiss(&self, lock: &LockKey, waiter: &Waiter, why: Dismissal) {
        let about = About {
            lock,
            holder: &waiter.terms.holder,
            token: None,
            at: self.protocol.clock().now(),
        };
        let run_key = waiter.terms.run_key.clone();
        let run_key = run_key.filter(|_| matches!(why, Dismissal::Duplicate(_)));
        let (answer, event) = match (why, run_key.clone()) {
            (Dismissal::Duplicate(run), Some(run_key)) => {
                let answer = AcquireResponse::Duplicate(Duplicate::of(lock, &run_key, &run));
                let taken = Refusal::Duplicate { run_key, run };
                (answer, about.gave_way(&taken))
            }
            (Dismissal::GaveUp | Dismissal::Duplicate(_), _) => {
                let answer = GaveUp::late(lock);
                let event = about.wait_given_up(&answer.message);
                (AcquireResponse::GaveUp(answer), Some(event))
            }
            // Whoever sent it away tells of it.
            (Dismissal::Evicted, _) => (AcquireResponse::GaveUp(GaveUp::evicted(lock)), None),
        };
        if let Some(token) = &waiter.task_token {
            let end = self.end_state(lock, token, &answer.to_json()).await;
            if end == Some(StateEnd::Sealed) && token.as_sealed().is_some() {
                let state = WaitingState {
                    task_token: token.clone(),
                    run_key,
                };
                self.events.publish(vec![about.sent_away(state)]).await;
            }
        }
        if let Some(event) = event {
            self.events.publish(vec![event]).await;
        }
    }

    /// What became of the state that waits with `token`; nothing where that could not be learnt.
    async fn end_state(&self, lock: &LockKey, token: &TaskToken, output: &str) -> Option<StateEnd> {
        match self.executions.end_state(lock, token, output).await {
            Ok(end) => {
                if end == StateEnd::NotWaiting {
                    tracing::info!(%lock, "nothing waits with this task token any more");
                }
                Some(end)
            }
            Err(error) => {
                tracing::warn!(%lock, %error, "a waiting state could not be ended");
                None
            }
        }
    }

    async fn carry_out(&self, lock: &LockKey, command: &Command) -> (Option<Outcome>, Vec<Effect>) {
        match self.protocol.execute(lock, command).await {
            Ok(done) => (Some(done.outcome), done.effects),
            Err(error) => {
                tracing::warn!(%lock, %error, "the permit could not be passed on");
                (None, Vec::new())
            }
        }
    }
}
