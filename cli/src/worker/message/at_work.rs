//! Tracks whether any command runs.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A lock that each running command holds as a reader. The search for orphans is its writer: it
/// must not overlap with a command.
#[derive(Debug, Default)]
pub(crate) struct AtWork(RwLock<()>);

impl AtWork {
    /// Counts a command as running until the guard is dropped, also by a panic. Waits while a guard
    /// of [`Self::try_idle`] is held.
    pub(super) async fn begin(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read().await
    }

    /// Returns a guard that keeps commands from starting, if no command runs.
    pub(super) fn try_idle(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        self.0.try_write().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn a_message_that_panics_does_not_count_as_running() {
        let at_work = Arc::new(AtWork::default());
        let own = Arc::clone(&at_work);

        let task = tokio::spawn(async move {
            let _at_work = own.begin().await;
            panic!("in the middle of it");
        });

        assert!(task.await.unwrap_err().is_panic());
        assert!(at_work.try_idle().is_some());
    }

    #[tokio::test]
    async fn a_worker_is_idle_when_its_last_command_has_ended() {
        let at_work = AtWork::default();
        let (one, other) = (at_work.begin().await, at_work.begin().await);

        drop(one);
        let before = at_work.try_idle().is_some();
        drop(other);

        assert_eq!((before, at_work.try_idle().is_some()), (false, true));
    }

    #[tokio::test]
    async fn no_command_begins_while_orphans_are_killed() {
        let at_work = Arc::new(AtWork::default());
        let own = Arc::clone(&at_work);
        let idle = at_work.try_idle();

        let next = tokio::spawn(async move { drop(own.begin().await) });
        yield_now().await;
        let begun = next.is_finished();
        drop(idle);
        next.await.unwrap();

        assert!(!begun);
    }
}
