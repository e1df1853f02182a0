//! Faults that the model must find: a decision on a doctored look, or a write under a weaker guard.

use lockstep::domain::{Assign, Change, Clause, Command, Snapshot, Update};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    None,
    /// A release counts whatever its token says.
    TokenUnchecked,
    /// An arrival does not see who waits.
    QueueUnseen,
    /// A hand-over does not look whether its waiter still waits.
    TicketUnguarded,
    /// A recovery empties the queue.
    QueueDropped,
}

impl Mutant {
    /// Doctors what a decision sees.
    pub(crate) fn look(self, seen: &mut Snapshot, command: &mut Command) {
        let Some(record) = &mut seen.record else {
            return;
        };
        match (self, command) {
            (Self::TokenUnchecked, Command::Release(release)) => {
                if let Some(lease) = record.holders.get(&release.holder) {
                    release.token = lease.token;
                }
            }
            (Self::QueueUnseen, Command::Acquire(_)) => record.queue.clear(),
            _ => {}
        }
    }

    /// Doctors the guard of what was decided.
    pub(crate) fn write(self, command: &Command, seen: &Snapshot, change: &mut Change) {
        match (self, command, &mut change.update) {
            (Self::TicketUnguarded, ..) => {
                let ticket = |clause: &Clause| matches!(clause, Clause::TicketIs(..));
                change.guard.0.retain(|clause| !ticket(clause));
            }
            (Self::QueueDropped, Command::Recover(_), Update::Assign(assigns)) => {
                let queue = seen.record.iter().flat_map(|record| record.queue.keys());
                assigns.extend(queue.cloned().map(Assign::DropTicket));
            }
            _ => {}
        }
    }
}
