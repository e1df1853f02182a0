//! The update of a record, as plain data.
//!
//! An update assigns single attributes, not a whole record. All other attributes stay as they are,
//! including those that only a newer version knows. The memory store applies the assignments to a value,
//! and the DynamoDB store renders them as one UpdateExpression.

use super::expectation::Expectation;
use super::gate::Mode;
use super::holder::{HolderId, TaskToken};
use super::lease::{Lease, Pace};
use super::permits::Permits;
use super::record::LockRecord;
use super::ticket::{Ticket, WaiterId};
use super::time::Timestamp;
use super::token::FencingToken;

/// One named assignment.
#[expect(
    clippy::large_enum_variant,
    reason = "an update has a handful of them, for a moment"
)]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Assign {
    /// The lock's capacity.
    Permits(Permits),
    /// The token of the latest grant.
    LastToken(FencingToken),
    /// Earliest time of the next grant.
    NotBefore(Timestamp),
    /// Whether the lock grants permits.
    Mode(Mode),
    /// When a run last succeeded.
    LastSuccess(Option<Timestamp>),
    /// When a run last failed, was found dead, or lost its permit.
    LastFailure(Option<Timestamp>),
    /// How often a run is expected to succeed.
    Expectation(Option<Expectation>),
    /// The lease of a new grant.
    PutLease(HolderId, Lease),
    /// The lease of a grant, as it was and as it is now. Only what differs is written, so that the lease keeps
    /// what a later version has added to it.
    ChangeLease(HolderId, Box<[Lease; 2]>),
    /// Renews the holder's lease at this time: the lease ends its length later, or the length of the new
    /// pace later. A new task token replaces that of the heartbeat state.
    ExtendLease(HolderId, Timestamp, Option<TaskToken>, Option<Pace>),
    /// The progress that the holder reports, and when the run counts as stalled without further
    /// progress.
    Progress(HolderId, String, Option<Timestamp>),
    /// Removes the holder's lease.
    DropLease(HolderId),
    /// Adds the waiter at the end of the queue, with the ticket after [`LockRecord::last_ticket`].
    Enqueue(WaiterId),
    /// The waiter's ticket.
    PutTicket(WaiterId, Ticket),
    /// Removes the waiter from the queue.
    DropTicket(WaiterId),
    /// The ticket of the latest waiter at the end of the queue.
    LastTicket(Ticket),
    /// The ticket of the latest run that joined the front of the queue.
    FrontTicket(Ticket),
    /// When the lock is due for the sweep; `None` removes the record from the sweep's index.
    Due(Option<Timestamp>),
    /// When the lock is due for the sweep, unless a time is set already. The guard has to rule out that
    /// this time is too late.
    DueUnlessSet(Timestamp),
}

/// The update of a record. `Assign` also increments `version`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Update {
    /// Creates the first record of a lock.
    Create(LockRecord),
    /// Assigns attributes of the existing record.
    Assign(Vec<Assign>),
    /// Leaves the record as it is: the write changes only runs and side items.
    Keep,
}

impl Update {
    /// Returns the assignments that turn `old` into `new`.
    #[must_use]
    pub fn between(old: &LockRecord, new: &LockRecord) -> Self {
        let mut assigns = Vec::new();
        if old.permits != new.permits {
            assigns.push(Assign::Permits(new.permits));
        }
        if old.last_token != new.last_token {
            assigns.push(Assign::LastToken(new.last_token));
        }
        if old.gate.not_before != new.gate.not_before {
            assigns.push(Assign::NotBefore(new.gate.not_before));
        }
        if old.gate.mode != new.gate.mode {
            assigns.push(Assign::Mode(new.gate.mode.clone()));
        }
        if old.last_success != new.last_success {
            assigns.push(Assign::LastSuccess(new.last_success));
        }
        if old.last_failure != new.last_failure {
            assigns.push(Assign::LastFailure(new.last_failure));
        }
        if old.expectation != new.expectation {
            assigns.push(Assign::Expectation(new.expectation));
        }
        if old.last_ticket != new.last_ticket {
            assigns.push(Assign::LastTicket(new.last_ticket));
        }
        if old.front_ticket != new.front_ticket {
            assigns.push(Assign::FrontTicket(new.front_ticket));
        }
        if old.due != new.due {
            assigns.push(Assign::Due(new.due));
        }
        // The comparison is cheap if both records share the queue.
        if old.queue != new.queue {
            let left = old.queue.keys().filter(|id| !new.queue.contains_key(*id));
            assigns.extend(left.cloned().map(Assign::DropTicket));
            let came = new.queue.iter();
            let came = came.filter(|(id, ticket)| old.queue.get(*id) != Some(*ticket));
            assigns.extend(came.map(|(id, ticket)| Assign::PutTicket(id.clone(), *ticket)));
        }
        let gone = old
            .holders
            .keys()
            .filter(|holder| !new.holders.contains_key(*holder));
        assigns.extend(gone.cloned().map(Assign::DropLease));
        let put = new
            .holders
            .iter()
            .filter(|(holder, lease)| old.holders.get(holder) != Some(lease));
        assigns.extend(put.map(|(holder, lease)| {
            let before = old.holders.get(holder);
            let (holder, lease) = (holder.clone(), lease.clone());
            match before.filter(|before| before.token == lease.token) {
                Some(before) => Assign::ChangeLease(holder, Box::new([before.clone(), lease])),
                None => Assign::PutLease(holder, lease),
            }
        }));
        Self::Assign(assigns)
    }

    /// Returns the record after this update; `None` if assignments meet no record.
    ///
    /// [`Assign::ExtendLease`] and [`Assign::Progress`] of a lease that does not exist change nothing.
    /// The guard has to rule that out.
    #[must_use]
    pub fn apply(&self, record: Option<&LockRecord>) -> Option<LockRecord> {
        let assigns = match self {
            Self::Create(record) => return Some(record.clone()),
            Self::Assign(assigns) => assigns,
            Self::Keep => return record.cloned(),
        };
        let mut next = record?.clone();
        next.version += 1;
        for assign in assigns {
            assign.apply(&mut next);
        }
        Some(next)
    }
}

impl Assign {
    /// Applies the assignment as DynamoDB applies the expression that the DynamoDB store renders. A test
    /// runs random sequences of commands on both stores and compares them.
    fn apply(&self, record: &mut LockRecord) {
        match self {
            Self::Permits(permits) => record.permits = *permits,
            Self::LastToken(token) => record.last_token = *token,
            Self::NotBefore(time) => record.gate.not_before = *time,
            Self::Mode(mode) => record.gate.mode = mode.clone(),
            Self::LastSuccess(time) => record.last_success = *time,
            Self::LastFailure(time) => record.last_failure = *time,
            Self::Expectation(expectation) => record.expectation = *expectation,
            Self::PutLease(holder, lease) => {
                record.holders.insert(holder.clone(), lease.clone());
            }
            Self::ChangeLease(holder, leases) => {
                let [_, lease] = &**leases;
                record.holders.insert(holder.clone(), lease.clone());
            }
            Self::ExtendLease(holder, now, beat, pace) => {
                if let Some(lease) = record.holders.get_mut(holder) {
                    *lease = lease.clone().paced(*pace).renewed(*now, beat.clone(), None);
                }
            }
            Self::Progress(holder, progress, stalls_at) => {
                if let Some(lease) = record.holders.get_mut(holder) {
                    lease.progress = Some(progress.clone());
                    lease.stalls_at = stalls_at.or(lease.stalls_at);
                }
            }
            Self::DropLease(holder) => {
                record.holders.remove(holder);
            }
            Self::Enqueue(id) => {
                record.last_ticket = record.last_ticket.behind();
                record.queue.insert(id.clone(), record.last_ticket);
            }
            Self::PutTicket(id, ticket) => {
                record.queue.insert(id.clone(), *ticket);
            }
            Self::DropTicket(id) => {
                record.queue.remove(id);
            }
            Self::LastTicket(ticket) => record.last_ticket = *ticket,
            Self::FrontTicket(ticket) => record.front_ticket = *ticket,
            Self::Due(due) => record.due = *due,
            Self::DueUnlessSet(due) => record.due = record.due.or(Some(*due)),
        }
    }
}
