//! What is left to do behind a write, and what it does to the executions.

use crate::commands::waiting_state;
use crate::state::{End, LATE, Phase, Slot, State, Who};
use crate::world::World;
use lockstep::domain::{Command, Effect, HolderId, Lease, LockRecord, TaskToken};

impl World {
    pub(crate) fn perform(&self, state: &mut State, effect: Effect) {
        match effect {
            Effect::EndHeartbeat(_) => {}
            Effect::Wake(holder, lease) => {
                let gone = self.wakes(state, &holder, &lease).is_none();
                self.wake(state, &holder, &lease);
                if gone {
                    self.pass_on(state, &holder, &lease);
                }
            }
            Effect::WakeAgain(holder, lease) => self.wake(state, &holder, &lease),
            Effect::Dismiss(waiter, _) => {
                if let (Some(who), Some(token)) =
                    (self.who(&waiter.terms.holder), &waiter.task_token)
                    && waits_as(state, who, token)
                {
                    over(state, who, End::TurnedAway);
                }
            }
            // acquire-lock checks the holder that it is to replace.
            Effect::Stop(holder, lease) => {
                if let Some(who) = self.who(&holder)
                    && !state.checks.contains_key(&who)
                {
                    self.inspect(state, who, lease, None);
                }
            }
            Effect::HandOver => follow_up(state, Command::HandOver),
        }
    }

    /// Ends the state that waits for the grant of a hand-over, if it still waits.
    pub(crate) fn wake(&self, state: &mut State, holder: &HolderId, lease: &Lease) {
        if let Some(who) = self.wakes(state, holder, lease) {
            begin(state, who, lease);
        }
    }

    /// Whose state waits for the grant of a hand-over.
    pub(crate) fn wakes(&self, state: &State, holder: &HolderId, lease: &Lease) -> Option<Who> {
        let token = lease.call.as_ref()?.task_token.as_ref()?;
        let who = self.who(holder)?;
        waits_as(state, who, token).then_some(who)
    }

    /// A waiter that is over before its turn has reached it: its permit goes on.
    fn pass_on(&self, state: &mut State, holder: &HolderId, lease: &Lease) {
        let who = self.who(holder).expect("a known holder");
        let execution = &state.executions[who];
        let over = matches!(execution.phase, Phase::Over(_)) && !execution.died_granted;
        if self.plans[who].visible && over {
            follow_up(state, self.unconfirmed(who, lease));
        }
    }

    /// The execution ends without a word. Its work may go on, and so may its call.
    pub(crate) fn die(&self, state: &mut State, who: Who) {
        if matches!(state.executions[who].phase, Phase::Over(_) | Phase::Idle) {
            return;
        }
        over(state, who, End::Died);
        let holds = |record: &LockRecord| record.holders.contains_key(self.holder(who));
        state.executions[who].died_granted = state.record().is_some_and(holds);
        if self.budget.news > 0 {
            state.executions[who].died_at = Some(state.tick);
        }
        if !leave_alone(state, who) {
            cut_off(state, Slot::Own(who));
        }
    }
}

/// What a call leaves to do at the table. Where there is no room it is left to the sweep.
fn follow_up(state: &mut State, command: Command) {
    let mut slots = (0..2).map(Slot::Sweep);
    if let Some(free) = slots.find(|slot| !state.calls.contains_key(slot)) {
        World::make(state, free, command);
    }
}

/// The function behind a call is gone. One that had registered a waiting state leaves that to the
/// TTL of its side item.
pub(crate) fn cut_off(state: &mut State, slot: Slot) {
    if let Some(call) = state.calls.remove(&slot) {
        let registers = matches!(&*call.command, Command::Acquire(it) if it.task_token.is_some());
        state.cut_off += u8::from(registers);
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
    execution.begin_work();
}

pub(crate) fn over(state: &mut State, who: Who, end: End) {
    let execution = &mut state.executions[who];
    execution.phase = Phase::Over(end);
    execution.belief = None;
    execution.resuming = false;
}
