//! Guarantees of the entries of the history.

use super::Bench;
use super::runs::touch;
use super::samples::{
    NOW, at, change, ended, full_lease, held, holder, run_conflict as conflict, run_key, running,
    task, token, write,
};
use crate::domain::{Run, RunGuard, RunId, RunOutcome, Update};
use crate::store::{Commit, LockStore};

pub(super) async fn a_run_is_written_without_a_guard_on_the_record<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let (lock, none) = (bench.lock("keep"), bench.lock("keep-none"));
    let id = RunId::Token(token(1000));
    bench.given(&lock, &held()).await;
    let mut alone = change(Vec::new(), Update::Keep);
    let run = (RunGuard::OpenFor(token(1000)), write(&id, running(1000)));
    alone.runs.push(run);
    let mut late = alone.clone();
    late.runs[0].0 = RunGuard::EndedUnder(token(1000));

    for (lock, record) in [(&lock, Some(held())), (&none, None)] {
        let done = bench.commit(lock, &alone).await;
        let again = bench.commit(lock, &late).await;

        assert_eq!(done, Commit::Committed(None));
        assert_eq!(again, conflict(None, &[(&id, Some(running(1000)))]));
        assert_eq!(bench.load_run(lock, &id).await, Some(running(1000)));
        assert_eq!(bench.load(lock).await, record, "as it was");
    }
}

pub(super) async fn a_write_without_a_task_keeps_the_recorded_task<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let lock = bench.lock("noted");
    let id = RunId::Token(token(1000));
    bench.given(&lock, &held()).await;
    let mut other = task(1);
    (other.runtime_id, other.exit_code, other.reason) = (None, None, None);
    other.arn.push_str("-2");
    let with = |task, run| Run {
        task: Some(task),
        ..run
    };
    let failed = ended(RunOutcome::Failed, NOW);
    let open = RunGuard::OpenFor(token(1000));
    let over = RunGuard::EndedUnder(token(1000));
    let mut now = None;

    for (guard, run) in [
        (open, with(task(3), running(1000))),
        (open, failed.clone()),
        (over, with(other, failed)),
        (over, running(1000)),
    ] {
        let write = write(&id, run);
        let done = bench.commit(&lock, &touch(guard, write.clone())).await;

        now = Some(write.over(now.as_ref()));
        assert_eq!(done, Commit::Committed(None));
        assert_eq!(bench.load_run(&lock, &id).await, now);
    }
    assert!(now.is_some_and(|run| run.task.is_some()));
}

pub(super) async fn a_run_comes_back_with_every_attribute<S: LockStore>(bench: &Bench<'_, S>) {
    let lock = bench.lock("full-run");
    bench.given(&lock, &held()).await;
    for (number, outcome) in (1..).zip(RunOutcome::ALL) {
        let mut run = ended(outcome, NOW);
        run.holder = holder("b");
        run.run_key = Some(run_key("tick"));
        run.task = Some(task(number));
        run.lease = Some(Box::new(full_lease(number)));
        if let Some(end) = &mut run.end {
            end.evidence = Some("its execution ended".into());
        }
        let id = RunId::Token(token(number));
        let write = touch(RunGuard::NotTaken(at(NOW)), write(&id, run.clone()));
        bench.commit(&lock, &write).await;

        assert_eq!(bench.load_run(&lock, &id).await, Some(run));
    }
}

pub(super) async fn run_keys_and_tokens_never_mean_the_same_run<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let lock = bench.lock("ids");
    let keys = ["42", "token/42", "act/42", "run#token/42", "lock"];
    let ids = keys.map(|key| RunId::Key(run_key(key)));
    bench.given(&lock, &held()).await;
    for (number, id) in (1..).zip(&ids) {
        let change = touch(RunGuard::OpenFor(token(0)), write(id, running(number)));
        bench.commit(&lock, &change).await;
    }

    for (number, id) in (1..).zip(&ids) {
        assert_eq!(bench.load_run(&lock, id).await, Some(running(number)));
    }
    let other = RunId::Token(token(42));
    assert_eq!(bench.load_run(&lock, &other).await, None);
    assert!(bench.load(&lock).await.is_some());
}
