//! The runs under way, as Step Functions would know them, and the guarded resource. The resource
//! records who worked, and refuses a second holder and an old token.

use lockstep::contract::ErrorName;
use lockstep::domain::{FencingToken, HolderId, LockKey};
use std::collections::BTreeMap;
use std::sync::Mutex;
use tokio::sync::oneshot;

/// The runs under way, each with its waiting state.
#[derive(Debug, Default)]
pub(super) struct Runs {
    running: Mutex<BTreeMap<HolderId, Option<oneshot::Sender<FencingToken>>>>,
    failures: Mutex<BTreeMap<ErrorName, u32>>,
    recovered: Mutex<u32>,
}

impl Runs {
    /// Begins a run. The receiver gets the token at the turn of the run.
    pub(super) fn begin(&self, holder: &HolderId) -> oneshot::Receiver<FencingToken> {
        let (turn, called) = oneshot::channel();
        self.running
            .lock()
            .unwrap()
            .insert(holder.clone(), Some(turn));
        called
    }

    pub(super) fn end(&self, holder: &HolderId) {
        self.running.lock().unwrap().remove(holder);
    }

    /// Ends the waiting state of a run, if it is under way.
    pub(super) fn wake(&self, holder: &HolderId, token: FencingToken) {
        let mut running = self.running.lock().unwrap();
        let turn = running.get_mut(holder).and_then(Option::take);
        // A waiting state that is over already found its grant by itself.
        turn.map(|turn| turn.send(token));
    }

    pub(super) fn is_running(&self, holder: &HolderId) -> bool {
        self.running.lock().unwrap().contains_key(holder)
    }

    pub(super) fn failed(&self, name: ErrorName) {
        *self.failures.lock().unwrap().entry(name).or_default() += 1;
    }

    pub(super) fn recovered(&self) {
        *self.recovered.lock().unwrap() += 1;
    }

    pub(super) fn figures(&self) -> String {
        let (failures, recovered) = (&self.failures, self.recovered.lock().unwrap());
        format!(
            "commands that failed and were tried again: {:?}; grants of runs that were over, \
             recovered: {recovered}",
            failures.lock().unwrap()
        )
    }
}

/// What the guarded resources have seen.
#[derive(Debug)]
pub(super) struct Journal(BTreeMap<LockKey, Mutex<Book>>);

#[derive(Debug, Default)]
struct Book {
    inside: Option<HolderId>,
    grants: Vec<(HolderId, FencingToken)>,
}

impl Journal {
    pub(super) fn of(locks: &[LockKey]) -> Self {
        let books = locks.iter().map(|lock| (lock.clone(), Mutex::default()));
        Self(books.collect())
    }

    /// Begins the work of `holder` under `token`.
    pub(super) fn enter(&self, lock: &LockKey, holder: &HolderId, token: FencingToken) {
        let mut book = self.0[lock].lock().unwrap();
        let last = book.grants.last();
        let newer = last.is_none_or(|(_, last)| *last < token);
        assert_eq!(book.inside, None, "{lock}: {holder} is granted beside it");
        assert!(newer, "{lock}: {holder} comes under {token} after {last:?}");
        book.inside = Some(holder.clone());
        book.grants.push((holder.clone(), token));
    }

    /// Ends the work of `holder`.
    pub(super) fn leave(&self, lock: &LockKey, holder: &HolderId) {
        let inside = self.0[lock].lock().unwrap().inside.take();
        assert_eq!(inside.as_ref(), Some(holder), "{lock}");
    }

    pub(super) fn of_lock(&self, lock: &LockKey) -> Vec<(HolderId, FencingToken)> {
        self.0[lock].lock().unwrap().grants.clone()
    }

    pub(super) fn grants(&self) -> u64 {
        let books = self.0.values();
        books
            .map(|book| book.lock().unwrap().grants.len() as u64)
            .sum()
    }
}
