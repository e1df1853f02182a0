//! One check of a holder, as a state machine without I/O: it yields requests and takes answers.
//!
//! ```text
//!  gather the evidence ─▶ verdict
//!                           ├─▶ leave
//!                           ├─▶ write: recover, freeze, suspect, drop the replacer
//!                           └─▶ commit the stop ─▶ StopExecution ─▶ stop the work ─▶ once more from the start
//!                                    │ a heartbeat came first
//!                                    └─▶ load the lease ─▶ once more from the start
//! ```
//!
//! The function may die after each call, so a stop is written before it is carried out. What frees
//! or stops a holder names the version of the lease that was judged. If it changes nothing, one
//! more round follows with the lease as it is now: a holder that renews in every round is alive.

mod commands;
mod exchange;

pub(super) use exchange::work_requests;
pub use exchange::{Alert, CheckAnswer, CheckStep, Inspection, Request};

use super::{Action, Gathered, Gathering, Hint, Verdict};
use crate::domain::{
    Command, EndingCause, ExecutionArn, HolderId, Lease, LockKey, Outcome, Retention, RunOutcome,
    Timestamp, Work,
};
use std::collections::VecDeque;

/// One check of a holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Check {
    gathering: Gathering,
    retention: Retention,
    phase: Phase,
    /// The requests that are left in this phase.
    queue: VecDeque<Request>,
    /// Whether the end of the execution is older than the last sign of life, and may lag behind a
    /// redrive.
    doubted: bool,
    /// Whether the stop was carried out. The evidence is gathered and judged once after it, and
    /// stops nothing again.
    stopped: bool,
    /// Whether the lease was read again, because it had changed since the check began. That happens
    /// once.
    reloaded: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Gather,
    /// The stop is being committed.
    Commit(StopPlan),
    /// The calls that stop the work are under way; whether one was accepted.
    Stop(StopPlan, bool),
    /// The holder is being marked; why its evidence is missing.
    Alert(String),
    Recover(String),
    Freeze,
    Reload,
    /// The requests that are left do not change the result.
    Finish(Inspection),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct StopPlan {
    execution: bool,
    work: Vec<String>,
    why: String,
    /// Whether this check has committed the stop, and so reports it. A stop takes time, and each check until its
    /// end makes its calls again.
    is_first: bool,
}

impl Check {
    /// Returns a check of `holder`, whose lease was read as `lease`. `hint` is what an event reports.
    /// The history keeps an ended run for `retention`.
    #[must_use]
    pub fn new(
        lock: LockKey,
        holder: HolderId,
        lease: Lease,
        hint: Option<Hint>,
        retention: Retention,
    ) -> Self {
        Self {
            gathering: Gathering::new(lock, holder, lease, hint),
            retention,
            phase: Phase::Gather,
            queue: VecDeque::new(),
            doubted: false,
            stopped: false,
            reloaded: false,
        }
    }

    /// The first request.
    pub fn begin(&mut self, now: Timestamp) -> CheckStep {
        self.next(now)
    }

    /// Takes the answer to the last request.
    pub fn answer(&mut self, answer: CheckAnswer, now: Timestamp) -> CheckStep {
        match (&mut self.phase, answer) {
            (Phase::Gather, answer) => self.gathering.learn(answer, now),
            (Phase::Commit(plan), CheckAnswer::Executed(outcome)) => {
                let plan = plan.clone();
                match outcome {
                    Outcome::Done => self.carry_out(plan, now),
                    _ => self.reload(),
                }
            }
            (Phase::Stop(_, accepted), CheckAnswer::Accepted(this)) => *accepted |= this,
            (Phase::Recover(evidence), CheckAnswer::Executed(Outcome::Freed { outcome })) => {
                let evidence = evidence.clone();
                self.freed(outcome, evidence);
            }
            // Its first check raises the alert: the mark stands from then on.
            (Phase::Alert(why), CheckAnswer::Executed(Outcome::Done)) => {
                let alert = Alert::EvidenceMissing(why.clone());
                self.finish(self.held(now), [Request::Raise(alert)]);
            }
            (Phase::Alert(_), _) => self.finish(self.held(now), []),
            (Phase::Recover(_), _) => self.reload(),
            (Phase::Freeze, CheckAnswer::Executed(Outcome::Frozen { note, .. })) => {
                self.finish(Inspection::Held, [Request::Raise(Alert::Frozen(note))]);
            }
            (Phase::Reload, CheckAnswer::Lease(Some(lease))) if !self.reloaded => {
                self.reloaded = true;
                self.gathering.lease = lease;
                self.gathering.restart();
                self.phase = Phase::Gather;
            }
            (Phase::Reload | Phase::Freeze, _) => self.finish(Inspection::Held, []),
            _ => {}
        }
        self.next(now)
    }

    fn next(&mut self, now: Timestamp) -> CheckStep {
        loop {
            if let Some(request) = self.queue.pop_front() {
                return CheckStep::Ask(request);
            }
            match &self.phase {
                Phase::Finish(inspection) => return CheckStep::Over(*inspection),
                Phase::Gather => match self.gathering.next(now) {
                    Gathered::Ask(request) => return CheckStep::Ask(request),
                    Gathered::Complete(verdict) => self.act(verdict, now),
                },
                Phase::Stop(plan, accepted) => {
                    let alert = match accepted {
                        true => plan.is_first.then(|| Alert::Stopped(plan.why.clone())),
                        false => {
                            let why = format!("{}, but every call failed", plan.why);
                            Some(Alert::NotStopped(why))
                        }
                    };
                    self.gathering.restart_after_stop();
                    self.phase = Phase::Gather;
                    self.queue.extend(alert.map(Request::Raise));
                }
                Phase::Commit(_)
                | Phase::Alert(_)
                | Phase::Recover(_)
                | Phase::Freeze
                | Phase::Reload => {
                    return CheckStep::Over(self.held(now));
                }
            }
        }
    }

    fn act(&mut self, verdict: Verdict, now: Timestamp) {
        let Verdict {
            doubted, action, ..
        } = verdict;
        self.doubted = doubted;
        let Gathering {
            lock,
            holder,
            lease,
            ..
        } = &self.gathering;
        let token = lease.token;
        tracing::info!(event = "holder_checked", %lock, %holder, %token, ?action, "checked");
        match action {
            Action::Leave => self.finish(self.held(now), []),
            Action::Wake => {
                let wake = Request::Wake(self.gathering.lease.clone());
                self.finish(Inspection::Held, [wake]);
            }
            Action::Alert { why } => self.ask(Phase::Alert(why), self.suspect()),
            Action::Refrain { why } => {
                let alert = Alert::NotStopped(why);
                self.finish(self.held(now), [Request::Raise(alert)]);
            }
            Action::Suspect => {
                let suspect = Request::Execute(self.suspect());
                self.finish(self.held(now), [suspect]);
            }
            Action::DropReplacer { replacer } => {
                let drop = Request::Execute(self.drop_waiter(replacer));
                self.finish(self.held(now), [drop]);
            }
            Action::Freeze { why } => self.ask(Phase::Freeze, self.freeze(&why)),
            Action::Recover {
                basis,
                succeeded,
                evidence,
            } => {
                let recover = self.recover(basis, succeeded, evidence.clone());
                self.ask(Phase::Recover(evidence), recover);
            }
            // A stop takes time: a later check finds its end.
            Action::Stop { .. } if self.stopped => self.finish(self.held(now), []),
            Action::Stop {
                commit,
                execution,
                work,
                why,
            } => {
                let command = self.commitment(commit);
                let plan = StopPlan {
                    execution,
                    work,
                    why,
                    is_first: command.is_some() && self.gathering.lease.exit.ending.is_none(),
                };
                match command {
                    Some(command) => self.ask(Phase::Commit(plan), command),
                    None => self.stop(plan),
                }
            }
        }
    }

    /// Carries out a stop that is committed. The lease is as the commit has left it.
    fn carry_out(&mut self, plan: StopPlan, now: Timestamp) {
        let cause = match plan.execution {
            true => EndingCause::Stopped,
            false => EndingCause::Over,
        };
        let lease = &mut self.gathering.lease;
        lease.exit = lease.exit.ending(cause, now);
        // The mark was all there was to write: nothing is to be stopped.
        if !plan.execution && plan.work.is_empty() {
            return self.finish(self.held(now), []);
        }
        self.stop(plan);
    }

    fn stop(&mut self, plan: StopPlan) {
        let error = match self.gathering.lease.exit.replaced_by {
            Some(_) => "Lockstep.Replaced",
            None => "Lockstep.LeaseLost",
        };
        let cause = format!(
            "lock {}: {} {}",
            self.gathering.lock, self.gathering.holder, plan.why
        );
        let execution = ExecutionArn::of_holder(&self.gathering.holder).filter(|_| plan.execution);
        let execution = execution.map(|arn| Request::StopExecution(arn, error, cause.clone()));
        let work = plan
            .work
            .iter()
            .filter_map(|arn| match &self.gathering.lease.work {
                Some(Work::Tasks(set)) => Some(Request::StopTask(
                    set.cluster.clone(),
                    arn.clone(),
                    cause.clone(),
                )),
                Some(Work::Workflow(_)) => {
                    let arn = ExecutionArn::new(arn.clone()).ok()?;
                    Some(Request::StopExecution(arn, error, cause.clone()))
                }
                Some(Work::States) | None => None,
            });
        // The execution first: one that still runs might start its work again.
        self.queue = execution.into_iter().chain(work).collect();
        self.stopped = true;
        self.phase = Phase::Stop(plan, false);
    }

    /// Notes the task that the run ended with in the history. That comes after the recovery,
    /// because the reaper skips a task that is noted already.
    fn freed(&mut self, outcome: Option<RunOutcome>, evidence: String) {
        let note = self.note_task().map(Request::Note);
        let Some(outcome) = outcome else {
            return self.finish(Inspection::Held, note);
        };
        let evidence = match (outcome, self.gathering.lease.exit.evicted()) {
            (RunOutcome::Evicted, Some(by)) => format!("{by}; {evidence}"),
            _ => evidence,
        };
        let alert = Request::Raise(Alert::Freed(outcome, evidence));
        self.finish(
            Inspection::Freed(outcome),
            std::iter::once(alert).chain(note),
        );
    }

    fn reload(&mut self) {
        let load = Request::LoadLease(self.gathering.holder.clone(), self.gathering.lease.token);
        self.phase = Phase::Reload;
        self.queue = VecDeque::from([load]);
    }

    fn ask(&mut self, phase: Phase, command: Command) {
        self.phase = phase;
        self.queue = VecDeque::from([Request::Execute(command)]);
    }

    fn finish(&mut self, inspection: Inspection, last: impl IntoIterator<Item = Request>) {
        self.phase = Phase::Finish(inspection);
        self.queue = last.into_iter().collect();
    }

    fn held(&self, now: Timestamp) -> Inspection {
        match self.gathering.lease.exit.ending {
            Some(_) if self.gathering.evidence.is_settling(now) => Inspection::Settling,
            Some(_) if self.gathering.evidence.is_unlisted() => Inspection::Unlisted,
            Some(_) => Inspection::Ending,
            None if self.doubted => Inspection::Renewed,
            None => Inspection::Held,
        }
    }
}
