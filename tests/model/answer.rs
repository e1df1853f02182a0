//! The end of a call: its effects are carried out, and its caller goes on with the answer.

use crate::call::{begin, over, waits_as};
use crate::check;
use crate::mutant::Mutant;
use crate::state::{Answer, End, Phase, Slot, State, Who, Work};
use crate::watch::Rule;
use crate::world::World;
use lockstep::domain::{Command, FencingToken, Outcome, Refusal, RunId, RunOutcome, WhenFull};
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
                // With a task token, the function ends the waiting state, whichever delivery of the call this
                // is.
                let heard = match &acquire.task_token {
                    Some(token) => waits_as(state, who, token),
                    None => slot == Slot::Own(who) && self.awaits(state, who),
                };
                if heard {
                    self.answered(state, who, result);
                }
            }
            (Command::Renew(_), Slot::Own(who)) => self.beaten(state, who, &result),
            (Command::Release(release), Slot::Own(who)) => {
                over(
                    state,
                    who,
                    match release.outcome {
                        RunOutcome::Succeeded => End::Worked,
                        _ => End::Failed,
                    },
                );
            }
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

    /// Returns whether `who` waits for an answer to a call without a task token.
    fn awaits(&self, state: &State, who: Who) -> bool {
        let phase = state.executions[who].phase;
        phase == Phase::Asking || (self.plans[who].polls && phase == Phase::Waiting)
    }

    /// Enters the waiting state, for the first time or again. A run that polls acquires again without a task
    /// token.
    pub(crate) fn wait(&self, state: &mut State, who: Who) {
        let execution = &mut state.executions[who];
        execution.phase = Phase::Waiting;
        let polls = self.plans[who].polls;
        execution.attempt += u8::from(!polls);
        let attempt = Some(execution.attempt).filter(|_| !polls);
        let command = self.acquire(who, self.plans[who].when_full, attempt);
        Self::make(state, Slot::Own(who), command);
    }

    /// Acquires for the first time. A run that waits acquires without waiting first if its plan has
    /// `tries_first`, as the state machine does.
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
            // The run has nothing to resume. It has worked only if its success is recorded.
            Ok(Outcome::Yielded { .. } | Outcome::Ended) if execution.resuming => {
                let run = state.table.runs.get(&RunId::Token(token));
                let recorded = run.and_then(|run| run.outcome()) == Some(RunOutcome::Succeeded);
                let finished = recorded || self.mutant == Mutant::FinishedUnread;
                over(state, who, if finished { End::Worked } else { End::Failed });
            }
            Ok(Outcome::Yielded { .. } | Outcome::Ended) if execution.works() => {
                execution.belief = None;
            }
            // The failed heartbeat fails the execution. Step Functions stops the work, and nothing releases
            // the permit.
            _ if self.plans[who].visible => self.die(state, who),
            // A container stops its own work first.
            _ => self.give_back(state, who, token, RunOutcome::Failed),
        }
    }

    /// Resumes a redriven run that has its grant. The run begins its work again once the work of its last
    /// attempt has ended. If that work succeeded, the run releases its permit.
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

    /// Ends the work, and releases the permit.
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
