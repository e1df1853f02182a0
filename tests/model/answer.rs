//! What becomes of an answer: what is left to do is done, and the caller goes on.

use crate::effect::{begin, over, waits_as};
use crate::names;
use crate::state::{Answer, End, Phase, Slot, State, Who};
use crate::world::World;
use lockstep::domain::{Command, FencingToken, Outcome, Refusal, RunOutcome, WhenFull};

impl World {
    pub(crate) fn deliver(&self, state: &mut State, slot: Slot, command: &Command, answer: Answer) {
        self.note(&answer);
        for effect in answer.effects {
            self.perform(state, effect);
        }
        match (command, slot) {
            (Command::Acquire(acquire), _) => {
                let Some(who) = self.who(&acquire.terms.holder) else {
                    return;
                };
                // The function ends the waiting state by its task token, whoever called.
                let heard = match &acquire.task_token {
                    Some(token) => waits_as(state, who, token),
                    None => slot == Slot::Own(who) && state.executions[who].phase == Phase::Asking,
                };
                if heard {
                    self.told(state, who, answer.result);
                }
            }
            (Command::Renew(_), Slot::Own(who)) => self.beaten(state, who, &answer.result),
            (Command::Release(_), Slot::Own(who)) => over(state, who, End::Worked),
            _ => {}
        }
    }

    fn told(&self, state: &mut State, who: Who, result: Result<Outcome, Refusal>) {
        let may_wait = self.plans[who].waits() && state.executions[who].phase == Phase::Asking;
        match result {
            Ok(Outcome::Granted { lease } | Outcome::AlreadyHeld { lease }) => {
                begin(state, who, &lease);
            }
            Ok(Outcome::Queued { .. }) => {}
            Err(
                Refusal::Held { .. }
                | Refusal::TooSoon { .. }
                | Refusal::Paused { .. }
                | Refusal::Frozen { .. },
            ) if may_wait => self.wait(state, who),
            Err(_) => over(state, who, End::Refused),
            Ok(_) => over(state, who, End::TurnedAway),
        }
    }

    /// Enters the waiting state, for the first time or again.
    pub(crate) fn wait(&self, state: &mut State, who: Who) {
        let execution = &mut state.executions[who];
        execution.phase = Phase::Waiting;
        execution.attempt += 1;
        let attempt = Some(execution.attempt);
        let command = self.acquire(who, self.plans[who].when_full, attempt);
        self.make(state, Slot::Own(who), command);
    }

    /// Asks for the first time: a run that may wait tries without, as the state machine does.
    pub(crate) fn ask(&self, state: &mut State, who: Who) {
        if self.plans[who].waits() && !self.plans[who].looks_first {
            return self.wait(state, who);
        }
        state.executions[who].phase = Phase::Asking;
        let command = self.acquire(who, WhenFull::Refuse, None);
        self.make(state, Slot::Own(who), command);
    }

    pub(crate) fn make(&self, state: &mut State, slot: Slot, command: Command) {
        let call = self.call(state, command);
        state.calls.insert(slot, call);
    }

    fn beaten(&self, state: &mut State, who: Who, result: &Result<Outcome, Refusal>) {
        let execution = &mut state.executions[who];
        let Phase::Working(token) = execution.phase else {
            return;
        };
        match result {
            Ok(
                Outcome::Renewed { expires_at }
                | Outcome::Reinstated { expires_at }
                | Outcome::Frozen { expires_at, .. },
            ) => {
                execution.belief = Some((token, *expires_at));
                // A run that was started again begins its work only now.
                execution.works = true;
            }
            Ok(Outcome::Yielded { .. } | Outcome::Ended) if execution.works => {
                execution.belief = None;
            }
            // The heartbeat fails, the work is stopped, the permit is given back.
            _ => self.give_back(state, who, token, RunOutcome::Failed),
        }
    }

    /// The work is over; the permit goes back.
    pub(crate) fn give_back(
        &self,
        state: &mut State,
        who: Who,
        token: FencingToken,
        outcome: RunOutcome,
    ) {
        let execution = &mut state.executions[who];
        execution.phase = Phase::Releasing(token);
        execution.had = None;
        execution.works = false;
        execution.belief = None;
        let command = self.release(who, token, outcome);
        self.make(state, Slot::Own(who), command);
    }

    fn note(&self, answer: &Answer) {
        let name = match &answer.result {
            Ok(outcome) => names::outcome(outcome),
            Err(refusal) => names::refusal(refusal),
        };
        let mut reached = self.reached.lock().expect("no step panics");
        reached.insert(name);
        reached.extend(answer.effects.iter().map(names::effect));
    }
}
