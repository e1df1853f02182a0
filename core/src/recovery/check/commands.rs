//! The commands of a check.
//!
//! Each command on a holder names the grant by its fencing token. A command that frees or stops a holder also names
//! the version of the lease under which the evidence was gathered. If the record has another grant or
//! another version, the command changes nothing.

use super::Check;
use crate::domain::{
    AuditNote, Command, DropWaiter, ExitStep, Freeze, HolderId, Mark, NoteTask, Recover,
    RecoveryBasis, TaskArn,
};
use crate::recovery::{Commitment, TaskObservation, WorkObservation};

impl Check {
    /// Returns the command that must succeed before anything is stopped; `None` if an earlier check has
    /// executed it.
    pub(super) fn commitment(&self, commit: Commitment) -> Option<Command> {
        match commit {
            Commitment::Done => None,
            Commitment::Ending => Some(self.mark(ExitStep::Ending)),
            Commitment::Stop(reason) => Some(self.mark(ExitStep::Stop(reason))),
        }
    }

    /// Returns the command that marks a silent holder as a suspect, which gives it the time of one
    /// heartbeat to show that it is alive.
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

    /// Returns the command that freezes the lock. The note names the holder, because an operator reads
    /// it on the frozen lock.
    pub(super) fn freeze(&self, why: &str) -> Command {
        Command::Freeze(Freeze {
            holder: self.gathering.holder.clone(),
            token: self.gathering.lease.token,
            note: format!("{} {why}", self.gathering.holder),
            retention: self.retention,
        })
    }

    /// Returns the command that frees the permit. The history and the event contain `evidence`.
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

    /// Returns the command that takes a dead replacer out of the queue, which also withdraws the
    /// replacement. A replacer that was granted a permit in the meantime keeps it.
    pub(super) fn drop_waiter(&self, replacer: HolderId) -> Command {
        let audit = AuditNote {
            actor: self.gathering.holder.clone(),
            note: "its execution has ended".into(),
            retention: self.retention,
        };
        Command::DropWaiter(DropWaiter::of(replacer, audit))
    }

    /// Returns the command that records the task that the run ended with: of several tasks, the one that
    /// stopped last, because it belongs to the last attempt. Returns `None` if no task is seen to have
    /// stopped.
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
