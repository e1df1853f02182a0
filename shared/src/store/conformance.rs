//! What every store promises, as cases that any store can be put through.
//!
//! A broken promise panics with the case's own message. The domain is the judge: a store has to
//! agree with `Guard::holds`, `RunGuard::holds` and `Update::apply`.

mod records;
mod runs;
mod sizes;

use super::{Commit, LockStore};
use crate::domain::{
    Change, Clause, FencingToken, Guard, HolderId, Lease, LockKey, LockRecord, Permits, Run, RunId,
    RunKey, RunWrite, Seconds, Timestamp, Update,
};

/// Puts `store` through all cases. Locks get the prefix `unique`, so that a table can be used
/// again.
///
/// # Panics
/// When the store breaks a promise.
pub async fn run_all<S: LockStore>(store: &S, unique: &str) {
    let bench = Bench { store, unique };
    records::a_record_is_created_only_once(&bench).await;
    records::an_assignment_to_no_record_conflicts_and_creates_nothing(&bench).await;
    records::every_clause_is_judged_as_the_domain_judges_it(&bench).await;
    records::every_assignment_does_what_the_domain_says(&bench).await;
    records::a_write_that_asks_for_the_record_gets_it(&bench).await;
    records::two_writers_of_one_version_do_not_both_win(&bench).await;
    runs::every_run_guard_is_judged_as_the_domain_judges_it(&bench).await;
    runs::a_failed_run_guard_brings_the_commands_own_run_and_writes_nothing(&bench).await;
    runs::a_failed_record_guard_writes_no_run(&bench).await;
    runs::two_failed_guards_bring_both(&bench).await;
    runs::a_record_and_its_runs_are_created_together(&bench).await;
    runs::a_run_key_and_a_token_never_mean_the_same_run(&bench).await;
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

    /// Writes `record` as the first record of `lock`.
    async fn given(&self, lock: &LockKey, record: &LockRecord) {
        let done = self.commit(lock, &create(record)).await;
        assert_eq!(done, Commit::Committed(None), "{lock} is new");
    }
}

fn create(record: &LockRecord) -> Change {
    Change {
        guard: Guard(vec![Clause::Absent]),
        update: Update::Create(record.clone()),
        runs: Vec::new(),
        read_back: false,
    }
}

fn assign(guard: Vec<Clause>, update: Update) -> Change {
    Change {
        guard: Guard(guard),
        update,
        runs: Vec::new(),
        read_back: false,
    }
}

fn holder(name: &str) -> HolderId {
    HolderId::new(name).expect("a valid holder")
}

fn run_key(key: &str) -> RunKey {
    RunKey::new(key).expect("a valid run key")
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn token(number: u64) -> FencingToken {
    FencingToken::from_number(number)
}

fn permits(count: i64) -> Permits {
    Permits::new(count).expect("a valid capacity")
}

fn lease(number: u64) -> Lease {
    Lease {
        token: token(number),
        expires_at: at(number + 60_000),
        length: Seconds::of(60),
        run_until: None,
        run_key: None,
        beat: None,
    }
}

/// A lock of two permits with one holder, `a`, under token 1000.
fn held() -> LockRecord {
    let mut record = LockRecord::new(permits(2));
    record.version = 7;
    record.last_token = token(1000);
    record.not_before = at(5000);
    record.holders.insert(holder("a"), lease(1000));
    record
}

fn running(number: u64) -> Run {
    Run {
        holder: holder("a"),
        token: token(number),
        end: None,
    }
}

fn write(id: &RunId, run: Run) -> RunWrite {
    RunWrite {
        id: id.clone(),
        run,
    }
}
