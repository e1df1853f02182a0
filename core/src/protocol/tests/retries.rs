//! How often a table that is busy is asked.

use super::bench::{acquire, at};
use crate::clock::{Clock, ManualClock};
use crate::domain::{
    Change, Command, FencingToken, LockKey, LockRecord, Mode, Outcome, Run, RunId, Timestamp,
    Waiter, WaiterId,
};
use crate::protocol::{Protocol, ProtocolError, RETRIES_MAX};
use crate::store::{Commit, DueLock, DuePage, HistoryPage, LockStore, StoreError};
use crate::testing::now;
use std::sync::atomic::{AtomicU32, Ordering};

type Answer<T> = Result<T, StoreError>;

/// A table that is busy for so many writes, and takes any after them.
struct Busy(AtomicU32);

impl LockStore for Busy {
    async fn commit(&self, _: &LockKey, _: &Change) -> Answer<Commit> {
        let (order, step) = (Ordering::SeqCst, |left: u32| left.checked_sub(1));
        let is_busy = self.0.fetch_update(order, order, step).is_ok();
        Ok(if is_busy {
            Commit::Busy
        } else {
            Commit::Committed(None)
        })
    }

    async fn load(&self, _: &LockKey) -> Answer<Option<LockRecord>> {
        unreachable!("a grant is written without a read")
    }

    async fn new_locks(&self) -> Answer<Option<Mode>> {
        unreachable!("the lock has a record")
    }

    async fn load_run(&self, _: &LockKey, _: &RunId) -> Answer<Option<Run>> {
        unreachable!("a grant is written without a read")
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
fn a_busy_table_is_asked_again_up_to_the_bound_and_no_more() {
    let lock = LockKey::new("nightly").expect("a valid key");
    for (busy, is_contended) in [(0, false), (RETRIES_MAX, false), (RETRIES_MAX + 1, true)] {
        let store = Busy(AtomicU32::new(busy));
        let protocol = Protocol::new(store, ManualClock::at(at(0)), 1);

        let answer = now(protocol.execute(&lock, &Command::Acquire(acquire("a"))));

        let expected = match &answer {
            Ok(done) => !is_contended && matches!(done.outcome, Outcome::Granted { .. }),
            Err(error) => is_contended && *error == ProtocolError::Contended,
        };
        assert!(expected, "busy {busy} times: {answer:?}");
    }
}

/// Each pause is a random part of a bound that doubles, from 20 ms to 400 ms.
#[test]
fn the_pauses_of_a_command_add_up_to_less_than_two_seconds() {
    let lock = LockKey::new("nightly").expect("a valid key");
    let command = Command::Acquire(acquire("a"));
    let mut longest = 0;
    for (busy, bound) in [(1, 20), (RETRIES_MAX, 20 + 40 + 80 + 160 + 320 + 3 * 400)] {
        for seed in 0..50 {
            let store = Busy(AtomicU32::new(busy));
            let protocol = Protocol::new(store, ManualClock::at(at(0)), seed);

            now(protocol.execute(&lock, &command)).expect("a grant");

            let paused = protocol.clock().now().millis_since(at(0));
            assert!(paused <= bound, "{busy} pauses: {paused} ms");
            longest = longest.max(paused);
        }
    }
    assert!(longest > 900, "clients that meet are not spread: {longest}");
}
