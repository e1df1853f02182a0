//! Promises about the queue.

use super::{Book, Verdict, Write};
use lockstep::domain::{LockRecord, Ticket, WaiterId};

/// Keeps the line as the arrivals make it, and checks that the tickets say the same.
pub(super) fn check(write: &Write<'_>, book: &mut Book) -> Verdict {
    let after = write.after;
    book.line.retain(|id| after.queue.contains_key(id));
    let came: Vec<_> = after
        .queue
        .iter()
        .filter(|(id, _)| !book.line.contains(id))
        .collect();
    if came.len() > 1 {
        return Err("two waiters came with one write".into());
    }
    for (id, ticket) in came {
        let in_front = write
            .before
            .is_some_and(|before| *ticket < before.front_ticket)
            || *ticket <= Ticket::ZERO;
        if in_front && !write.audit.replacers.contains(id) {
            return Err(format!("{id} went first without the right to"));
        }
        let place = if in_front { 0 } else { book.line.len() };
        book.line.insert(place, id.clone());
        write
            .world
            .count(if in_front { "went first" } else { "queued" });
    }
    if by_ticket(after) != book.line {
        return Err(format!(
            "the tickets are not in the order of arrival: {:?}",
            after.queue
        ));
    }
    Ok(())
}

fn by_ticket(record: &LockRecord) -> Vec<WaiterId> {
    let mut waiters: Vec<_> = record.queue.iter().collect();
    waiters.sort_by_key(|(_, ticket)| **ticket);
    waiters.into_iter().map(|(id, _)| id.clone()).collect()
}
