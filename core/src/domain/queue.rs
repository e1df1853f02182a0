//! The queue of a lock.

use super::ticket::{Ticket, WaiterId};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Maximum number of waiters of a lock. It bounds the size of the record.
pub const QUEUE_MAX: usize = 500;

/// The waiters of a lock with their tickets.
///
/// Clones share the map until one of them is changed, because most decisions leave the queue as it is
/// and a queue has up to [`QUEUE_MAX`] waiters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Queue(Arc<BTreeMap<WaiterId, Ticket>>);

impl Deref for Queue {
    type Target = BTreeMap<WaiterId, Ticket>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Queue {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl FromIterator<(WaiterId, Ticket)> for Queue {
    fn from_iter<I: IntoIterator<Item = (WaiterId, Ticket)>>(waiters: I) -> Self {
        Self(Arc::new(waiters.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(number: u8) -> (WaiterId, Ticket) {
        let id = WaiterId::new(format!("{number:016x}")).unwrap();
        (id, Ticket::from_number(number.into()))
    }

    #[test]
    fn a_clone_shares_the_waiters_until_one_of_both_is_changed() {
        let queue: Queue = (0..3).map(waiter).collect();

        let mut other = queue.clone();
        assert!(Arc::ptr_eq(&queue.0, &other.0));
        let (fourth, ticket) = waiter(3);
        other.insert(fourth.clone(), ticket);

        assert_eq!((queue.len(), other.len()), (3, 4));
        assert_eq!(queue.get(&fourth), None);
    }
}
