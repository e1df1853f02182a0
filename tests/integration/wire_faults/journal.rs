//! The guarded resource: it writes down who was in, and refuses a second one and an old token.

use lockstep::domain::{FencingToken, HolderId, LockKey};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// What the resources behind the locks have seen.
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

    /// `holder` begins its work under `token`.
    pub(super) fn enter(&self, lock: &LockKey, holder: &HolderId, token: FencingToken) {
        let mut book = self.0[lock].lock().unwrap();
        let last = book.grants.last();
        let newer = last.is_none_or(|(_, last)| *last < token);
        assert_eq!(book.inside, None, "{lock}: {holder} is granted beside it");
        assert!(newer, "{lock}: {holder} comes under {token} after {last:?}");
        book.inside = Some(holder.clone());
        book.grants.push((holder.clone(), token));
    }

    /// `holder` has done its work.
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
