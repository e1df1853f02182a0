//! ProcessTable that outlived their command.

use super::descendants::{CommandTree, marked};
use super::procfs::ProcessTable;
use crate::platform::clock::{Instant, sleep};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgid};
use std::collections::BTreeSet;
use std::time::Duration;

/// Time between two lists of processes, in which the dead are waited for.
const LIST_EVERY: Duration = Duration::from_millis(5);
/// Longest time for them to die: a process that is inside the kernel, such as in a write to a file
/// system that hangs, ends when that call does.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// Kills what the command of `family` left behind, such as a daemon, and waits until it is gone: work
/// that goes on after its lock was released is not guarded.
///
/// These are the processes with the family's mark and all that descends from them. `watchdog` is the
/// child of this process that stays, while no other command is at work: then every other descendant of
/// this process is killed too. While others are at work it is none.
pub(crate) async fn kill_orphans(family: &CommandTree, watchdog: impl Fn() -> Option<Pid>) {
    let end = Instant::now() + GONE_WITHIN;
    let mut logged = BTreeSet::new();
    loop {
        let orphans = orphans(family, watchdog(), &ProcessTable::now());
        if orphans.is_empty() {
            return;
        }
        for orphan in &orphans {
            let has_left = getpgid(Some(*orphan)).is_ok_and(|of| of != family.group);
            kill(*orphan, Signal::SIGKILL).ok();
            if has_left && logged.insert(*orphan) {
                tracing::warn!(%orphan, "the command left a process behind, which is killed");
            }
        }
        if end.left().is_zero() {
            tracing::error!(?orphans, "orphan processes survive SIGKILL");
            return;
        }
        sleep(LIST_EVERY).await;
    }
}

fn orphans(family: &CommandTree, watchdog: Option<Pid>, processes: &ProcessTable) -> BTreeSet<Pid> {
    let mut roots: BTreeSet<_> = marked(&family.mark, processes).collect();
    if let Some(watchdog) = watchdog {
        let own = processes.children_of(Pid::this());
        roots.extend(own.filter(|child| *child != watchdog));
    }
    processes.with_descendants(roots)
}
