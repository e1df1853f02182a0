//! The limit on open jobs.

use std::collections::BTreeMap;

/// Most jobs that may be open at once.
pub(in crate::agent) const OPEN_MAX: usize = 1_000;

/// Why a job cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum BeginRefused {
    /// The limit on open jobs is reached.
    Full,
    /// The agent is stopping.
    Stopping,
}

/// Counts the jobs that take up capacity without being open: those being begun, and those whose grant is
/// unconfirmed.
#[derive(Debug, Default)]
pub(in crate::agent) struct Capacity {
    /// How many jobs are being begun.
    beginning: usize,
    /// The holders of jobs that did not begin but may hold a permit, each with the lock of that permit.
    unconfirmed: BTreeMap<String, String>,
    is_stopping: bool,
}

impl Capacity {
    /// Reserves capacity for a job that is being begun, in addition to the `open` ones. The caller has to
    /// call [`Self::begin_finished`] or [`Self::add_unconfirmed`] after that.
    ///
    /// # Errors
    /// [`BeginRefused`].
    pub(super) fn reserve(&mut self, open: usize) -> Result<(), BeginRefused> {
        if self.is_stopping {
            return Err(BeginRefused::Stopping);
        }
        if open + self.beginning + self.unconfirmed.len() >= OPEN_MAX {
            return Err(BeginRefused::Full);
        }
        self.beginning += 1;
        Ok(())
    }

    /// Ends a reservation: the job is open, or it does not begin.
    pub(in crate::agent) fn begin_finished(&mut self) {
        self.beginning = self.beginning.saturating_sub(1);
    }

    /// Turns a reservation into an unconfirmed grant: the job does not begin, but `holder` may have a permit
    /// of `lock`. The grant still counts towards the limit, which bounds the requests to a lock table that
    /// does not answer. The caller has to call [`Self::remove_unconfirmed`] after that.
    pub(in crate::agent) fn add_unconfirmed(&mut self, holder: &str, lock: &str) {
        self.begin_finished();
        self.unconfirmed.insert(holder.to_owned(), lock.to_owned());
    }

    /// Removes the unconfirmed grant of `holder`, which was reconciled or given up.
    pub(in crate::agent) fn remove_unconfirmed(&mut self, holder: &str) {
        self.unconfirmed.remove(holder);
    }

    /// Returns whether a grant of `lock` is unconfirmed.
    pub(in crate::agent) fn is_unconfirmed(&self, lock: &str) -> bool {
        self.unconfirmed
            .values()
            .any(|unconfirmed| unconfirmed == lock)
    }

    /// Returns how many grants are unconfirmed.
    pub(in crate::agent) fn unconfirmed_count(&self) -> usize {
        self.unconfirmed.len()
    }

    /// Refuses all further jobs.
    pub(in crate::agent) fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// Returns whether [`Self::stop`] was called.
    pub(in crate::agent) fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Returns whether [`Self::stop`] was called and no job is being begun.
    pub(in crate::agent) fn is_settled(&self) -> bool {
        self.is_stopping && self.beginning == 0
    }
}
