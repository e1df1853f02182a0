//! Guarantees of writes to runs, and to a record and its runs in one write.

use super::Bench;
use super::samples::{
    NOW, assign, at, create, ended, held, permits, run_conflict as conflict, run_key, running,
    token, write,
};
use crate::domain::{
    Assign, Change, Clause, LockRecord, Run, RunGuard, RunId, RunOutcome, RunWrite,
};
use crate::store::{Commit, LockStore};

pub(super) async fn the_store_evaluates_every_run_guard_as_the_domain_does<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let lock = bench.lock("run-guards");
    bench.given(&lock, &held()).await;
    let guards = [
        RunGuard::NotTaken(at(NOW)),
        RunGuard::RunningUnder(token(1000)),
        RunGuard::LeftUnder(token(1000)),
        RunGuard::OpenFor(token(1000)),
        RunGuard::EndedUnder(token(1000)),
        RunGuard::EndedAt(token(1000), at(NOW - 10_000)),
        RunGuard::EndedAt(token(1000), at(NOW)),
    ];
    let mut number = 0;

    for seen in runs() {
        for guard in guards {
            number += 1;
            let id = RunId::Key(run_key(&format!("tick-{number}")));
            if let Some(run) = &seen {
                let fresh = RunGuard::NotTaken(at(0));
                let given = touch(fresh, write(&id, run.clone()));
                bench.commit(&lock, &given).await;
            }
            let change = touch(guard, write(&id, running(5000)));

            let done = bench.commit(&lock, &change).await;

            let (expected, after) = if guard.holds(seen.as_ref()) {
                (Commit::Committed(None), Some(running(5000)))
            } else {
                (conflict(None, &[(&id, seen.clone())]), seen.clone())
            };
            assert_eq!(done, expected, "{guard:?} on {seen:?}");
            assert_eq!(bench.load_run(&lock, &id).await, after, "{guard:?}");
        }
    }
}

pub(super) async fn a_failed_run_guard_brings_its_run_and_writes_nothing<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let lock = bench.lock("run-conflict");
    let (taken, free) = (RunId::Key(run_key("tick")), RunId::Token(token(4)));
    bench.given(&lock, &held()).await;
    let first = touch(RunGuard::NotTaken(at(NOW)), write(&taken, running(1000)));
    bench.commit(&lock, &first).await;
    let before = bench.load(&lock).await;
    let in_the_way = (RunGuard::NotTaken(at(NOW)), write(&taken, running(2000)));
    let beside = (RunGuard::OpenFor(token(4)), write(&free, running(4)));
    let mut in_front = touch(in_the_way.0, in_the_way.1.clone());
    in_front.runs.push(beside.clone());
    let mut behind = touch(beside.0, beside.1);
    behind.runs.push(in_the_way);

    let in_front = bench.commit(&lock, &in_front).await;
    let behind = bench.commit(&lock, &behind).await;

    // The guard of the free run held, so the conflict does not return that run.
    let expected = conflict(None, &[(&taken, Some(running(1000)))]);
    assert_eq!(in_front, expected);
    assert_eq!(behind, expected);
    assert_eq!(bench.load(&lock).await, before);
    assert_eq!(bench.load_run(&lock, &free).await, None);
    assert_eq!(bench.load_run(&lock, &taken).await, Some(running(1000)));
}

pub(super) async fn a_failed_record_guard_writes_no_run_and_brings_none<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let there = ended(RunOutcome::Failed, NOW);
    let held_guards = [
        (None, RunGuard::NotTaken(at(NOW))),
        (Some(running(1000)), RunGuard::OpenFor(token(1000))),
        (Some(there), RunGuard::EndedUnder(token(1000))),
    ];
    for (number, (run, guard)) in (0..).zip(held_guards) {
        let lock = bench.lock(&format!("record-conflict-{number}"));
        let id = RunId::Key(run_key("tick"));
        bench.given(&lock, &held()).await;
        if let Some(run) = &run {
            let given = touch(RunGuard::NotTaken(at(0)), write(&id, run.clone()));
            bench.commit(&lock, &given).await;
        }
        let record = bench.load(&lock).await;
        let mut change = touch(guard, write(&id, running(2000)));
        change.guard.0.push(Clause::VersionIs(1));

        let done = bench.commit(&lock, &change).await;

        assert_eq!(done, conflict(Some(record), &[]), "{guard:?} on {run:?}");
        assert_eq!(bench.load_run(&lock, &id).await, run, "{guard:?}");
    }
}

pub(super) async fn two_failed_guards_bring_both<S: LockStore>(bench: &Bench<'_, S>) {
    let (lock, none) = (bench.lock("both"), bench.lock("both-none"));
    let id = RunId::Key(run_key("tick"));
    let wanted = (RunGuard::NotTaken(at(NOW)), write(&id, running(1000)));
    let mut first = create(&held());
    first.runs.push(wanted.clone());
    bench.commit(&lock, &first).await;
    let mut without_run = touch(RunGuard::RunningUnder(token(1)), wanted.1);
    without_run.guard.0.push(Clause::VersionIs(1));

    let again = bench.commit(&lock, &first).await;
    let nothing = bench.commit(&none, &without_run).await;

    let both = conflict(Some(Some(held())), &[(&id, Some(running(1000)))]);
    assert_eq!(again, both);
    assert_eq!(nothing, conflict(Some(None), &[(&id, None)]));
}

pub(super) async fn a_record_and_its_runs_are_created_together<S: LockStore>(bench: &Bench<'_, S>) {
    let lock = bench.lock("together");
    let ids = [RunId::Key(run_key("tick")), RunId::Token(token(3))];
    let record = LockRecord::new(permits(4));
    let mut change = create(&record);
    for id in &ids {
        let guard = RunGuard::NotTaken(at(NOW));
        change.runs.push((guard, write(id, running(3))));
    }

    let done = bench.commit(&lock, &change).await;

    assert_eq!(done, Commit::Committed(None));
    assert_eq!(bench.load(&lock).await, Some(record));
    for id in &ids {
        assert_eq!(bench.load_run(&lock, id).await, Some(running(3)));
    }
}

/// Returns a change that increments the record's version and writes one run.
pub(super) fn touch(guard: RunGuard, run: RunWrite) -> Change {
    let nothing = vec![Assign::NotBefore(at(5000))];
    Change {
        runs: vec![(guard, run)],
        ..assign(vec![Clause::Readable], nothing)
    }
}

/// Returns no run, and runs in every state at [`NOW`].
fn runs() -> Vec<Option<Run>> {
    use RunOutcome::{Evicted, Failed, Lost, Recovered, Replaced, Succeeded};
    let later = [Succeeded, Failed, Lost, Recovered, Evicted, Replaced];
    let later = later.map(|outcome| ended(outcome, NOW + 1));
    let held = held();
    let lease = held.holders.into_values().next().map(Box::new);
    let yielded = Run {
        lease,
        ..running(1000)
    };
    let runs = [running(1000), running(1001), yielded, ended(Succeeded, NOW)];
    let runs = runs.into_iter().chain(later).map(Some);
    [None].into_iter().chain(runs).collect()
}
