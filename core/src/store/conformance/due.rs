//! Guarantees of the sweep's index.

use super::Bench;
use super::samples::{assign, at, held};
use crate::domain::{Assign, Clause, LockKey, LockRecord, Timestamp};
use crate::store::{DUE_PAGE, DueLock, LockStore, SHARDS, shard};

/// A time at which every lock with a `due` is due.
const END: Timestamp = Timestamp::MAX;

pub(super) async fn only_locks_with_holders_or_waiters_are_due_and_from_their_time_on<
    S: LockStore,
>(
    bench: &Bench<'_, S>,
) {
    let lock = bench.lock("due");
    let mine = [lock.clone()];
    bench.given(&lock, &due_at(61_000)).await;
    let assign = |assigned| assign(vec![Clause::Readable], vec![assigned]);
    let own = |due| {
        let lock = lock.clone();
        vec![DueLock { due: at(due), lock }]
    };

    for (until, due) in [(60_999, vec![]), (61_000, own(61_000))] {
        assert_eq!(all_due(bench, shard(&lock), at(until), &mine).await, due);
    }
    let moved = Assign::Due(Some(at(70_000)));
    let back = (Assign::DueUnlessSet(at(80_000)), own(80_000));
    for (assigned, due) in [(moved, own(70_000)), (Assign::Due(None), vec![]), back] {
        bench.commit(&lock, &assign(assigned)).await;
        assert_eq!(all_due(bench, shard(&lock), END, &mine).await, due);
    }
    for other in (0..SHARDS).filter(|other| *other != shard(&lock)) {
        assert_eq!(all_due(bench, other, END, &mine).await, []);
    }
}

pub(super) async fn the_due_locks_of_a_shard_come_page_by_page_longest_due_first<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    const OF: u8 = 3;
    let locks = (0..).map(|number| bench.lock(&format!("page-{number}")));
    let locks = locks.filter(|lock| shard(lock) == OF);
    let locks: Vec<_> = locks.take(2 * DUE_PAGE + 7).collect();
    let mut expected = Vec::new();
    for (number, lock) in (0..).zip(&locks) {
        // Locks that are written later are due earlier.
        let due = at(200_000 - number);
        bench.given(lock, &due_at(due.millis())).await;
        let lock = lock.clone();
        expected.push(DueLock { due, lock });
    }
    expected.reverse();

    let due = all_due(bench, OF, at(200_000), &locks).await;

    assert_eq!(due, expected);
}

/// Reads all pages of the shard, and returns the due locks that are in `mine`. Locks of other cases and
/// earlier runs are left out.
async fn all_due<S: LockStore>(
    bench: &Bench<'_, S>,
    shard: u8,
    until: Timestamp,
    mine: &[LockKey],
) -> Vec<DueLock> {
    let (mut due, mut after) = (Vec::new(), None);
    loop {
        let page = bench.store.due(shard, until, after.as_ref()).await;
        let page = page.expect("the store works");
        let count = page.locks.len();
        assert!(count <= DUE_PAGE, "{count} on a page");
        due.extend(page.locks);
        after = page.next;
        if after.is_none() {
            due.retain(|due| mine.contains(&due.lock));
            return due;
        }
    }
}

fn due_at(millis: u64) -> LockRecord {
    let mut record = held();
    record.due = Some(at(millis));
    record
}
