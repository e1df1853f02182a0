//! Kills processes that outlived their command.

use super::descendants::{CommandTree, marked};
use super::procfs::ProcessTable;
use crate::platform::clock::{Instant, sleep};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgid};
use std::collections::BTreeSet;
use std::time::Duration;

/// Time between two lists of processes, in which the killed ones are reaped.
const LIST_EVERY: Duration = Duration::from_millis(5);
/// Longest wait for their end: a process that is inside the kernel, such as in a write to a file
/// system that hangs, ends when that call does.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// Kills the processes that the command of `tree` left behind, such as a daemon, and waits until they
/// are gone: work that continues after the release of its lock is not guarded.
///
/// These are the processes with the tree's mark and their descendants. `watchdog` returns `None` while
/// other commands run. Otherwise it returns the child of this process that stays, and every other
/// descendant of this process is killed too.
pub(crate) async fn kill_orphans(tree: &CommandTree, watchdog: impl Fn() -> Option<Pid>) {
    let end = Instant::now() + GONE_WITHIN;
    let mut logged = BTreeSet::new();
    loop {
        let orphans = orphans(tree, watchdog(), &ProcessTable::now());
        if orphans.is_empty() {
            return;
        }
        for orphan in &orphans {
            let has_left = getpgid(Some(*orphan)).is_ok_and(|of| of != tree.group);
            kill(*orphan, Signal::SIGKILL).ok();
            if has_left && logged.insert(*orphan) {
                tracing::warn!(
                    event = "orphan_killed",
                    %orphan,
                    "killed a process that the command left behind"
                );
            }
        }
        if end.left().is_zero() {
            tracing::error!(
                event = "orphan_survived",
                ?orphans,
                "orphan processes survived SIGKILL"
            );
            return;
        }
        sleep(LIST_EVERY).await;
    }
}

/// What carries the mark, and, if no other command is at work, every child that this process has
/// inherited as the subreaper.
fn orphans(tree: &CommandTree, watchdog: Option<Pid>, processes: &ProcessTable) -> BTreeSet<Pid> {
    let mut roots: BTreeSet<_> = marked(&tree.mark, processes).collect();
    if let Some(watchdog) = watchdog {
        let own = processes.children_of(Pid::this());
        roots.extend(own.filter(|child| *child != watchdog));
    }
    processes.with_descendants(roots)
}
