//! One check of a holder, as a state machine without I/O: it yields requests and takes the answers.
//!
//! ```text
//!  gather the evidence ─▶ verdict
//!                           ├─▶ leave the holder
//!                           ├─▶ write: recover, freeze, suspect, drop the replacer
//!                           └─▶ commit the stop ─▶ StopExecution ─▶ stop the work ─▶ gather again, once
//!                                    │ a heartbeat came first
//!                                    └─▶ load the lease ─▶ gather again, once
//! ```
//!
//! The function may die after each call, so a stop is committed to the table before it is carried out. A
//! command that frees or stops a holder names the version of the lease that was judged. If such a
//! command changes nothing, one more round follows with the current lease. A holder that renews its
//! lease in both rounds is alive.

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
    /// The requests of this phase that are still to be sent.
    queue: VecDeque<Request>,
    /// [`Verdict::doubted`] of the last verdict.
    doubted: bool,
    /// Whether the calls that stop the holder were made. The evidence is gathered and judged once more
    /// afterwards, and nothing is stopped again.
    stopped: bool,
    /// Whether the lease was read again because it had changed since the check began. A check does so
    /// once.
    reloaded: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Gather,
    /// The stop is being committed.
    Commit(StopPlan),
    /// The calls that stop the holder are under way. Contains whether AWS accepted one.
    Stop(StopPlan, bool),
    /// The holder is being marked as a suspect. Contains why its evidence is missing.
    Alert(String),
    Recover(String),
    Freeze,
    Reload,
    /// The result is known. The requests that are left do not change it.
    Finish(Inspection),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct StopPlan {
    execution: bool,
    work: Vec<String>,
    why: String,
    /// Whether this check committed the stop, so that it also reports the stop. Later checks repeat the
    /// calls until the work has stopped, without a report.
    is_first: bool,
}

impl Check {
    /// Creates a check of `holder`, whose lease was read as `lease`. `hint` is the content of the event
    /// that caused the check. The history keeps an ended run for `retention`.
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

    /// Returns the first request.
    pub fn begin(&mut self, now: Timestamp) -> CheckStep {
        self.next(now)
    }

    /// Takes the answer to the last request. Returns the next step.
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
            // Only the check that sets the mark raises the alert.
            (Phase::Alert(why), CheckAnswer::Executed(Outcome::Done)) => {
                let alert = Alert::EvidenceMissing(why.clone());
                self.finish(self.held(now), [Request::Raise(alert)]);
            }
            (Phase::Recover(_), _) => self.reload(),
            (Phase::Freeze, CheckAnswer::Executed(Outcome::Frozen { note, .. })) => {
                self.finish(self.held(now), [Request::Raise(Alert::Frozen(note))]);
            }
            (Phase::Reload, CheckAnswer::Lease(Some(lease))) if !self.reloaded => {
                self.reloaded = true;
                self.gathering.lease = lease;
                self.gathering.restart();
                self.phase = Phase::Gather;
            }
            (Phase::Reload, CheckAnswer::Lease(None)) => self.finish(Inspection::Gone, []),
            // A lock is also frozen because nothing shows whether its holder lives.
            (Phase::Freeze, _) => self.finish(self.held(now), []),
            (Phase::Reload, _) => self.finish(Inspection::Held, []),
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
                            let why =
                                format!("{}, but every call that would stop it failed", plan.why);
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
        tracing::info!(event = "holder_checked", %lock, %holder, %token, ?action, "holder checked");
        match action {
            Action::Leave => self.finish(self.held(now), []),
            Action::Wake => {
                let wake = Request::Wake(self.gathering.lease.clone());
                self.finish(self.held(now), [wake]);
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
            // A stop takes time. A later check finds the work stopped.
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

    /// Carries out a stop after its commit, with the lease as the commit has left it.
    fn carry_out(&mut self, plan: StopPlan, now: Timestamp) {
        let cause = match plan.execution {
            true => EndingCause::Stopped,
            false => EndingCause::Over,
        };
        let lease = &mut self.gathering.lease;
        lease.exit = lease.exit.ending(cause, now);
        // The command only marked the holder as ending, and nothing is to be stopped.
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
        // The execution is stopped first, because a running execution might start its work again.
        self.queue = execution.into_iter().chain(work).collect();
        self.stopped = true;
        self.phase = Phase::Stop(plan, false);
    }

    /// Ends the check after a recovery, with an alert, and records the task that the run ended with in
    /// the history. The task is recorded after the recovery, because the reaper skips a task that is
    /// already recorded.
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
            None if self.gathering.evidence.is_unanswered() => Inspection::Unanswered,
            None => Inspection::Held,
        }
    }
}
