//! Promises about the queue.

use super::{Book, Verdict, Write, kept};
use lockstep::domain::{LockRecord, Ticket, WaiterId};

/// Keeps the queue in the order of arrival, and checks that the tickets are in the same order.
pub(super) fn check(write: &Write<'_>, book: &mut Book) -> Verdict {
    let after = write.after;
    book.line.retain(|id| after.queue.contains_key(id));
    let came = after.queue.iter();
    let came: Vec<_> = came.filter(|(id, _)| !book.line.contains(id)).collect();
    kept(came.len() <= 1, || "two waiters came with one write".into())?;
    for (id, ticket) in came {
        let before = write.before;
        let in_front =
            before.is_some_and(|before| *ticket < before.front_ticket) || *ticket <= Ticket::ZERO;
        kept(!in_front || write.audit.replacers.contains(id), || {
            format!("{id} went first without the right to")
        })?;
        let place = if in_front { 0 } else { book.line.len() };
        book.line.insert(place, id.clone());
        let how = if in_front { "went first" } else { "queued" };
        write.world.count(how);
    }
    let queue = &after.queue;
    kept(by_ticket(after) == book.line, || {
        format!("the tickets are not in the order of arrival: {queue:?}")
    })
}

fn by_ticket(record: &LockRecord) -> Vec<WaiterId> {
    let mut waiters: Vec<_> = record.queue.iter().collect();
    waiters.sort_by_key(|(_, ticket)| **ticket);
    waiters.into_iter().map(|(id, _)| id.clone()).collect()
}
