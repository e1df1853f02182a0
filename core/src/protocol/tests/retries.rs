//! The number of retries on a busy table and the time that they take, and the requests to a table without a record of the lock.

use super::bench::{acquire, at, audit_note, release};
use crate::clock::{Clock, ManualClock};
use crate::domain::{
    Change, Command, FencingToken, LockKey, LockRecord, Mode, Outcome, Run, RunId, Timestamp,
    Waiter, WaiterId,
};
use crate::protocol::{Protocol, ProtocolError, RETRIES_MAX};
use crate::store::{Commit, DueLock, DuePage, Found, HistoryPage, LockStore, StoreError};
use crate::testing::now;
use std::sync::atomic::{AtomicU32, Ordering};

type Answer<T> = Result<T, StoreError>;

/// A table without a record of the lock.
#[derive(Default)]
struct Table {
    /// The number of writes that it is too busy for.
    busy: AtomicU32,
    /// The number of writes that conflict, because they expect a record.
    conflicts: AtomicU32,
    /// The number of reads of what closes new locks.
    reads: AtomicU32,
}

impl Table {
    fn busy(writes: u32) -> Self {
        let busy = AtomicU32::new(writes);
        Self {
            busy,
            ..Self::default()
        }
    }
}

/// Whether `left` was above zero, and is one less now.
fn counts_down(left: &AtomicU32) -> bool {
    let (order, step) = (Ordering::SeqCst, |left: u32| left.checked_sub(1));
    left.fetch_update(order, order, step).is_ok()
}

impl LockStore for Table {
    async fn commit(&self, _: &LockKey, _: &Change) -> Answer<Commit> {
        if counts_down(&self.conflicts) {
            let record = Some(None);
            return Ok(Commit::Conflict(Found {
                record,
                ..Found::default()
            }));
        }
        if counts_down(&self.busy) {
            return Ok(Commit::Busy);
        }
        Ok(Commit::Committed(None))
    }

    async fn load(&self, _: &LockKey) -> Answer<Option<LockRecord>> {
        Ok(None)
    }

    async fn new_locks(&self) -> Answer<Option<Mode>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        Ok(None)
    }

    async fn load_run(&self, _: &LockKey, _: &RunId) -> Answer<Option<Run>> {
        Ok(None)
    }

    async fn history(&self, _: &LockKey, _: Option<FencingToken>, _: usize) -> Answer<HistoryPage> {
        unreachable!("a grant reads no history")
    }

    async fn register(&self, _: &LockKey, _: &Waiter) -> Answer<()> {
        unreachable!("no state waits")
    }

    async fn load_waiter(&self, _: &LockKey, _: &WaiterId) -> Answer<Option<Waiter>> {
        unreachable!("a grant reads no waiter")
    }

    async fn due(&self, _: u8, _: Timestamp, _: Option<&DueLock>) -> Answer<DuePage> {
        unreachable!("a grant is no sweep")
    }
}

#[test]
fn a_busy_write_is_retried_at_most_retries_max_times() {
    let lock = LockKey::new("nightly").expect("a valid key");
    for (busy, is_contended) in [(0, false), (RETRIES_MAX, false), (RETRIES_MAX + 1, true)] {
        let store = Table::busy(busy);
        let protocol = Protocol::new(store, ManualClock::at(at(0)), 1);

        let answer = now(protocol.execute(&lock, &Command::Acquire(acquire("a"))));

        let expected = match &answer {
            Ok(done) => !is_contended && matches!(done.outcome, Outcome::Granted { .. }),
            Err(error) => is_contended && *error == ProtocolError::Contended,
        };
        assert!(expected, "busy {busy} times: {answer:?}");
    }
}

/// Each wait is a random part of a bound that doubles from 20 ms to 400 ms.
#[test]
fn the_pauses_of_a_command_add_up_to_less_than_two_seconds() {
    let lock = LockKey::new("nightly").expect("a valid key");
    let command = Command::Acquire(acquire("a"));
    let mut longest = 0;
    for (busy, bound) in [(1, 20), (RETRIES_MAX, 20 + 40 + 80 + 160 + 320 + 3 * 400)] {
        for seed in 0..50 {
            let store = Table::busy(busy);
            let protocol = Protocol::new(store, ManualClock::at(at(0)), seed);

            now(protocol.execute(&lock, &command)).expect("a grant");

            let paused = protocol.clock().now().millis_since(at(0));
            assert!(paused <= bound, "{busy} pauses: {paused} ms");
            longest = longest.max(paused);
        }
    }
    assert!(longest > 900, "clients that meet are not spread: {longest}");
}

/// A pause makes a record too, which is closed by itself.
#[test]
fn only_an_acquire_and_a_start_read_what_closes_new_locks() {
    let lock = LockKey::new("nightly").expect("a valid key");
    let token = FencingToken::from_number(7);
    let pause = || Command::Pause(audit_note("upgrade"), None);
    let run = || Command::Acquire(acquire("a"));
    let start = || Command::NoteStart(audit_note("by hand"));
    // Columns: the case, the command, how many writes conflict, how many after them find the table busy, and the reads.
    for (case, command, conflicts, busy, reads) in [
        ("a grant at once", run(), 0, 0, 0),
        ("a grant", run(), 1, 0, 1),
        ("a write that is overtaken", run(), 2, 0, 2),
        ("a write that meets a busy table", run(), 1, 1, 2),
        ("a release", release("a", token), 1, 0, 0),
        ("a start", start(), 0, 0, 1),
        ("a pause", pause(), 0, 0, 0),
        ("a pause that is overtaken", pause(), 1, 0, 0),
        ("a pause that meets a busy table", pause(), 1, 1, 0),
    ] {
        let store = Table {
            conflicts: AtomicU32::new(conflicts),
            ..Table::busy(busy)
        };
        let protocol = Protocol::new(store, ManualClock::at(at(0)), 1);

        let answer = now(protocol.execute(&lock, &command));

        let read = protocol.store().reads.load(Ordering::SeqCst);
        assert_eq!(read, reads, "{case}: {answer:?}");
    }
}
