//! What is left to do behind a write, and what it does to the executions.

use crate::commands::waiting_state;
use crate::state::{End, LATE, Phase, Slot, State, Who};
use crate::world::World;
use lockstep::domain::{Command, Effect, Lease, TaskToken};

impl World {
    pub(crate) fn perform(&self, state: &mut State, effect: Effect) {
        match effect {
            Effect::EndHeartbeat(_) => {}
            Effect::Wake(holder, lease) | Effect::WakeAgain(holder, lease) => {
                let who = self.who(&holder);
                let state_to_wake = lease
                    .call
                    .as_ref()
                    .and_then(|call| call.task_token.as_ref());
                if let (Some(who), Some(token)) = (who, state_to_wake)
                    && waits_as(state, who, token)
                {
                    begin(state, who, &lease);
                }
            }
            Effect::Dismiss(waiter, _) => {
                if let (Some(who), Some(token)) =
                    (self.who(&waiter.terms.holder), &waiter.task_token)
                    && waits_as(state, who, token)
                {
                    over(state, who, End::TurnedAway);
                }
            }
            Effect::Stop(holder, _) => {
                if let Some(who) = self.who(&holder) {
                    self.die(state, who);
                }
            }
            Effect::HandOver => {
                let free = (0..2)
                    .map(Slot::Sweep)
                    .find(|slot| !state.calls.contains_key(slot));
                if let Some(slot) = free {
                    self.make(state, slot, Command::HandOver);
                }
            }
        }
    }

    /// The execution ends without a word. Its work may go on, and so may its call.
    pub(crate) fn die(&self, state: &mut State, who: Who) {
        if matches!(state.executions[who].phase, Phase::Over(_) | Phase::Idle) {
            return;
        }
        over(state, who, End::Died);
        if !leave_alone(state, who) {
            state.calls.remove(&Slot::Own(who));
        }
    }
}

/// The caller does not wait for its call any more. Says whether there is room for one more such.
pub(crate) fn leave_alone(state: &mut State, who: Who) -> bool {
    let late = |n| Slot::Late(who, n);
    let Some(free) = (0..LATE)
        .map(late)
        .find(|slot| !state.calls.contains_key(slot))
    else {
        return !state.calls.contains_key(&Slot::Own(who));
    };
    if let Some(call) = state.calls.remove(&Slot::Own(who)) {
        state.calls.insert(free, call);
    }
    true
}

pub(crate) fn waits_as(state: &State, who: Who, token: &TaskToken) -> bool {
    let execution = &state.executions[who];
    execution.phase == Phase::Waiting && waiting_state(who, execution.attempt) == *token
}

pub(crate) fn begin(state: &mut State, who: Who, lease: &Lease) {
    leave_alone(state, who);
    let execution = &mut state.executions[who];
    execution.phase = Phase::Working(lease.token);
    execution.had = Some(lease.token);
    execution.belief = Some((lease.token, lease.expires_at));
    execution.works = true;
}

pub(crate) fn over(state: &mut State, who: Who, end: End) {
    let execution = &mut state.executions[who];
    execution.phase = Phase::Over(end);
    execution.belief = None;
}
