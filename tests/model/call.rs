//! The steps of one call: the deployed [`Attempt`], one request to the table at a time.

use crate::state::{Answer, Call, Slot, Stage, State};
use crate::watch_queue::queued;
use crate::world::World;
use lockstep::domain::{Command, Timestamp};
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
