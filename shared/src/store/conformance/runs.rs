//! Promises about runs, and about a record and its runs as one write.

use super::{Bench, assign, at, create, held, holder, permits, run_key, running, token, write};
use crate::domain::{
    Assign, Change, Clause, LockRecord, Run, RunEnd, RunGuard, RunId, RunOutcome, RunWrite, Update,
};
use crate::store::{Commit, Found, LockStore};

const NOW: u64 = 50_000;

pub(super) async fn every_run_guard_is_judged_as_the_domain_judges_it<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let lock = bench.lock("run-guards");
    bench.given(&lock, &held()).await;
    let guards = [
        RunGuard::NotTaken(at(NOW)),
        RunGuard::RunningUnder(token(1000)),
        RunGuard::OpenFor(token(1000)),
    ];
    let mut number = 0;

    for seen in runs() {
        for guard in guards {
            number += 1;
            let id = RunId::Key(run_key(&format!("tick-{number}")));
            if let Some(run) = &seen {
                let fresh = RunGuard::NotTaken(at(0));
                bench
                    .commit(&lock, &touch(fresh, write(&id, run.clone())))
                    .await;
            }
            let change = touch(guard, write(&id, running(5000)));

            let done = bench.commit(&lock, &change).await;

            let (expected, after) = if guard.holds(seen.as_ref()) {
                (Commit::Committed(None), Some(running(5000)))
            } else {
                (conflict(None, seen.clone()), seen.clone())
            };
            assert_eq!(done, expected, "{guard:?} on {seen:?}");
            assert_eq!(bench.load_run(&lock, &id).await, after, "{guard:?}");
        }
    }
}

pub(super) async fn a_failed_run_guard_brings_the_commands_own_run_and_writes_nothing<
    S: LockStore,
>(
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
    let mut own = touch(in_the_way.0, in_the_way.1.clone());
    own.runs.push(beside.clone());
    let mut other = touch(beside.0, beside.1);
    other.runs.push(in_the_way);

    let own = bench.commit(&lock, &own).await;
    let other = bench.commit(&lock, &other).await;

    assert_eq!(own, conflict(None, Some(running(1000))));
    assert_eq!(other, conflict(None, None), "not the command's own run");
    assert_eq!(bench.load(&lock).await, before);
    assert_eq!(bench.load_run(&lock, &free).await, None);
    assert_eq!(bench.load_run(&lock, &taken).await, Some(running(1000)));
}

pub(super) async fn a_failed_record_guard_writes_no_run<S: LockStore>(bench: &Bench<'_, S>) {
    let lock = bench.lock("record-conflict");
    let id = RunId::Key(run_key("tick"));
    bench.given(&lock, &held()).await;
    let mut change = touch(RunGuard::NotTaken(at(NOW)), write(&id, running(1000)));
    change.guard.0.push(Clause::VersionIs(1));

    let done = bench.commit(&lock, &change).await;

    assert_eq!(done, conflict(Some(Some(held())), None));
    assert_eq!(bench.load_run(&lock, &id).await, None);
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

    let both = conflict(Some(Some(held())), Some(running(1000)));
    assert_eq!(again, both);
    assert_eq!(nothing, conflict(Some(None), None));
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

pub(super) async fn a_run_key_and_a_token_never_mean_the_same_run<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let lock = bench.lock("ids");
    let by_token = RunId::Token(token(42));
    let by_keys = ["42", "token/42", "run#token/42", "lock"];
    bench.given(&lock, &held()).await;
    for (number, key) in (1..).zip(by_keys) {
        let id = RunId::Key(run_key(key));
        let guard = RunGuard::OpenFor(token(0));
        bench
            .commit(&lock, &touch(guard, write(&id, running(number))))
            .await;
    }

    for (number, key) in (1..).zip(by_keys) {
        let id = RunId::Key(run_key(key));
        assert_eq!(bench.load_run(&lock, &id).await, Some(running(number)));
    }
    assert_eq!(bench.load_run(&lock, &by_token).await, None);
    assert!(bench.load(&lock).await.is_some());
}

/// A change that moves the record's version and writes one run.
fn touch(guard: RunGuard, run: RunWrite) -> Change {
    let nothing = Update::Assign(vec![Assign::NotBefore(at(5000))]);
    let mut change = assign(vec![Clause::Readable], nothing);
    change.runs.push((guard, run));
    change
}

fn conflict(record: Option<Option<LockRecord>>, run: Option<Run>) -> Commit {
    Commit::Conflict(Found { record, run })
}

/// No run, and runs of every state around [`NOW`].
fn runs() -> Vec<Option<Run>> {
    let ended = |outcome, retain_until| Run {
        holder: holder("b"),
        token: token(1000),
        end: Some(RunEnd {
            outcome,
            at: at(NOW - 10_000),
            retain_until: at(retain_until),
        }),
    };
    vec![
        None,
        Some(running(1000)),
        Some(running(1001)),
        Some(ended(RunOutcome::Succeeded, NOW + 1)),
        Some(ended(RunOutcome::Succeeded, NOW)),
        Some(ended(RunOutcome::Failed, NOW + 1)),
        Some(ended(RunOutcome::Lost, NOW + 1)),
    ]
}
