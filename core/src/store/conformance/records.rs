//! Guarantees of writes to the record alone.

use super::Bench;
use super::judged::{assigns, clauses, records, together};
use super::samples::{
    assign, at, conflict, create, full_lease, held, holder, permits, read_back, run_key, ticket,
    token, waited, waiter_id, workflow,
};
use crate::domain::{Assign, Clause, Guard, LockRecord, Work};
use crate::store::{Commit, LockStore};
use crate::testing::variant;
use std::collections::BTreeMap;

pub(super) async fn a_record_is_created_only_once<S: LockStore>(bench: &Bench<'_, S>) {
    let lock = bench.lock("create");
    let other = LockRecord::new(permits(9));
    bench.given(&lock, &held()).await;

    let again = bench.commit(&lock, &create(&other)).await;

    assert_eq!(again, conflict(Some(held())));
    assert_eq!(bench.load(&lock).await, Some(held()));
}

pub(super) async fn an_assignment_to_no_record_conflicts_and_creates_nothing<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let lock = bench.lock("nothing");
    for clause in [
        Clause::Readable,
        Clause::NotHeldBy(holder("a")),
        Clause::DueIs(None),
        Clause::VersionIs(0),
    ] {
        let change = assign(vec![clause], vec![Assign::NotBefore(at(1))]);
        let done = bench.commit(&lock, &change).await;

        assert_eq!(done, conflict(None));
        assert_eq!(bench.load(&lock).await, None);
    }
}

pub(super) async fn the_store_evaluates_every_clause_as_the_domain_does<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let mut kinds = BTreeMap::<String, [u32; 2]>::new();
    for (number, record) in records().iter().enumerate() {
        let lock = bench.lock(&format!("clauses-{number}"));
        bench.given(&lock, record).await;
        let mut now = record.clone();
        for clause in clauses() {
            let guard = vec![Clause::Readable, clause.clone()];
            let holds = Guard(guard.clone()).holds(Some(&now));
            kinds.entry(variant(&clause)).or_default()[usize::from(holds)] += 1;
            let change = assign(guard, Vec::new());

            let done = bench.commit(&lock, &change).await;

            let expected = if holds {
                now = change.update.apply(Some(&now)).expect("there is a record");
                Commit::Committed(None)
            } else {
                conflict(Some(now.clone()))
            };
            assert_eq!(done, expected, "{clause:?} on {now:?}");
        }
        assert_eq!(bench.load(&lock).await, Some(now));
    }
    let both = kinds.values().all(|[fails, holds]| *fails.min(holds) > 0);
    assert!(both, "each clause holds and fails: {kinds:?}");
}

pub(super) async fn every_assignment_does_what_the_domain_says<S: LockStore>(bench: &Bench<'_, S>) {
    let mut all = vec![Vec::new(), together()];
    all.extend(assigns().into_iter().map(|assign| vec![assign]));
    let mut records = vec![waited()];
    records.extend(records_with_and_without_due());

    for (number, record) in (0..).zip(&records) {
        for (which, assigns) in all.iter().enumerate() {
            let lock = bench.lock(&format!("assign-{number}-{which}"));
            bench.given(&lock, record).await;
            let written = assign(vec![Clause::VersionIs(record.version)], assigns.clone());

            let done = bench.commit(&lock, &written).await;

            let after = written.update.apply(Some(record));
            assert_eq!(done, Commit::Committed(None), "{assigns:?}");
            assert_eq!(bench.load(&lock).await, after, "{assigns:?}");
        }
    }
}

pub(super) async fn a_write_that_asks_for_the_record_gets_it<S: LockStore>(bench: &Bench<'_, S>) {
    let lock = bench.lock("read-back");
    let extend = Assign::ExtendLease(holder("a"), at(2000), None, None);
    let guard = vec![Clause::LeaseIs(holder("a"), token(1000))];
    let second = read_back(assign(guard, vec![extend]));

    let created = bench.commit(&lock, &read_back(create(&held()))).await;
    let extended = bench.commit(&lock, &second).await;

    let expected = second.update.apply(Some(&held()));
    assert_eq!(created, Commit::Committed(Some(held())));
    assert_eq!(extended, Commit::Committed(expected.clone()));
    assert_eq!(bench.load(&lock).await, expected);
}

pub(super) async fn two_writers_of_one_version_do_not_both_win<S: LockStore>(bench: &Bench<'_, S>) {
    let lock = bench.lock("version");
    bench.given(&lock, &held()).await;
    let by = |time| {
        let guard = vec![Clause::Readable, Clause::VersionIs(7)];
        assign(guard, vec![Assign::NotBefore(at(time))])
    };

    let first = bench.commit(&lock, &by(1)).await;
    let second = bench.commit(&lock, &by(2)).await;

    let mut expected = held();
    expected.version = 8;
    expected.gate.not_before = at(1);
    assert_eq!(first, Commit::Committed(None));
    assert_eq!(second, conflict(Some(expected)));
}

pub(super) async fn concurrent_waiters_get_different_tickets<S: LockStore>(bench: &Bench<'_, S>) {
    let lock = bench.lock("arrivals");
    bench.given(&lock, &held()).await;

    for (number, name) in (1..).zip(["x", "y", "z"]) {
        let id = waiter_id(name);
        let guard = vec![Clause::NotQueued(id.clone()), Clause::QueueBelow(500)];
        let arrival = read_back(assign(guard, vec![Assign::Enqueue(id.clone())]));
        let Commit::Committed(Some(after)) = bench.commit(&lock, &arrival).await else {
            panic!("{name} arrives");
        };

        assert_eq!(after.queue.get(&id), Some(&ticket(number)));
        assert_eq!(after.last_ticket, ticket(number));
    }
}

fn records_with_and_without_due() -> [LockRecord; 3] {
    let mut full = held();
    full.last_ticket = ticket(4);
    full.front_ticket = ticket(0);
    let mut lease = full_lease(1000);
    lease.run_key = Some(run_key("tock"));
    lease.work = Some(workflow());
    full.holders.insert(holder("a"), lease);
    let mut idle = full.clone();
    idle.due = None;
    let mut own = full.clone();
    for lease in own.holders.values_mut() {
        lease.work = Some(Work::States);
    }
    [full, idle, own]
}
