//! The steps of one call: the deployed [`Attempt`], one request to the table at a time, then the effects of
//! the call on the executions.

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
    /// Delivers `command` as the call in `slot`, in place of an earlier one.
    pub(crate) fn make(state: &mut State, slot: Slot, command: impl Into<Arc<Command>>) {
        let (command, stage) = (command.into(), Stage::Begin);
        state.calls.insert(slot, Call { command, stage });
    }

    /// Makes the next request of a call, whose clock shows `now`. Returns the answer if the call is over and
    /// has no effects left.
    pub(crate) fn advance(&self, state: &mut State, slot: Slot, now: Timestamp) -> Option<Answer> {
        let Call { command, stage } = state.calls.remove(&slot)?;
        let mut attempt = match stage {
            Stage::Begin => Attempt::new(Arc::clone(&command), now),
            Stage::Asks(attempt) => attempt,
            Stage::Acts(answer) => return Some(*answer),
        };
        let stage = loop {
            // A registration that no other call can read is one step with the request after it.
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

    /// Makes the next write of a call without an answer, so that the call sends the write again. Returns
    /// whether there is such a write. A transaction is none, because DynamoDB carries it out only once.
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

    /// Carries out a request to the table, and watches each write.
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

    /// Returns whether another call may read the side item of the waiter between its registration and the
    /// next step of this call.
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
            // acquire-lock stops a replaced holder by a check.
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

    /// Returns the execution whose state waits for the grant of a hand-over.
    pub(crate) fn wakes(&self, state: &State, holder: &HolderId, lease: &Lease) -> Option<Who> {
        let token = lease.call.as_ref()?.task_token.as_ref()?;
        let who = self.who(holder)?;
        waits_as(state, who, token).then_some(who)
    }

    /// Passes the permit on if the waiter was over before its hand-over.
    fn pass_on(&self, state: &mut State, holder: &HolderId, lease: &Lease) {
        let who = self.who(holder).expect("a known holder");
        let execution = &state.executions[who];
        let over = matches!(execution.phase, Phase::Over(_)) && !execution.died_granted;
        if self.plans[who].visible && over {
            follow_up(state, self.unconfirmed(who, lease));
        }
    }

    /// Ends an execution without a release. Its work and its call may go on.
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

/// Sends a command that is an effect of a call. If no slot is free, the command is left to the sweep.
fn follow_up(state: &mut State, command: Command) {
    let mut slots = (0..2).map(Slot::Sweep);
    if let Some(free) = slots.find(|slot| !state.calls.contains_key(slot)) {
        World::make(state, free, command);
    }
}

/// Ends a call whose function has died. If it is an acquire that waits, it may leave a side item to its TTL,
/// so it is counted.
pub(crate) fn cut_off(state: &mut State, slot: Slot) {
    if let Some(call) = state.calls.remove(&slot) {
        let registers = matches!(&*call.command, Command::Acquire(it)
            if it.task_token.is_some() || it.when_full != WhenFull::Refuse);
        state.cut_off += u8::from(registers);
    }
}

/// Makes the own call of `who` a late one, for which nobody waits. Returns `false` if `who` has a call and no
/// free slot for a late one.
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
