//! Requests that take time. They are sent in one step and arrive in another: late, out of order, twice, or
//! never. And the settling of a run that yielded.

use crate::action::Action;
use crate::call::cut_off;
use crate::commands::RETENTION;
use crate::inspect::lock;
use crate::services::Sighting;
use crate::state::{Call, Sent, Slot, Stage, State, Who};
use crate::step::own_clock;
use crate::world::World;
use lockstep::domain::{Command, RunId, Settle, Timestamp};
use lockstep::protocol::{Attempt, Request};
use lockstep::recovery::{Gathered, Gathering, Over};
use std::sync::Arc;

impl World {
    /// Carries out an action of this module. Returns whether anything has changed.
    pub(crate) fn act_on_wire(&self, state: &mut State, action: Action) -> bool {
        match action {
            Action::Resend(slot) => {
                state.left.resends -= 1;
                self.resend(state, slot)
            }
            Action::Send(slot, slow) => {
                state.left.lates -= 1;
                let now = own_clock(state, slot, slow);
                send(state, slot, now)
            }
            Action::Stray(slot, slow) => {
                state.left.strays -= 1;
                let now = own_clock(state, slot, slow);
                // DynamoDB carries out a transaction that is sent again only once.
                stray(state, slot, now, |sent| !is_transaction(sent))
            }
            Action::Abandon(slot, slow) => {
                state.left.strays -= 1;
                let now = own_clock(state, slot, slow);
                let left = stray(state, slot, now, |_| true);
                if left {
                    let command = state.command(slot);
                    cut_off(state, slot);
                    self.call_again(state, slot, command);
                }
                left
            }
            Action::Arrive(index) => {
                let Sent { command, change } = state.wire.remove(index);
                let change = self
                    .mutant
                    .write(&command, state.record(), &change)
                    .into_owned();
                // No call waits for the answer.
                self.commit(state, &command, &change);
                true
            }
            Action::Settle(who, sight) => {
                state.left.settles -= 1;
                state.left.dims -= u8::from(sight != Sighting::Clear);
                self.settle(state, who, sight)
            }
            _ => false,
        }
    }

    /// Returns whether `who` has yielded and its run key has an open marker.
    pub(crate) fn is_open(&self, state: &State, who: Who) -> bool {
        let holder = self.holder(who);
        let mut runs = state.table.runs.iter();
        let open = runs.any(|(id, run)| {
            let marks = matches!(id, RunId::Key(_)) && run.holder == *holder;
            marks && run.end.is_none() && run.lease.is_some()
        });
        open && state.token_of(holder).is_none()
    }

    /// Sends the command that records how the run of `who` ended. Returns `false` if the evidence does not
    /// show its end.
    fn settle(&self, state: &mut State, who: Who, sight: Sighting) -> bool {
        let mut runs = state.table.runs.iter();
        let marker = runs.find(|(id, run)| {
            matches!(id, RunId::Key(_)) && run.holder == *self.holder(who) && run.end.is_none()
        });
        let Some((RunId::Key(run_key), run)) = marker.map(|(id, run)| (id.clone(), run.clone()))
        else {
            return false;
        };
        let Some(over) = run.lease.and_then(|lease| {
            let gathering = Gathering::new(lock(), self.holder(who).clone(), *lease, None);
            self.gathered(state, who, gathering.with_evidence_for_next(), sight)
        }) else {
            return false;
        };
        let settle = Command::Settle(Settle {
            run_key,
            token: run.token,
            succeeded: over.succeeded,
            evidence: over.evidence,
            retention: RETENTION,
        });
        Self::make(state, Slot::Settler, settle);
        true
    }

    /// Returns how a run has ended, from evidence that is gathered in one step.
    fn gathered(
        &self,
        state: &State,
        who: Who,
        mut gathering: Gathering,
        sight: Sighting,
    ) -> Option<Over> {
        let now = crate::world::at(state.tick);
        loop {
            match gathering.next(now) {
                Gathered::Complete(verdict) => return verdict.over(),
                Gathered::Ask(request) => {
                    let dim = self.described(state, who, &request, sight);
                    let seen =
                        dim.or_else(|| self.described(state, who, &request, Sighting::Clear));
                    gathering.learn(seen?, now);
                }
            }
        }
    }
}

/// Lets a function read its clock and send its first request, before which other steps may come.
fn send(state: &mut State, slot: Slot, now: Timestamp) -> bool {
    let Some(call) = state
        .calls
        .get_mut(&slot)
        .filter(|call| call.stage == Stage::Begin)
    else {
        return false;
    };
    call.stage = Stage::Asks(Attempt::new(Arc::clone(&call.command), now));
    true
}

/// Leaves a copy of the next write of a call on its way, if `may` allows the write. The call still makes the
/// write itself. Returns whether there is such a write.
fn stray(state: &mut State, slot: Slot, now: Timestamp, may: impl Fn(&Sent) -> bool) -> bool {
    let Some(Call { command, stage }) = state.calls.get(&slot) else {
        return false;
    };
    let attempt = match stage {
        Stage::Begin => Attempt::new(Arc::clone(command), now),
        Stage::Asks(attempt) => attempt.clone(),
        Stage::Acts(_) => return false,
    };
    let Request::Commit(change) = attempt.request() else {
        return false;
    };
    let sent = Sent {
        command: Arc::clone(command),
        change: change.clone(),
    };
    if !may(&sent) {
        return false;
    }
    state.wire.push(sent);
    true
}

fn is_transaction(sent: &Sent) -> bool {
    !sent.change.runs.is_empty() || sent.change.waiter.is_some()
}
