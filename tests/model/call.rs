//! The steps of one call: the deployed [`Attempt`], one request to the table at a time.
//!
//! What is left to do behind a write, and what it does to the executions.

use crate::commands::waiting_state;
use crate::state::{Answer, Call, End, Phase, Slot, Stage, State, Who};
use crate::watch::queued;
use crate::world::World;
use lockstep::domain::{
    Command, Effect, HolderId, Lease, LockRecord, TaskToken, Timestamp, WhenFull,
};
use lockstep::protocol::{Attempt, AttemptStep, Reply, Request};
use lockstep::store::Commit;
use std::sync::Arc;

impl World {
    /// Delivers `command`, in the place of what `slot` called before.
    pub(crate) fn make(state: &mut State, slot: Slot, command: impl Into<Arc<Command>>) {
        let (command, stage) = (command.into(), Stage::Begin);
        state.calls.insert(slot, Call { command, stage });
    }

    /// Takes a call one request further. `now` is what its clock shows. When it is at its end with
    /// nothing left to do, its answer comes with it.
    pub(crate) fn advance(&self, state: &mut State, slot: Slot, now: Timestamp) -> Option<Answer> {
        let Call { command, stage } = state.calls.remove(&slot)?;
        let mut attempt = match stage {
            Stage::Begin => Attempt::new(Arc::clone(&command), now),
            Stage::Asks(attempt) => attempt,
            Stage::Acts(answer) => return Some(*answer),
        };
        let stage = loop {
            // A registration that no other call can read is one step with the request behind it.
            let registers = matches!(attempt.request(), Request::Register(_));
            let unseen = registers && !self.is_seen(state, slot);
            let reply = self.carry(state, &command, attempt.request());
            match attempt.reply(reply, now) {
                AttemptStep::Ask(next) if unseen || next.request() == Request::BackOff => {
                    attempt = next;
                }
                AttemptStep::Ask(next) => break Stage::Asks(next),
                AttemptStep::Over(answer) if has_effects(&answer) => break Stage::Acts(answer),
                AttemptStep::Over(answer) => return Some(*answer),
            }
        };
        state.calls.insert(slot, Call { command, stage });
        None
    }

    /// Does the write that the call is about to make, of which it hears nothing, so that it sends it
    /// once more. Whether there is such a write: a transaction that is sent again is done once.
    pub(crate) fn write_unheard(&self, state: &mut State, slot: Slot, now: Timestamp) -> bool {
        let Some(Call { command, stage }) = state.calls.get(&slot).cloned() else {
            return false;
        };
        let attempt = match stage {
            Stage::Begin => Attempt::new(Arc::clone(&command), now),
            Stage::Asks(attempt) => attempt,
            Stage::Acts(_) => return false,
        };
        match attempt.request() {
            Request::Commit(change) if change.runs.is_empty() && change.waiter.is_none() => {
                let reply = self.carry(state, &command, attempt.request());
                matches!(reply, Reply::Commit(Commit::Committed(_)))
            }
            _ => false,
        }
    }

    /// Does what is asked of the table, and watches each write.
    pub(crate) fn carry(
        &self,
        state: &mut State,
        command: &Command,
        request: Request<'_>,
    ) -> Reply {
        let mut reply = match request {
            Request::Commit(change) => {
                let change = self.mutant.write(command, state.record(), change);
                Reply::Commit(self.commit(state, command, &change))
            }
            request => request.to(&mut state.table),
        };
        self.mutant.reply(command, &mut reply);
        reply
    }

    /// Whether others may read the side item of the waiter behind this call between its registration and its
    /// next step.
    fn is_seen(&self, state: &State, slot: Slot) -> bool {
        let (Slot::Own(who) | Slot::Late(who, _)) = slot else {
            return true;
        };
        let alike = |other: &Slot| matches!(other, Slot::Own(it) | Slot::Late(it, _) if *it == who);
        queued(state, &self.names[who].1) || state.calls.keys().any(alike)
    }
}

fn has_effects(answer: &Answer) -> bool {
    answer.as_ref().is_ok_and(|done| !done.effects.is_empty())
}

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
                if let Some(who) = self.who(&waiter.terms.holder)
                    && let Some(token) = &waiter.task_token
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
        let registers = matches!(&*call.command, Command::Acquire(it)
            if it.task_token.is_some() || it.when_full != WhenFull::Refuse);
        state.cut_off += u8::from(registers);
    }
}

/// The caller does not wait for its call any more. Says whether there is room for one more such.
pub(crate) fn leave_alone(state: &mut State, who: Who) -> bool {
    let Some(free) = state.late_slot(who) else {
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
