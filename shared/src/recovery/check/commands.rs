//! The commands of a check.

use super::Check;
use crate::domain::{
    AuditNote, Command, Evict, Freeze, HolderId, MarkEnding, NoteTask, Recover, RecoveryBasis,
    Stop, Suspect, TaskArn,
};
use crate::recovery::{Commitment, TaskObservation, WorkObservation};

impl Check {
    pub(super) fn commitment(&self, commit: Commitment) -> Option<Command> {
        let (holder, token) = (self.holder.clone(), self.lease.token);
        let seen = self.lease.version();
        match commit {
            Commitment::Done => None,
            Commitment::Ending => Some(Command::MarkEnding(MarkEnding {
                holder,
                token,
                seen: Some(seen),
            })),
            Commitment::Stop(reason) => Some(Command::Stop(Stop {
                holder,
                token,
                seen,
                reason,
            })),
        }
    }

    pub(super) fn suspect(&self) -> Command {
        Command::Suspect(Suspect {
            holder: self.holder.clone(),
            token: self.lease.token,
            seen: self.lease.version(),
        })
    }

    pub(super) fn freeze(&self, why: &str) -> Command {
        Command::Freeze(Freeze {
            holder: self.holder.clone(),
            token: self.lease.token,
            note: format!("{} {why}", self.holder),
            retention: self.retention,
        })
    }

    pub(super) fn recover(
        &self,
        basis: RecoveryBasis,
        succeeded: bool,
        evidence: String,
    ) -> Command {
        Command::Recover(Recover {
            holder: self.holder.clone(),
            token: self.lease.token,
            seen: self.lease.version(),
            basis,
            succeeded,
            evidence,
            retention: self.retention,
        })
    }

    pub(super) fn drop_waiter(&self, replacer: HolderId) -> Command {
        let audit = AuditNote {
            actor: self.holder.clone(),
            note: "its execution is over".into(),
            retention: self.retention,
        };
        Command::DropWaiter(Evict {
            holder: replacer,
            audit,
        })
    }

    pub(super) fn note_task(&self) -> Option<Command> {
        let own = match &self.evidence.task {
            TaskObservation::Seen(task) => Some(task),
            _ => None,
        };
        let of_execution = match &self.evidence.work {
            WorkObservation::Tasks(tasks) => tasks.as_slice(),
            _ => &[],
        };
        let last = of_execution.iter().chain(own).filter(|task| task.stopped);
        let task = last.max_by_key(|task| task.stopped_at)?;
        Some(Command::NoteTask(NoteTask {
            token: self.lease.token,
            task: task.end_of(TaskArn::container_of(&self.holder)),
        }))
    }
}
