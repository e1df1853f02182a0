//! How many jobs there is room for.

use std::collections::BTreeMap;

/// Most jobs that may be open at once.
pub(in crate::agent) const OPEN_MAX: usize = 1_000;

/// Why a job cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum NoRoom {
    /// As many are open as may be.
    Full,
    /// The agent ends.
    Stopping,
}

/// The places of jobs that are not open: not yet, or perhaps.
#[derive(Debug, Default)]
pub(in crate::agent) struct Capacity {
    /// How many are being begun.
    beginning: usize,
    /// The holders of those that have not begun, and the locks that they may have a permit of all the
    /// same.
    doubts: BTreeMap<String, String>,
    is_stopping: bool,
}

impl Capacity {
    /// Keeps a place for a job that is being begun, beside those that are `open`.
    /// [`Self::left`] or [`Self::doubted`] follows.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub(super) fn reserve(&mut self, open: usize) -> Result<(), NoRoom> {
        if self.is_stopping {
            return Err(NoRoom::Stopping);
        }
        if open + self.beginning + self.doubts.len() >= OPEN_MAX {
            return Err(NoRoom::Full);
        }
        self.beginning += 1;
        Ok(())
    }

    /// The job is being begun no more: it is open, or it does not begin.
    pub(in crate::agent) fn left(&mut self) {
        self.beginning = self.beginning.saturating_sub(1);
    }

    /// The job does not begin, and nobody knows whether `holder` has a permit of `lock`. The place stays taken,
    /// so that a table that gives no answer is not asked by more and more. [`Self::resolved`] follows.
    pub(in crate::agent) fn doubted(&mut self, holder: &str, lock: &str) {
        self.left();
        self.doubts.insert(holder.to_owned(), lock.to_owned());
    }

    /// It is known, or will not be.
    pub(in crate::agent) fn resolved(&mut self, holder: &str) {
        self.doubts.remove(holder);
    }

    /// Whether a permit of `lock` is in doubt.
    pub(in crate::agent) fn is_doubted(&self, lock: &str) -> bool {
        self.doubts.values().any(|doubted| doubted == lock)
    }

    /// How many holders are in doubt.
    pub(in crate::agent) fn doubts(&self) -> usize {
        self.doubts.len()
    }

    /// No job begins any more.
    pub(in crate::agent) fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// Whether no job begins any more.
    pub(in crate::agent) fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Whether the agent stops and no job is being begun.
    pub(in crate::agent) fn is_settled(&self) -> bool {
        self.is_stopping && self.beginning == 0
    }
}
