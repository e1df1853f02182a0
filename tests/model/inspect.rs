//! The reaper's checks of holders: the deployed [`Check`], one request at a time.
//!
//! In a world without slow evidence, consecutive reads of a check are one step. With slow evidence, each read
//! has a step of its own. If the budget allows it, a read shows the state before the latest change, or nothing.

use crate::commands::RETENTION;
use crate::services::{Sighting, describes};
use crate::state::{Inspecting, State, Who};
use crate::watch::Rule;
use crate::world::{World, at};
use lockstep::domain::{Lease, LockKey, Timestamp};
use lockstep::protocol::{Attempt, AttemptStep, Done, Reply, Request as TableRequest};
use lockstep::recovery::{Check, CheckAnswer, CheckStep, Hint, Request};

/// The next step of a check.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Doing {
    /// A request to a service is under way.
    Asks(Box<Request>),
    /// A request of a command to the table is under way.
    Executes(Attempt),
    /// The command is written. The next step carries out its effects.
    Acts(Box<Done>),
}

impl World {
    /// Begins a check of `who`, whose lease was read as `lease`.
    pub(crate) fn inspect(&self, state: &mut State, who: Who, lease: Lease, hint: Option<Hint>) {
        let now = at(state.tick);
        let mut check = self.check_of(who, lease, hint);
        let step = check.begin(now);
        self.go_on(state, who, (check, step), now);
        while self.quick_checks && state.checks.contains_key(&who) {
            self.check_on(state, who, now, Sighting::Clear);
        }
    }

    /// Returns whether a check that begins now, without an event and with true evidence, would change
    /// anything.
    pub(crate) fn is_worth_a_check(&self, state: &State, who: Who, lease: Lease) -> bool {
        let now = at(state.tick);
        let mut check = self.check_of(who, lease, None);
        let mut step = check.begin(now);
        loop {
            let request = match step {
                CheckStep::Over(_) => return false,
                CheckStep::Ask(request) if self.would_change(state, who, &request) => return true,
                CheckStep::Ask(request) => request,
            };
            let seen = self.described(state, who, &request, Sighting::Clear);
            step = check.answer(seen.unwrap_or_else(|| idle(&request)), now);
        }
    }

    fn check_of(&self, who: Who, lease: Lease, hint: Option<Hint>) -> Check {
        let lock = lock();
        Check::new(lock, self.holder(who).clone(), lease, hint, RETENTION)
    }

    /// Makes the next request of the check of `who`. Returns `false` if `sight` is not possible for the
    /// request.
    pub(crate) fn check_on(
        &self,
        state: &mut State,
        who: Who,
        now: Timestamp,
        sight: Sighting,
    ) -> bool {
        let Some(Inspecting { mut check, doing }) = state.checks.remove(&who) else {
            return false;
        };
        let answer = match doing {
            Doing::Asks(request) if describes(&request) => {
                let Some(answer) = self.described(state, who, &request, sight) else {
                    return false;
                };
                answer
            }
            Doing::Asks(_) if sight != Sighting::Clear => return false,
            Doing::Asks(request) => self.done(state, who, &request),
            Doing::Executes(attempt) => match self.execute_on(state, attempt, now) {
                Some(Doing::Acts(done)) if done.effects.is_empty() => {
                    CheckAnswer::Executed(done.outcome)
                }
                Some(doing) => {
                    state.checks.insert(who, Inspecting { check, doing });
                    return true;
                }
                None => return true,
            },
            Doing::Acts(mut done) => {
                for effect in std::mem::take(&mut done.effects) {
                    self.perform(state, effect);
                }
                CheckAnswer::Executed(done.outcome)
            }
        };
        let step = check.answer(answer, now);
        self.go_on(state, who, (check, step), now);
        true
    }

    /// Makes the next request to the table for a command of a check.
    fn execute_on(&self, state: &mut State, mut attempt: Attempt, now: Timestamp) -> Option<Doing> {
        let command = attempt.command().clone();
        let mut reply = self.carry(state, &command, attempt.request());
        loop {
            match attempt.reply(reply, now) {
                AttemptStep::Ask(next) if next.request() == TableRequest::BackOff => {
                    (attempt, reply) = (next, Reply::BackedOff);
                }
                AttemptStep::Ask(next) => return Some(Doing::Executes(next)),
                AttemptStep::Over(answer) => {
                    self.note(&answer);
                    // No command of a check may be refused.
                    if answer.is_err() {
                        state.broken.insert(Rule::Failed);
                    }
                    return answer.ok().map(|done| Doing::Acts(Box::new(done)));
                }
            }
        }
    }

    /// Answers the requests of the check, up to one before whose answer other steps may come.
    fn go_on(
        &self,
        state: &mut State,
        who: Who,
        (mut check, mut step): (Check, CheckStep),
        now: Timestamp,
    ) {
        loop {
            let request = match step {
                CheckStep::Over(_) => return,
                CheckStep::Ask(request) => request,
            };
            let doing = match request {
                Request::Execute(mut command) => {
                    self.mutant.command(&mut command);
                    Doing::Executes(Attempt::new(command, now))
                }
                request if takes_time(&request, self.slow_evidence) => {
                    Doing::Asks(Box::new(request))
                }
                request => {
                    let answer = self.described(state, who, &request, Sighting::Clear);
                    let answer = answer.unwrap_or_else(|| self.done(state, who, &request));
                    step = check.answer(answer, now);
                    continue;
                }
            };
            state.checks.insert(who, Inspecting { check, doing });
            return;
        }
    }
}

/// Returns whether other steps may come before the answer to the request.
fn takes_time(request: &Request, slow: bool) -> bool {
    match request {
        Request::StopExecution(..) => true,
        // Notes in the history and alerts are not modelled.
        Request::Execute(_) | Request::Note(_) | Request::Wake(_) | Request::Raise(_) => false,
        _ => slow,
    }
}

/// Returns the answer to a request that changes nothing.
fn idle(request: &Request) -> CheckAnswer {
    match request {
        Request::StopExecution(..) | Request::StopTask(..) => CheckAnswer::Accepted(true),
        _ => CheckAnswer::Done,
    }
}

/// Returns the lock of the world.
pub(crate) fn lock() -> LockKey {
    LockKey::new("lock").expect("a valid lock")
}
