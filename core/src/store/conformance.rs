//! Tests of the guarantees of [`LockStore`] and [`LockIndex`], to be run against any store.
//!
//! A case panics if the store breaks its guarantee. The expected results come from the domain: a store
//! has to agree with `Guard::holds`, `RunGuard::holds`, `WaiterDrop::holds`, `Update::apply` and
//! `RunWrite::over`.

mod due;
mod history;
mod index;
mod judged;
mod pages;
mod records;
mod runs;
pub(crate) mod samples;
mod sizes;
mod waiters;

use super::{Commit, LockIndex, LockStore};
use crate::domain::{Change, LockKey, LockRecord, Run, RunId, Waiter, WaiterId};

/// Runs all cases against `store`. The names of the locks begin with `unique`, so that a table can be
/// used for several runs.
///
/// # Panics
/// If the store breaks a guarantee.
pub async fn run_all<S: LockIndex>(store: &S, unique: &str) {
    let bench = Bench { store, unique };
    records::a_record_is_created_only_once(&bench).await;
    records::an_assignment_to_no_record_conflicts_and_creates_nothing(&bench).await;
    records::the_store_evaluates_every_clause_as_the_domain_does(&bench).await;
    records::every_assignment_does_what_the_domain_says(&bench).await;
    records::a_write_that_asks_for_the_record_gets_it(&bench).await;
    records::two_writers_of_one_version_do_not_both_win(&bench).await;
    records::concurrent_waiters_get_different_tickets(&bench).await;
    runs::the_store_evaluates_every_run_guard_as_the_domain_does(&bench).await;
    runs::a_failed_run_guard_brings_its_run_and_writes_nothing(&bench).await;
    runs::a_failed_record_guard_writes_no_run_and_brings_none(&bench).await;
    runs::two_failed_guards_bring_both(&bench).await;
    runs::a_record_and_its_runs_are_created_together(&bench).await;
    history::a_run_is_written_without_a_guard_on_the_record(&bench).await;
    history::a_write_without_a_task_keeps_the_recorded_task(&bench).await;
    history::a_run_comes_back_with_every_attribute(&bench).await;
    history::run_keys_and_tokens_never_mean_the_same_run(&bench).await;
    pages::the_runs_of_a_lock_come_page_by_page_newest_first(&bench).await;
    pages::a_page_has_at_least_one_run_and_a_lock_without_runs_none(&bench).await;
    waiters::a_waiter_comes_back_with_every_attribute(&bench).await;
    waiters::an_older_registration_does_not_replace_a_newer_one(&bench).await;
    waiters::a_waiter_leaves_with_its_place_unless_it_registered_anew(&bench).await;
    waiters::a_failed_guard_keeps_the_waiter(&bench).await;
    due::only_locks_with_holders_or_waiters_are_due_and_from_their_time_on(&bench).await;
    due::the_due_locks_of_a_shard_come_page_by_page_longest_due_first(&bench).await;
    index::every_lock_is_listed_whatever_its_state(&bench).await;
    index::the_locks_of_a_prefix_come_page_by_page_by_name(&bench).await;
    index::a_page_has_more_only_if_there_are_more_locks(&bench).await;
    index::the_acts_on_a_lock_come_oldest_first(&bench).await;
    index::more_than_1_mb_of_acts_are_returned(&bench).await;
    index::the_pause_of_new_locks_is_read_as_it_was_written(&bench).await;
    sizes::holders_of_any_visible_characters_keep_apart(&bench).await;
    sizes::the_largest_record_can_be_written_and_read(&bench).await;
}

struct Bench<'a, S> {
    store: &'a S,
    unique: &'a str,
}

impl<S: LockStore> Bench<'_, S> {
    fn lock(&self, name: &str) -> LockKey {
        LockKey::new(format!("{}-{name}", self.unique)).expect("a valid lock")
    }

    async fn commit(&self, lock: &LockKey, change: &Change) -> Commit {
        let done = self.store.commit(lock, change).await;
        done.expect("the store works")
    }

    async fn load(&self, lock: &LockKey) -> Option<LockRecord> {
        self.store.load(lock).await.expect("the store works")
    }

    async fn load_run(&self, lock: &LockKey, id: &RunId) -> Option<Run> {
        let run = self.store.load_run(lock, id).await;
        run.expect("the store works")
    }

    async fn register(&self, lock: &LockKey, waiter: &Waiter) {
        let done = self.store.register(lock, waiter).await;
        done.expect("the store works");
    }

    async fn load_waiter(&self, lock: &LockKey, id: &WaiterId) -> Option<Waiter> {
        let waiter = self.store.load_waiter(lock, id).await;
        waiter.expect("the store works")
    }

    /// Writes `record` as the first record of `lock`.
    async fn given(&self, lock: &LockKey, record: &LockRecord) {
        let done = self.commit(lock, &samples::create(record)).await;
        assert_eq!(done, Commit::Committed(None), "{lock} is new");
    }
}
