//! Tracks whether any command runs.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A read-write lock that each running command holds as a reader. The search for orphans is its writer,
/// because it must not run beside a command.
#[derive(Debug, Default)]
pub(crate) struct RunningCommands(RwLock<()>);

impl RunningCommands {
    /// Counts a command as running until the returned guard is dropped, also by a panic. Waits while a guard
    /// of [`Self::try_idle`] is held.
    pub(super) async fn begin(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read().await
    }

    /// Returns a guard that keeps commands from starting; `None` if a command runs.
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
        let commands = Arc::new(RunningCommands::default());
        let own = Arc::clone(&commands);

        let task = tokio::spawn(async move {
            let _running = own.begin().await;
            panic!("in the middle of it");
        });

        assert!(task.await.unwrap_err().is_panic());
        assert!(commands.try_idle().is_some());
    }

    #[tokio::test]
    async fn a_worker_is_idle_when_its_last_command_has_ended() {
        let commands = RunningCommands::default();
        let (one, other) = (commands.begin().await, commands.begin().await);

        drop(one);
        let before = commands.try_idle().is_some();
        drop(other);

        assert_eq!((before, commands.try_idle().is_some()), (false, true));
    }

    #[tokio::test]
    async fn no_command_begins_while_orphans_are_killed() {
        let commands = Arc::new(RunningCommands::default());
        let own = Arc::clone(&commands);
        let idle = commands.try_idle();

        let next = tokio::spawn(async move { drop(own.begin().await) });
        yield_now().await;
        let begun = next.is_finished();
        drop(idle);
        next.await.unwrap();

        assert!(!begun);
    }
}
