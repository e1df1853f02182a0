//! Guarantees of the index of all locks, and of acts.

use super::Bench;
use super::samples::{assign, at, change, ended, held, holder, paused, permits, token, write};
use crate::domain::{
    Act, Assign, Clause, Gate, LockKey, LockRecord, Mode, RunGuard, RunId, RunOutcome, Timestamp,
    Update,
};
use crate::store::{Commit, LockIndex, LockStore, shard};

pub(super) async fn every_lock_is_listed_whatever_its_state<S: LockIndex>(bench: &Bench<'_, S>) {
    let idle = LockRecord::new(permits(1));
    let mode = Mode::Paused {
        note: "x".into(),
        until: None,
    };
    let closed = LockRecord {
        gate: Gate { mode, ..Gate::OPEN },
        ..idle.clone()
    };
    let records = [("held", held()), ("idle", idle), ("paused", closed)];
    for (name, record) in &records {
        let lock = bench.lock(&format!("all/{name}"));
        bench.given(&lock, record).await;
    }
    let all = expected(bench, "all/", &["held", "idle", "paused"]);
    assert_eq!(listed(bench, "all/", 10).await, all);

    // No later write removes the lock from the index.
    let lock = bench.lock("all/held");
    for assigned in [Assign::Due(None), Assign::DropLease(holder("a"))] {
        let change = assign(vec![Clause::Readable], vec![assigned]);
        bench.commit(&lock, &change).await;
    }
    assert_eq!(listed(bench, "all/", 10).await, all);
}

/// No other case reads what closes new locks, because no other case executes a first acquire.
pub(super) async fn the_pause_of_new_locks_is_read_as_it_was_written<S: LockIndex>(
    bench: &Bench<'_, S>,
) {
    let (store, paused) = (bench.store, |until: Option<u64>| Mode::Paused {
        note: "upgrade (by jo)".into(),
        until: until.map(Timestamp::from_millis),
    });
    let (forever, ending) = (paused(None), paused(Some(1_800_000_000_123)));
    for (next, before) in [
        (None, None),
        (Some(&forever), None),
        (Some(&ending), Some(&forever)),
        (None, Some(&ending)),
    ] {
        let replaced = store.close_new_locks(next).await;
        assert_eq!(replaced, Ok(before.cloned()));
        assert_eq!(store.new_locks().await, Ok(next.cloned()));
    }
    let listed = store.locks("", None, 100).await.expect("a page");
    assert!(listed.locks.iter().all(|lock| !lock.as_str().contains('#')));
}

pub(super) async fn the_locks_of_a_prefix_come_page_by_page_by_name<S: LockIndex>(
    bench: &Bench<'_, S>,
) {
    let names: Vec<_> = (0..23).map(|number| format!("n{number:02}")).collect();
    let others = ["somewhere".to_owned()].into_iter();
    for name in names
        .iter()
        .rev()
        .map(|name| format!("some/{name}"))
        .chain(others)
    {
        let lock = bench.lock(&name);
        bench.given(&lock, &LockRecord::new(permits(1))).await;
    }
    let names: Vec<_> = names.iter().map(String::as_str).collect();

    for most in [1, 5, 22, 23, 24] {
        let listed = listed(bench, "some/", most).await;
        assert_eq!(listed, expected(bench, "some/", &names), "{most} on a page");
    }
    let none = listed(bench, "nothing/", 5).await;
    assert_eq!(none, Vec::<LockKey>::new());
}

pub(super) async fn a_page_has_more_only_if_there_are_more_locks<S: LockIndex>(
    bench: &Bench<'_, S>,
) {
    // A page that takes all locks of a shard may say `more`, so two locks of one shard are not read in pages of two.
    for (name, apart, cases) in [
        ("twins", false, [(1, true), (3, false)]),
        ("strangers", true, [(1, true), (2, false)]),
    ] {
        let named = |number: u8| bench.lock(&format!("{name}/{number}"));
        let first = named(0);
        let fits = |lock: &LockKey| (shard(lock) != shard(&first)) == apart;
        let second = (1..=u8::MAX).map(named).find(fits);
        for lock in [&first, &second.expect("a lock of a shard like this")] {
            bench.given(lock, &LockRecord::new(permits(1))).await;
        }

        let prefix = format!("{}-{name}/", bench.unique);
        for (most, more) in cases {
            let page = bench.store.locks(&prefix, None, most).await;
            let page = page.expect("the store works");
            assert_eq!(page.more, more, "{name} in pages of {most}");
        }
        let all = listed(bench, &format!("{name}/"), 1).await;
        assert_eq!(all.len(), 2, "{name}");
    }
}

/// The acts are larger than one response of DynamoDB, which has at most 1 MB.
pub(super) async fn more_than_1_mb_of_acts_are_returned<S: LockIndex>(bench: &Bench<'_, S>) {
    let lock = bench.lock("many-acts");
    for version in 0..40 {
        let act = Act {
            note: Some("x".repeat(30_000)),
            ..paused(version)
        };
        let done = put(bench, &lock, act).await;
        assert_eq!(done, Commit::Committed(None));
    }

    let found = bench.store.acts(&lock).await.expect("the store works");

    assert_eq!(found.len(), 40);
}

pub(super) async fn the_acts_on_a_lock_come_oldest_first<S: LockIndex>(bench: &Bench<'_, S>) {
    let lock = bench.lock("acts");
    let acts = [2, 10, 9].map(paused);
    for act in &acts {
        put(bench, &lock, act.clone()).await;
    }
    // A record that was restored from a backup writes its versions a second time.
    let again = put(bench, &lock, paused(2)).await;
    assert_eq!(again, Commit::Committed(None));
    let run = write(&RunId::Token(token(5)), ended(RunOutcome::Failed, 1));
    let mut with_run = change(vec![], Update::Keep);
    with_run.runs = vec![(RunGuard::NotTaken(at(0)), run)];
    bench.commit(&lock, &with_run).await;

    let found = bench.store.acts(&lock).await.expect("the store works");

    let [two, ten, nine] = acts;
    assert_eq!(found, [two, nine, ten]);
}

async fn put<S: LockStore>(bench: &Bench<'_, S>, lock: &LockKey, act: Act) -> Commit {
    let mut change = change(vec![], Update::Keep);
    change.act = Some(act);
    bench.commit(lock, &change).await
}

/// Reads all pages of `most` locks, and returns the locks with the prefix.
async fn listed<S: LockIndex>(bench: &Bench<'_, S>, prefix: &str, most: usize) -> Vec<LockKey> {
    let prefix = format!("{}-{prefix}", bench.unique);
    let mut locks: Vec<LockKey> = Vec::new();
    loop {
        let page = bench.store.locks(&prefix, locks.last(), most).await;
        let page = page.expect("the store works");
        assert!(page.locks.len() <= most, "{} on a page", page.locks.len());
        assert!(
            !page.more || page.locks.len() == most,
            "a page that has more is full"
        );
        locks.extend(page.locks);
        if !page.more {
            return locks;
        }
    }
}

fn expected<S: LockStore>(bench: &Bench<'_, S>, prefix: &str, names: &[&str]) -> Vec<LockKey> {
    let names = names.iter().map(|name| format!("{prefix}{name}"));
    names.map(|name| bench.lock(&name)).collect()
}
