//! Faults that the model must find: a decision on altered evidence, a write under a weaker guard, or
//! a check that takes in too little.

use lockstep::domain::{Assign, Change, Clause, Command, ExitStep, LockRecord, Update};
use lockstep::protocol::Reply;
use lockstep::recovery::{CheckAnswer, WorkObservation};
use lockstep::store::Commit;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mutant {
    #[default]
    None,
    /// A release counts whatever its token says.
    TokenUnchecked,
    /// An arrival does not see who waits.
    QueueUnseen,
    /// A hand-over does not check whether its waiter still waits.
    TicketUnguarded,
    /// A recovery empties the queue.
    QueueDropped,
    /// A hand-over leaves the side item of its waiter.
    SideItemKept,
    /// A release that cannot hand over does not make the lock due for the sweep.
    DueForgotten,
    /// A stop is committed whatever has become of the lease since.
    StopUnguarded,
    /// Work is stopped whatever has become of the lease since.
    EndingUnguarded,
    /// A check takes no notice of tasks.
    TasksUnseen,
    /// Recovery records no success.
    ExitCodeUnread,
    /// A renewal sets the end of the lease that it brings, whatever end it meets.
    EndMovesBack,
    /// A redriven run takes the end of its lease for its success.
    FinishedUnread,
    /// A container that was stopped and exits with 0 has succeeded.
    StoppedSucceeds,
}

impl Mutant {
    /// Doctors what a decision sees.
    pub(crate) fn reply(self, command: &Command, reply: &mut Reply) {
        let record = match reply {
            Reply::Record(record) => record.as_mut(),
            Reply::Commit(Commit::Conflict(found)) => {
                found.record.as_mut().and_then(Option::as_mut)
            }
            _ => None,
        };
        match (self, command, record) {
            (Self::QueueUnseen, Command::Acquire(_), Some(record)) => record.queue.clear(),
            (Self::StopUnguarded, Command::Mark(mark), Some(record)) => {
                let seen = mark.seen.filter(|_| matches!(mark.step, ExitStep::Stop(_)));
                let lease = record.holders.get_mut(&mark.holder);
                if let Some((lease, seen)) = lease.zip(seen) {
                    lease.expires_at = seen.expires_at;
                    lease.exit.suspect = Some(seen.expires_at);
                }
            }
            _ => {}
        }
    }

    /// Doctors a command of a check.
    pub(crate) fn command(self, command: &mut Command) {
        match (self, command) {
            (Self::EndingUnguarded, Command::Mark(mark)) if mark.step == ExitStep::Ending => {
                mark.seen = None;
            }
            (Self::ExitCodeUnread, Command::Recover(recover)) => recover.succeeded = false,
            _ => {}
        }
    }

    /// Doctors what a check sees.
    pub(crate) fn sight(self, answer: &mut CheckAnswer) {
        let CheckAnswer::Work(WorkObservation::Tasks(tasks)) = answer else {
            return;
        };
        match self {
            Self::TasksUnseen => tasks.clear(),
            Self::StoppedSucceeds => {
                let stopped = tasks.iter_mut().filter(|task| task.stopped);
                stopped.for_each(|task| task.ended_by_itself = true);
            }
            _ => {}
        }
    }

    /// Doctors the guard of what was decided, or what it writes over `record`.
    pub(crate) fn write<'a>(
        self,
        command: &Command,
        record: Option<&LockRecord>,
        change: &'a Change,
    ) -> Cow<'a, Change> {
        let mut change = Cow::Borrowed(change);
        match (self, command) {
            (Self::TokenUnchecked, Command::Release(_)) => {
                let lease = |clause: &Clause| matches!(clause, Clause::LeaseIs(..));
                change.to_mut().guard.0.retain(|clause| !lease(clause));
                change.to_mut().runs.clear();
            }
            (Self::TicketUnguarded, _) => {
                let ticket = |clause: &Clause| matches!(clause, Clause::TicketIs(..));
                change.to_mut().guard.0.retain(|clause| !ticket(clause));
            }
            (Self::QueueDropped, Command::Recover(_)) => {
                if let Update::Assign(assigns) = &mut change.to_mut().update {
                    let queue = record.into_iter().flat_map(|record| record.queue.keys());
                    assigns.extend(queue.cloned().map(Assign::DropTicket));
                }
            }
            (Self::EndMovesBack, Command::Renew(_)) => {
                change.to_mut().guard.0.retain(is_no_end);
            }
            (Self::SideItemKept, _) => change.to_mut().waiter = None,
            (Self::DueForgotten, Command::Release(_)) => {
                if let Update::Assign(assigns) = &mut change.to_mut().update {
                    assigns.retain(|assign| !matches!(assign, Assign::Due(Some(_))));
                }
            }
            _ => {}
        }
        change
    }
}

/// Whether a clause of a renewal is about something else than the end of the lease.
fn is_no_end(clause: &Clause) -> bool {
    matches!(
        clause,
        Clause::Readable
            | Clause::LeaseIs(..)
            | Clause::NotSpent(..)
            | Clause::NotEnding(..)
            | Clause::RedrivesAre(..)
            | Clause::NoProgressIs(..)
            | Clause::ProgressIsNot(..)
    )
}
