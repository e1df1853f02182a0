//! Guarantees of the pages of the history.

use super::Bench;
use super::runs::touch;
use super::samples::{NOW, change, ended, held, paused, run_key, task, token, write};
use crate::domain::{Change, FencingToken, LockKey, Run, RunGuard, RunId, RunOutcome, Update};
use crate::store::{HistoryPage, LockStore};

/// A token with as many digits as the tokens of today, whose texts are in the order of the numbers.
const FIRST: u64 = 1_772_344_799_995;

/// Writes runs under `count` tokens from [`FIRST`] on, and items that are not runs of a grant. Returns
/// the runs, oldest first.
async fn given<S: LockStore>(bench: &Bench<'_, S>, lock: &LockKey, count: u64) -> Vec<Run> {
    bench.given(lock, &held()).await;
    let runs = (0..count).map(|number| Run {
        token: token(FIRST + number),
        run_key: Some(run_key("tick")),
        task: Some(task(number)),
        ..ended(RunOutcome::Failed, NOW)
    });
    let runs: Vec<_> = runs.collect();
    let other = runs.last().expect("some runs");
    let keys = ["tick", "token/1772344799996"].map(|key| RunId::Key(run_key(key)));
    let entries = runs.iter().map(|run| (RunId::Token(run.token), run));
    for (id, run) in entries.chain(keys.map(|id| (id, other))) {
        let write = touch(RunGuard::OpenFor(token(0)), write(&id, run.clone()));
        bench.commit(lock, &write).await;
    }
    let act = Change {
        act: Some(paused(FIRST + 1)),
        ..change(vec![], Update::Keep)
    };
    bench.commit(lock, &act).await;
    runs
}

async fn page<S: LockStore>(
    bench: &Bench<'_, S>,
    lock: &LockKey,
    after: Option<FencingToken>,
    most: usize,
) -> HistoryPage {
    let page = bench.store.history(lock, after, most).await;
    page.expect("the store works")
}

pub(super) async fn the_runs_of_a_lock_come_page_by_page_newest_first<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let (lock, other) = (bench.lock("pages"), bench.lock("pages-other"));
    let mut runs = given(bench, &lock, 10).await;
    given(bench, &other, 2).await;
    runs.reverse();

    for most in [1, 3, 5, 10, 1000] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = page(bench, &lock, after, most).await;
            assert!(page.runs.len() <= most, "{} of {most}", page.runs.len());
            found.extend(page.runs);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, runs, "in pages of {most}");
    }
    let behind = page(bench, &lock, Some(token(FIRST + 4)), 2).await;
    assert_eq!(behind.runs, runs[6..8]);
    assert_eq!(behind.next, Some(token(FIRST + 2)));
}

pub(super) async fn a_page_has_at_least_one_run_and_a_lock_without_runs_none<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let (lock, none) = (bench.lock("one-page"), bench.lock("no-page"));
    let runs = given(bench, &lock, 2).await;

    let least = page(bench, &lock, None, 0).await;
    let empty = page(bench, &none, None, 10).await;

    assert_eq!(least.runs, runs[1..]);
    assert_eq!(empty, HistoryPage::default());
}
