//! The steps of one call: what `protocol.rs` does, cut where others can come in between.

use crate::look::{answer, complete, conflict, load, reads, register};
use crate::state::{Answer, Call, Decided, Seen, Slot, Stage, State};
use crate::watch_queue::queued;
use crate::world::{World, at};
use lockstep::domain::{Command, Timestamp, Transition, decide, fast};
use lockstep::store::Commit;
use std::collections::BTreeMap;

impl World {
    /// A call at its beginning.
    pub(crate) fn call(&self, state: &State, command: Command) -> Call {
        let now = at(state.tick);
        let stage = if command.waits_already(now).is_some() {
            Stage::Register
        } else if fast(&command, now).is_some() {
            Stage::Fast
        } else {
            Stage::Load(BTreeMap::new())
        };
        Call { command, stage }
    }

    /// Takes a call one step further. `now` is what its clock shows. Says whether it is at its end
    /// with nothing left to do; then the answer comes with it.
    pub(crate) fn advance(&self, state: &mut State, slot: Slot, now: Timestamp) -> Option<Answer> {
        let Call { command, stage } = state.calls.remove(&slot)?;
        let stage = match stage {
            Stage::Register => {
                register(state, &command, now);
                // Only who finds the place in the queue reads the side item.
                match self.is_seen(state, slot) {
                    true => Stage::Fast,
                    false => self.try_fast(state, &command, now),
                }
            }
            Stage::Fast => self.try_fast(state, &command, now),
            Stage::Load(runs) => load(state, &command, runs, now),
            Stage::Look(seen) => self.look(state, &command, *seen, now),
            Stage::Write(decided) => self.write(state, &command, *decided),
            Stage::Answer(answer) => return Some(*answer),
        };
        let stage = match stage {
            // Nothing more is read: the decision is part of this step.
            Stage::Look(seen) if !reads(&command, &seen) => self.look(state, &command, *seen, now),
            stage => stage,
        };
        match stage {
            Stage::Answer(answer) if answer.effects.is_empty() => Some(*answer),
            stage => {
                state.calls.insert(slot, Call { command, stage });
                None
            }
        }
    }

    /// Whether others may look at the waiter behind this call between its registration and its
    /// next step.
    fn is_seen(&self, state: &State, slot: Slot) -> bool {
        let (Slot::Own(who) | Slot::Late(who, _)) = slot else {
            return true;
        };
        let alike = |other: &Slot| matches!(other, Slot::Own(it) | Slot::Late(it, _) if *it == who);
        queued(state, &self.names[who].1) || state.calls.keys().any(alike)
    }

    fn try_fast(&self, state: &mut State, command: &Command, now: Timestamp) -> Stage {
        let Some(fast) = fast(command, now) else {
            return load(state, command, BTreeMap::new(), now);
        };
        match self.commit(state, command, &fast.change) {
            Commit::Committed(after) => match fast.outcome(after.as_ref()) {
                Some(outcome) => answer(Ok(outcome)),
                None => Stage::Load(BTreeMap::new()),
            },
            Commit::Conflict(found) => conflict(found),
            Commit::Busy => unreachable!("a table in memory is never busy"),
        }
    }

    fn look(&self, state: &State, command: &Command, seen: Seen, now: Timestamp) -> Stage {
        let (mut snapshot, mut command) = (complete(state, command, seen), command.clone());
        self.mutant.look(&mut snapshot, &mut command);
        let transition = match decide(&snapshot, &command, now) {
            Ok(transition) => transition,
            Err(refusal) => return answer(Err(refusal)),
        };
        let change = transition.change(snapshot.record.as_ref());
        let Transition {
            blind,
            outcome,
            effects,
            ..
        } = transition;
        let result = Ok(outcome);
        let answer = Answer { result, effects };
        match change {
            None => Stage::Answer(Box::new(answer)),
            Some(mut change) => {
                self.mutant.write(&command, &snapshot, &mut change);
                Stage::Write(Box::new(Decided {
                    change,
                    blind,
                    answer,
                }))
            }
        }
    }

    fn write(&self, state: &mut State, command: &Command, decided: Decided) -> Stage {
        match self.commit(state, command, &decided.change) {
            Commit::Committed(after) => {
                let mut answer = decided.answer;
                let numbers = decided.blind.and_then(|fast| fast.outcome(after.as_ref()));
                answer.result = numbers.map_or(answer.result, Ok);
                Stage::Answer(Box::new(answer))
            }
            Commit::Conflict(found) => conflict(found),
            Commit::Busy => unreachable!("a table in memory is never busy"),
        }
    }
}
