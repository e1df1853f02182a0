//! Whether any command runs.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The commands of a worker that run: readers. Whoever looks for orphans wants to be alone: a writer.
#[derive(Debug, Default)]
pub(crate) struct AtWork(RwLock<()>);

impl AtWork {
    /// Counts a command as at work, from before its start until the answer is dropped: also where
    /// its message panics. Waits while [`Self::nothing`] is kept.
    pub(super) async fn begin(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read().await
    }

    /// Says that nothing is at work, and keeps it so until the answer is dropped.
    pub(super) fn nothing(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        self.0.try_write().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn a_message_that_panics_is_not_at_work_for_ever() {
        let at_work = Arc::new(AtWork::default());
        let own = Arc::clone(&at_work);

        let task = tokio::spawn(async move {
            let _at_work = own.begin().await;
            panic!("in the middle of it");
        });

        assert!(task.await.unwrap_err().is_panic());
        assert!(at_work.nothing().is_some());
    }

    #[tokio::test]
    async fn nothing_is_at_work_when_the_last_command_has_ended() {
        let at_work = AtWork::default();
        let (one, other) = (at_work.begin().await, at_work.begin().await);

        drop(one);
        let before = at_work.nothing().is_some();
        drop(other);

        assert_eq!((before, at_work.nothing().is_some()), (false, true));
    }

    #[tokio::test]
    async fn no_command_begins_while_strays_are_killed() {
        let at_work = Arc::new(AtWork::default());
        let own = Arc::clone(&at_work);
        let nothing = at_work.nothing();

        let next = tokio::spawn(async move { drop(own.begin().await) });
        yield_now().await;
        let begun = next.is_finished();
        drop(nothing);
        next.await.unwrap();

        assert!(!begun);
    }
}
