//! Promises about the record alone.

use super::{Bench, assign, at, create, held, holder, lease, permits, run_key, token};
use crate::domain::{Assign, Clause, Guard, LockRecord, Mode, TaskToken, Update};
use crate::store::{Commit, Found, LockStore};

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
    let update = Update::Assign(vec![Assign::NotBefore(at(1))]);
    let guards = [
        vec![Clause::Readable],
        vec![Clause::NotHeldBy(holder("a"))],
        vec![Clause::VersionIs(0)],
    ];

    for guard in guards {
        let done = bench.commit(&lock, &assign(guard, update.clone())).await;

        assert_eq!(done, conflict(None));
        assert_eq!(bench.load(&lock).await, None);
    }
}

pub(super) async fn every_clause_is_judged_as_the_domain_judges_it<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    for (number, record) in records().iter().enumerate() {
        let lock = bench.lock(&format!("clauses-{number}"));
        bench.given(&lock, record).await;
        let mut now = record.clone();
        for clause in clauses() {
            let guard = vec![Clause::Readable, clause.clone()];
            let holds = Guard(guard.clone()).holds(Some(&now));
            let update = Update::Assign(Vec::new());

            let done = bench.commit(&lock, &assign(guard, update.clone())).await;

            let expected = if holds {
                now = update.apply(Some(&now)).expect("there is a record");
                Commit::Committed(None)
            } else {
                conflict(Some(now.clone()))
            };
            assert_eq!(done, expected, "{clause:?} on {now:?}");
        }
        assert_eq!(bench.load(&lock).await, Some(now));
    }
}

pub(super) async fn every_assignment_does_what_the_domain_says<S: LockStore>(bench: &Bench<'_, S>) {
    let lock = bench.lock("assign");
    let mut now = held();
    bench.given(&lock, &now).await;
    let mut all = vec![Vec::new()];
    all.extend(assigns().into_iter().map(|assign| vec![assign]));
    all.push(assigns());

    for assigns in all {
        let update = Update::Assign(assigns);
        let change = assign(vec![Clause::VersionIs(now.version)], update.clone());
        let done = bench.commit(&lock, &change).await;

        now = update.apply(Some(&now)).expect("there is a record");
        assert_eq!(done, Commit::Committed(None), "{update:?}");
        assert_eq!(bench.load(&lock).await.as_ref(), Some(&now), "{update:?}");
        // The next assignment finds the holder again.
        let put = Update::Assign(vec![Assign::PutLease(holder("a"), lease(1000))]);
        let change = assign(vec![Clause::VersionIs(now.version)], put.clone());
        bench.commit(&lock, &change).await;
        now = put.apply(Some(&now)).expect("there is a record");
    }
}

pub(super) async fn a_write_that_asks_for_the_record_gets_it<S: LockStore>(bench: &Bench<'_, S>) {
    let lock = bench.lock("read-back");
    let mut first = create(&held());
    first.read_back = true;
    let extend = Update::Assign(vec![Assign::ExtendLease(holder("a"), at(2000), None)]);
    let mut second = assign(vec![Clause::LeaseIs(holder("a"), token(1000))], extend);
    second.read_back = true;

    let created = bench.commit(&lock, &first).await;
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
        let update = Update::Assign(vec![Assign::NotBefore(at(time))]);
        assign(vec![Clause::Readable, Clause::VersionIs(7)], update)
    };

    let first = bench.commit(&lock, &by(1)).await;
    let second = bench.commit(&lock, &by(2)).await;

    let mut expected = held();
    expected.version = 8;
    expected.not_before = at(1);
    assert_eq!(first, Commit::Committed(None));
    assert_eq!(second, conflict(Some(expected)));
}

fn conflict(record: Option<LockRecord>) -> Commit {
    Commit::Conflict(Found {
        record: Some(record),
        run: None,
    })
}

/// Records that together make each clause of [`clauses`] hold and fail.
fn records() -> Vec<LockRecord> {
    let mut full = held();
    let mut second = lease(999);
    second.run_key = Some(run_key("tick"));
    second.run_until = Some(at(70_000));
    second.beat = Some(TaskToken::new("beat").expect("a valid task token"));
    full.holders.insert(holder("b"), second);
    full.mode = Mode::Paused {
        note: "upgrade".into(),
    };
    let mut waited = held();
    waited.last_ticket = 4;
    waited.queue.insert("w".into(), 4);
    waited.mode = Mode::Frozen { note: "".into() };
    waited.not_before = at(80_000);
    vec![LockRecord::new(permits(1)), held(), full, waited]
}

fn clauses() -> Vec<Clause> {
    let mut clauses = vec![
        Clause::Absent,
        Clause::Open,
        Clause::PermitsAre(permits(1)),
        Clause::PermitsAre(permits(2)),
        Clause::BelowCapacity,
        Clause::QueueEmpty,
        Clause::SpacingPassed(at(4999)),
        Clause::SpacingPassed(at(5000)),
        Clause::TokenNewer(token(1000)),
        Clause::TokenNewer(token(1001)),
        Clause::VersionIs(7),
    ];
    for name in ["a", "b", "nobody"] {
        let holder = holder(name);
        clauses.extend([
            Clause::NotHeldBy(holder.clone()),
            Clause::LeaseIs(holder.clone(), token(999)),
            Clause::LeaseIs(holder.clone(), token(1000)),
            Clause::RunKeyIs(holder.clone(), None),
            Clause::RunKeyIs(holder.clone(), Some(run_key("tick"))),
            Clause::RunKeyIs(holder.clone(), Some(run_key("tock"))),
            Clause::NoBeat(holder.clone()),
            Clause::NotOverrun(holder.clone(), at(69_999)),
            Clause::NotOverrun(holder, at(70_000)),
        ]);
    }
    clauses
}

fn assigns() -> Vec<Assign> {
    let beat = TaskToken::new("beat").expect("a valid task token");
    let mut full = lease(2000);
    full.run_key = Some(run_key("tick"));
    full.run_until = Some(at(90_000));
    full.beat = Some(beat.clone());
    vec![
        Assign::Permits(permits(3)),
        Assign::LastToken(token(2000)),
        Assign::NotBefore(at(6000)),
        Assign::Mode(Mode::Paused {
            note: "by hand".into(),
        }),
        Assign::PutLease(holder("b"), full),
        Assign::ExtendLease(holder("a"), at(3000), Some(beat)),
        Assign::DropLease(holder("c")),
    ]
}
