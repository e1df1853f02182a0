//! Faults that the model must find: a decision on altered data, a write under a weaker guard, or a check that
//! misses evidence.

use lockstep::domain::{Assign, Change, Clause, Command, ExitStep, LockRecord, Update};
use lockstep::protocol::Reply;
use lockstep::recovery::{CheckAnswer, WorkObservation};
use lockstep::store::Commit;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mutant {
    #[default]
    None,
    /// A release is accepted with any token.
    TokenUnchecked,
    /// An acquire does not see the queue.
    QueueUnseen,
    /// A hand-over does not check that its waiter is still in the queue.
    TicketUnguarded,
    /// A recovery empties the queue.
    QueueDropped,
    /// A hand-over leaves the side item of its waiter.
    SideItemKept,
    /// A release that cannot hand over does not make the lock due for the sweep.
    DueForgotten,
    /// A stop is committed although the lease was renewed since.
    StopUnguarded,
    /// Work is stopped although the lease was renewed since.
    EndingUnguarded,
    /// A check sees no tasks.
    TasksUnseen,
    /// Recovery records no success.
    ExitCodeUnread,
    /// A renewal sets its end of the lease, even over a later one.
    EndMovesBack,
    /// A redriven run takes the loss of its lease for its success.
    FinishedUnread,
    /// A container that was stopped and exits with 0 counts as succeeded.
    StoppedSucceeds,
}

impl Mutant {
    /// Alters the data on which a call decides.
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

    /// Alters a command of a check.
    pub(crate) fn command(self, command: &mut Command) {
        match (self, command) {
            (Self::EndingUnguarded, Command::Mark(mark)) if mark.step == ExitStep::Ending => {
                mark.seen = None;
            }
            (Self::ExitCodeUnread, Command::Recover(recover)) => recover.succeeded = false,
            _ => {}
        }
    }

    /// Alters the evidence of a check.
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

    /// Returns the change with an altered guard, or with altered writes to `record`.
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

/// Returns whether a clause of a renewal is about something other than the end of the lease.
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
