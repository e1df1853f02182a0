//! The verdict on a holder, and what its readers take from it.
//!
//! ```text
//!  Check    acts on it
//!  show     what a check would do now, or the first time at which it would do something
//!  evict    whether the holder lives
//!  settle   how the run ended
//! ```

use super::{
    ABORT_SETTLES, Action, Evidence, ExecutionObservation, LAG_MAX, LIST_LAG, TaskObservation,
    WorkObservation, judge,
};
use crate::domain::{ExecutionDescription, Lease, Timestamp, UNCONFIRMED_MAX, rfc3339};

/// The evidence about a holder, and the action that it demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The lease that was judged.
    pub lease: Lease,
    /// The description of the execution as Step Functions gave it.
    pub described: ExecutionObservation,
    /// The evidence that was judged: an event or the lease may show more than the description.
    pub evidence: Evidence,
    /// Whether the end of the execution is older than the last sign of life, and may lag behind a
    /// redrive.
    pub doubted: bool,
    /// What a check does now.
    pub action: Action,
}

/// What a check does about a holder that gives no further sign of life, and from when on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The action.
    pub action: Action,
    /// The earliest check that takes it; the time of the verdict, if it is that of the verdict itself.
    pub from: Timestamp,
}

/// Whether a holder lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Life {
    /// Its execution, its task or its work runs, or its lease is live and nothing shows its end. Contains the sign.
    Alive(String),
    /// It has ended, and nothing of it runs.
    Ended,
    /// Its lease has ended, and there is no other evidence.
    Silent,
    /// Its lease has ended, and a call that would show more failed. Contains why.
    Hidden(String),
}

/// How a run ended that had lost its permit and continued without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    /// Whether its work succeeded.
    pub succeeded: bool,
    /// What shows it.
    pub evidence: String,
}

impl Verdict {
    /// Returns what a check does to the holder next if nothing changes but the time; `None` if no check
    /// does anything.
    #[must_use]
    pub fn next(&self, now: Timestamp) -> Option<Next> {
        let mut times = self.turning_points();
        times.retain(|at| *at > now);
        times.sort_unstable();
        let later = times.into_iter().map(|at| (self.at(at), at));
        let mut actions = std::iter::once((self.action.clone(), now)).chain(later);
        let (action, from) = actions.find(|(action, _)| *action != Action::Leave)?;
        Some(Next { action, from })
    }

    /// Returns the action under the same evidence at another time.
    fn at(&self, now: Timestamp) -> Action {
        let mut evidence = Evidence {
            execution: self.described.clone(),
            ..self.evidence.clone()
        };
        evidence.doubt(&self.lease, now);
        judge(&self.lease, &evidence, now)
    }

    /// Returns the times at which [`judge`] may come to another action under the same evidence.
    fn turning_points(&self) -> Vec<Timestamp> {
        let lease = &self.lease;
        let ends = |seen: &ExecutionDescription| {
            let waits = [LIST_LAG, ABORT_SETTLES];
            let waits = waits.map(|wait| seen.stopped_at.map(|at| at.plus(wait)));
            waits.into_iter().flatten()
        };
        let mut times = vec![
            lease.dead_at(),
            lease.hidden_until(),
            lease.token.granted_at().plus(UNCONFIRMED_MAX),
            lease.last_sign().plus(LAG_MAX),
        ];
        times.extend(lease.limit_ends());
        times.extend(lease.exit.suspect.map(|at| lease.suspicion_ends(at)));
        times.extend(
            lease
                .exit
                .ending
                .as_ref()
                .map(|ending| ending.since.plus(ABORT_SETTLES)),
        );
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

    /// Returns whether the execution of the holder is seen to have ended, whatever its work does.
    #[must_use]
    pub fn execution_has_ended(&self) -> bool {
        let seen = matches!(self.evidence.execution, ExecutionObservation::Seen(_));
        seen && !self.evidence.execution.is_running()
    }

    /// Returns how the run ended, if it had lost its permit and continued without it. `None` while the
    /// run or its work may still be running: such a run has no lease to renew, so its silence shows
    /// nothing.
    #[must_use]
    pub fn over(self) -> Option<Over> {
        if self.evidence.execution.is_running() {
            return None;
        }
        match self.action {
            Action::Recover {
                succeeded,
                evidence,
                ..
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

    /// Returns why a call that would show the execution, the task or the work of the holder failed.
    #[must_use]
    pub fn hidden(&self) -> Option<&str> {
        let execution = match &self.execution {
            ExecutionObservation::Hidden(why) => Some(why),
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
