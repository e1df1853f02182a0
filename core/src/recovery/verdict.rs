//! The verdict on a holder, and what its users read from it.
//!
//! ```text
//!  Check    executes the action
//!  show     reports what a check would do now, or the first time at which it would do something
//!  evict    asks whether the holder lives
//!  settle   records how the run ended
//! ```

use super::{
    Action, Evidence, ExecutionObservation, LAG_MAX, LIST_LAG, STOP_SETTLES, TaskObservation,
    WorkObservation, judge,
};
use crate::domain::{
    ExecutionDescription, Lease, RecoveryBasis, Timestamp, UNCONFIRMED_MAX, Waiter, rfc3339,
};

/// The evidence about a holder, and the action that follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The time of the judgement.
    pub judged_at: Timestamp,
    /// The lease that was judged.
    pub lease: Lease,
    /// The description of the execution. As Step Functions returned it, if evidence for the next action is
    /// gathered too; else as it was judged.
    pub described: ExecutionObservation,
    /// The evidence that was judged. It may differ from the description, if an event or the lease shows
    /// a newer state.
    pub evidence: Evidence,
    /// The waiter that is to replace the holder, with its execution as Step Functions described it, if
    /// evidence for the next action is gathered too.
    pub replacer: Option<(ExecutionObservation, Waiter)>,
    /// Whether the description may lag behind a redrive: the described end of the execution is older
    /// than the holder's last sign of life, or shows fewer redrives than the holder reported
    /// ([`lags_behind`](super::lags_behind)).
    pub doubted: bool,
    /// What a check does now.
    pub action: Action,
}

/// The next action on a holder that gives no further sign of life, and the time from which a check takes
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The action.
    pub action: Action,
    /// The earliest time at which a check takes the action. It is the time of the verdict if the action
    /// is that of the verdict.
    pub from: Timestamp,
}

/// Whether a holder lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Life {
    /// The holder's execution, task or work runs, or its lease is not dead and nothing shows its end.
    /// Contains the sign of life.
    Alive(String),
    /// The holder has ended, and none of its work runs.
    Ended,
    /// The holder's lease is dead, and there is no other evidence.
    Silent,
    /// The holder's lease is dead, and a call that would show more failed. Contains why.
    Hidden(String),
}

/// The end of a run that had lost its permit and continued without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    /// Whether its work succeeded.
    pub succeeded: bool,
    /// The evidence in words.
    pub evidence: String,
}

impl Verdict {
    /// Returns the next action on the holder if the evidence does not change; `None` if no later check
    /// would act.
    #[must_use]
    pub fn next(&self) -> Option<Next> {
        self.next_where([], |_, _| true)
    }

    /// Returns the next action for which `acts` holds at the time of the check. At each of `turns`, `acts`
    /// may return something else than before.
    pub fn next_where(
        &self,
        turns: impl IntoIterator<Item = Timestamp>,
        acts: impl Fn(&Action, Timestamp) -> bool,
    ) -> Option<Next> {
        let mut times = self.turning_points();
        times.extend(turns);
        times.retain(|at| *at > self.judged_at);
        times.sort_unstable();
        let later = times.into_iter().map(|at| (self.at(at), at));
        let mut actions = std::iter::once((self.action.clone(), self.judged_at)).chain(later);
        let (action, from) =
            actions.find(|(action, at)| *action != Action::Leave && acts(action, *at))?;
        Some(Next { action, from })
    }

    /// Returns the action on the same evidence at another time.
    fn at(&self, now: Timestamp) -> Action {
        let mut evidence = Evidence {
            execution: self.described.clone(),
            ..self.evidence.clone()
        };
        evidence.doubt(&self.lease, now);
        if let Some((seen, waiter)) = &self.replacer {
            evidence.replacer = seen.clone();
            evidence.register(waiter, now);
        }
        judge(&self.lease, &evidence, now)
    }

    /// Returns the times at which [`judge`] may return another action on the same evidence.
    fn turning_points(&self) -> Vec<Timestamp> {
        let lease = &self.lease;
        let ends = |seen: &ExecutionDescription| {
            let waits = [LIST_LAG, STOP_SETTLES];
            let waits = waits.map(|wait| seen.stopped_at.map(|at| at.plus(wait)));
            waits.into_iter().flatten()
        };
        let mut times = vec![
            lease.dead_at(),
            lease.freezes_without_evidence_at(),
            lease.token.granted_at().plus(UNCONFIRMED_MAX),
            lease.last_sign_of_life().plus(LAG_MAX),
        ];
        times.extend(lease.enforces_limits_at());
        if let Some((_, waiter)) = &self.replacer {
            times.push(waiter.since.plus(LAG_MAX));
            times.extend(waiter.wait_until);
        }
        times.extend(lease.exit.suspect.map(|at| lease.suspicion_ends(at)));
        let waits = [LIST_LAG, STOP_SETTLES];
        let ending_at = lease.exit.ending.iter().map(|ending| ending.since);
        times.extend(ending_at.flat_map(|at| waits.map(|wait| at.plus(wait))));
        if let ExecutionObservation::Seen(seen) = &self.described {
            times.extend(ends(seen));
        }
        if let WorkObservation::Execution(Some((_, seen))) = &self.evidence.work {
            times.extend(ends(seen));
        }
        times
    }

    /// Returns whether the holder lives.
    #[must_use]
    pub fn life(&self, now: Timestamp) -> Life {
        let Self {
            lease, evidence, ..
        } = self;
        if self.doubted {
            let why = "its execution may have been redriven a moment ago";
            return Life::Alive(why.into());
        }
        if evidence.execution.is_running() {
            return Life::Alive("its execution runs".into());
        }
        if evidence.is_at_work() {
            return Life::Alive("its work runs".into());
        }
        let ended = match (&evidence.execution, &evidence.task) {
            (ExecutionObservation::Seen(_), _) => true,
            (_, TaskObservation::Seen(task)) => task.stopped,
            _ => false,
        };
        match (evidence.hidden(), lease.is_dead(now)) {
            (None, _) if ended => Life::Ended,
            (None, true) => Life::Silent,
            (Some(why), true) => Life::Hidden(why.to_owned()),
            (_, false) => Life::Alive(format!(
                "its lease lasts until {}",
                rfc3339(match lease.is_live(now) {
                    true => lease.expires_at,
                    false => lease.dead_at(),
                })
            )),
        }
    }

    /// Returns whether the execution of the holder is seen to have ended, whether its work runs or not.
    #[must_use]
    pub fn execution_has_ended(&self) -> bool {
        let seen = matches!(self.evidence.execution, ExecutionObservation::Seen(_));
        seen && !self.evidence.execution.is_running()
    }

    /// Returns how a run ended that had lost its permit and continued without it. Returns `None` while
    /// the run or its work may still be running. Such a run has no lease to renew, so a missing
    /// heartbeat and the end of its lease show nothing.
    #[must_use]
    pub fn over(self) -> Option<Over> {
        if self.evidence.execution.is_running() {
            return None;
        }
        match self.action {
            Action::Recover {
                basis: RecoveryBasis::Seen,
                succeeded,
                evidence,
            } => Some(Over {
                succeeded,
                evidence,
            }),
            _ => None,
        }
    }
}

impl Evidence {
    /// Returns whether the holder's own task, or its work, is seen to run.
    #[must_use]
    pub fn is_at_work(&self) -> bool {
        let own = matches!(&self.task, TaskObservation::Seen(task) if !task.stopped);
        own || !super::evidence::at_work(&self.work).is_empty()
    }

    /// Returns whether the holder may have ended although nothing shows that: DescribeExecution failed for its
    /// execution, and may succeed soon; or the execution has ended, and its work could not be read.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        let has_ended = matches!(&self.execution, ExecutionObservation::Seen(_))
            && !self.execution.is_running();
        let is_hidden = matches!(self.work, WorkObservation::Hidden(_));
        matches!(self.execution, ExecutionObservation::Unanswered(_)) || has_ended && is_hidden
    }

    /// Returns why the call for the execution, the task or the work of the holder failed; `None` if all
    /// calls succeeded.
    #[must_use]
    pub fn hidden(&self) -> Option<&str> {
        let execution = match &self.execution {
            ExecutionObservation::Hidden(why) | ExecutionObservation::Unanswered(why) => Some(why),
            _ => None,
        };
        let task = match &self.task {
            TaskObservation::Hidden(why) => Some(why),
            _ => None,
        };
        let work = match &self.work {
            WorkObservation::Hidden(why) => Some(why),
            _ => None,
        };
        execution.or(task).or(work).map(String::as_str)
    }
}
