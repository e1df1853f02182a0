//! What becomes of an answer: what is left to do is done, and the caller goes on.

use crate::call::{begin, over, waits_as};
use crate::check;
use crate::state::{Answer, End, Phase, Slot, State, Who, Work};
use crate::watch::Rule;
use crate::world::World;
use lockstep::domain::{Command, FencingToken, Outcome, Refusal, RunOutcome, WhenFull};
use lockstep::protocol::ProtocolError;

impl World {
    pub(crate) fn deliver(&self, state: &mut State, slot: Slot, command: &Command, answer: Answer) {
        self.note(&answer);
        let result = match answer {
            Ok(done) => {
                for effect in done.effects {
                    self.perform(state, effect);
                }
                Ok(done.outcome)
            }
            Err(ProtocolError::Refused(refusal)) => Err(refusal),
            Err(ProtocolError::Contended | ProtocolError::Store(_)) => {
                state.broken.insert(Rule::Failed);
                return;
            }
        };
        match (command, slot) {
            (Command::Acquire(acquire), _) => {
                let Some(who) = self.who(&acquire.terms.holder) else {
                    return;
                };
                // The function ends the waiting state by its task token, for any caller.
                let heard = match &acquire.task_token {
                    Some(token) => waits_as(state, who, token),
                    None => slot == Slot::Own(who) && state.executions[who].phase == Phase::Asking,
                };
                if heard {
                    self.answered(state, who, result);
                }
            }
            (Command::Renew(_), Slot::Own(who)) => self.beaten(state, who, &result),
            (Command::Release(_), Slot::Own(who)) => over(state, who, End::Worked),
            (Command::Mark(_), Slot::Own(who)) => self.die(state, who),
            _ => {}
        }
    }

    fn answered(&self, state: &mut State, who: Who, result: Result<Outcome, Refusal>) {
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
        Self::make(state, Slot::Own(who), command);
    }

    /// Asks for the first time: a run that may wait tries without, as the state machine does.
    pub(crate) fn ask(&self, state: &mut State, who: Who) {
        if self.plans[who].waits() && !self.plans[who].tries_first {
            return self.wait(state, who);
        }
        state.executions[who].phase = Phase::Asking;
        let command = self.acquire(who, WhenFull::Refuse, None);
        Self::make(state, Slot::Own(who), command);
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
                if execution.resuming {
                    self.resume(state, who, token);
                }
            }
            // Only a success has nothing to resume: without one the run fails.
            Ok(Outcome::Yielded { .. } | Outcome::Ended) if execution.resuming => {
                let done = execution.work == Work::Succeeded;
                over(state, who, if done { End::Worked } else { End::Refused });
            }
            Ok(Outcome::Yielded { .. } | Outcome::Ended) if execution.works() => {
                execution.belief = None;
            }
            // The heartbeat fails the execution: Step Functions stops the work, and nothing is
            // released.
            _ if self.plans[who].visible => self.die(state, who),
            // A container stops its own work first.
            _ => self.give_back(state, who, token, RunOutcome::Failed),
        }
    }

    /// A run that was started again has its grant: it goes on once the work of its last attempt
    /// has ended, and not where that has succeeded.
    fn resume(&self, state: &mut State, who: Who, token: FencingToken) {
        let execution = &mut state.executions[who];
        match execution.work {
            Work::Runs | Work::Stopping if self.own_ends => execution.work = Work::Stopping,
            Work::Runs | Work::Stopping => {}
            Work::Succeeded => {
                execution.resuming = false;
                self.give_back(state, who, token, RunOutcome::Succeeded);
            }
            Work::None | Work::Stopped | Work::Failed => {
                execution.resuming = false;
                execution.begin_work();
            }
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
        execution.end_work(match outcome {
            RunOutcome::Succeeded => Work::Succeeded,
            _ => Work::Stopped,
        });
        execution.phase = Phase::Releasing(token);
        execution.had = None;
        execution.belief = None;
        let command = self.release(who, token, outcome);
        Self::make(state, Slot::Own(who), command);
    }

    pub(crate) fn note(&self, answer: &Answer) {
        let mut reached = self.reached.lock().expect("no step panics");
        match answer {
            Ok(done) => {
                reached.insert(check::outcome(&done.outcome));
                reached.extend(done.effects.iter().map(check::effect));
            }
            Err(ProtocolError::Refused(refusal)) => {
                reached.insert(check::refusal(refusal));
            }
            Err(ProtocolError::Contended | ProtocolError::Store(_)) => {
                reached.insert("failed");
            }
        }
    }
}
