//! The commands of a check.
//!
//! Each names the grant by its token, and those that free or stop a holder name the version of the
//! lease that the evidence was gathered under. A command that meets another grant, or another
//! version, changes nothing.

use super::Check;
use crate::domain::{
    AuditNote, Command, DropWaiter, ExitStep, Freeze, HolderId, Mark, NoteTask, Recover,
    RecoveryBasis, TaskArn,
};
use crate::recovery::{Commitment, TaskObservation, WorkObservation};

impl Check {
    /// Returns the write that has to come before the work is stopped; `None` if it was made by an
    /// earlier check.
    pub(super) fn commitment(&self, commit: Commitment) -> Option<Command> {
        match commit {
            Commitment::Done => None,
            Commitment::Ending => Some(self.mark(ExitStep::Ending)),
            Commitment::Stop(reason) => Some(self.mark(ExitStep::Stop(reason))),
        }
    }

    /// Gives a silent holder the time of a heartbeat to show that it is alive.
    pub(super) fn suspect(&self) -> Command {
        self.mark(ExitStep::Suspect)
    }

    fn mark(&self, step: ExitStep) -> Command {
        Command::Mark(Mark {
            holder: self.gathering.holder.clone(),
            token: self.gathering.lease.token,
            seen: Some(self.gathering.lease.version()),
            step,
        })
    }

    /// Closes the lock. The note names the holder, because it is what an operator reads on the
    /// closed lock.
    pub(super) fn freeze(&self, why: &str) -> Command {
        Command::Freeze(Freeze {
            holder: self.gathering.holder.clone(),
            token: self.gathering.lease.token,
            note: format!("{} {why}", self.gathering.holder),
            retention: self.retention,
        })
    }

    /// Frees the permit. `evidence` goes into the history as it is, and into the event.
    pub(super) fn recover(
        &self,
        basis: RecoveryBasis,
        succeeded: bool,
        evidence: String,
    ) -> Command {
        Command::Recover(Recover {
            holder: self.gathering.holder.clone(),
            token: self.gathering.lease.token,
            seen: self.gathering.lease.version(),
            basis,
            succeeded,
            evidence,
            retention: self.retention,
        })
    }

    /// Takes a dead replacer out of the queue, and with it the replacement. It takes a place and
    /// never a permit, so a replacer that was granted one meanwhile keeps it.
    pub(super) fn drop_waiter(&self, replacer: HolderId) -> Command {
        let audit = AuditNote {
            actor: self.gathering.holder.clone(),
            note: "its execution is over".into(),
            retention: self.retention,
        };
        Command::DropWaiter(DropWaiter::of(replacer, audit))
    }

    /// Adds the task that the run ended with to its entry in the history; `None` if no task is seen
    /// to have stopped. Of several, the last that stopped: it is of the last attempt.
    pub(super) fn note_task(&self) -> Option<Command> {
        let own = match &self.gathering.evidence.task {
            TaskObservation::Seen(task) => Some(task),
            _ => None,
        };
        let of_execution = match &self.gathering.evidence.work {
            WorkObservation::Tasks(tasks) => tasks.as_slice(),
            _ => &[],
        };
        let last = of_execution.iter().chain(own).filter(|task| task.stopped);
        let task = last.max_by_key(|task| task.stopped_at)?;
        Some(Command::NoteTask(NoteTask {
            token: self.gathering.lease.token,
            task: task.end_of(TaskArn::container_of(&self.gathering.holder)),
        }))
    }
}
