//! The processes of a command that are left after its first process has ended.

use super::descendants::{CommandTree, marked, without_kept};
use super::procfs::{Process, ProcessTable, own_children};
use super::watchdog::Watchdog;
use crate::platform::clock::{Instant, sleep};
use crate::platform::signals::asks_to_end;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid, getpgrp};
use std::collections::BTreeSet;
use std::io::Error;
use std::time::Duration;
use tokio::sync::watch;

/// Time between two lists of processes while their end is awaited. A list also follows each SIGCHLD: the last
/// process of a command is a child of this process, unless another subreaper has adopted it.
const LIST_EVERY: Duration = Duration::from_secs(1);
/// Shortest time between two such lists: hundreds of orphans may end one after the other, and a lease is
/// renewed in between.
const LIST_AFTER: Duration = Duration::from_millis(20);
/// Time between two lists of processes while they are killed. In that time before the next list, children of
/// this process are killed again and again, because no list finds a process that forks and ends all the time.
const KILL_EVERY: Duration = Duration::from_millis(5);
/// Longest wait for the end of killed processes. A process that is inside a system call, such as a write to a
/// file system that hangs, ends only when that call does.
const GONE_WITHIN: Duration = Duration::from_secs(2);
/// Fewest kills before this wait ends: on a busy machine, [`GONE_WITHIN`] can pass between a kill and the
/// next list.
const KILLS_MIN: usize = 20;

/// Sends `signal` through `by`. After SIGTERM and SIGINT also sends SIGCONT, because a stopped process cannot
/// handle them otherwise.
pub(super) fn send(signal: Signal, by: impl Fn(Signal) -> nix::Result<()>) -> nix::Result<()> {
    let sent = by(signal);
    if asks_to_end(signal) {
        by(Signal::SIGCONT).ok();
    }
    sent
}

/// The rest of a command. Its first process is not reaped yet, so the id of its group is not reused.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) tree: CommandTree,
    /// The watchdog, a child of this process that never belongs to a command.
    pub(super) watchdog: Watchdog,
    /// Changes after children were reaped.
    pub(super) reaped: watch::Receiver<()>,
}

impl Rest {
    /// Lists the processes of the group, the processes with the mark, and the descendants of both. If the
    /// command `is_alone` in this process, also lists all children that this process has adopted. The list is
    /// empty only if nothing is left.
    ///
    /// A process that forks and ends while the processes are listed is not in the list, nor is its child. Its
    /// end makes its child a child of this process, which reaps no child meanwhile. So the children are
    /// listed again until there is no new one: then no such process exists.
    ///
    /// # Errors
    /// When not all processes can be read, for example because no file descriptor is free: something may be
    /// left.
    pub(super) fn list(&self, is_alone: bool) -> Result<BTreeSet<Pid>, Error> {
        let mut known = own_children()?;
        let processes = ProcessTable::now()?;
        let found = processes.with_descendants(self.roots(&processes, is_alone));
        let mut found = without_kept(found, &self.tree, &processes);
        while found.is_empty() {
            let children = own_children()?;
            let new: Vec<_> = children.difference(&known).copied().collect();
            if new.is_empty() {
                break;
            }
            let new = ProcessTable::of(new)?;
            found = without_kept(self.roots(&new, is_alone), &self.tree, &new);
            known = children;
        }
        Ok(found)
    }

    /// Returns the processes of the command among the children of this process.
    fn adopted(&self, is_alone: bool) -> Result<BTreeSet<Pid>, Error> {
        let children = ProcessTable::of(own_children()?)?;
        let found = self.roots(&children, is_alone);
        Ok(without_kept(found, &self.tree, &children))
    }

    /// Returns those of `processes` that belong to the command by group, by mark or by adoption. Children in
    /// the process group of this process belong to the SDK, which runs the `credential_process` of a profile.
    fn roots(&self, processes: &ProcessTable, is_alone: bool) -> BTreeSet<Pid> {
        let mut roots: BTreeSet<_> = processes.of_group(self.tree.group).collect();
        roots.extend(marked(&self.tree.mark, processes));
        let own = processes.children_of(Pid::this());
        if is_alone {
            roots.extend(own.filter(|child| getpgid(Some(*child)) != Ok(getpgrp())));
        } else {
            // The mark of a process that is about to end is gone with its memory, and this process adopts its
            // children in a moment. Read after the marks, so that no process is missed in between.
            let is_ending =
                |child: &Pid| matches!(Process::now(*child), Ok(Some(one)) if one.is_ending);
            roots.extend(own.filter(is_ending));
        }
        roots.remove(&self.watchdog.pid());
        roots
    }

    /// Returns how many processes are left, for the log; 1 if they cannot be listed.
    pub(super) fn count(&self, is_alone: bool) -> usize {
        self.list(is_alone).map_or(1, |left| left.len())
    }

    /// Returns when no process of the command is left.
    pub(super) async fn gone(&mut self, is_alone: bool) {
        while !self.is_gone(is_alone) {
            tokio::select! {
                _ = self.reaped.changed() => sleep(LIST_AFTER).await,
                () = sleep(LIST_EVERY) => {}
            }
        }
    }

    /// Returns whether no process of the command is left. Checks the children first, because that is faster
    /// than a list of all processes.
    fn is_gone(&self, is_alone: bool) -> bool {
        let lists = [Self::adopted, Self::list];
        lists
            .iter()
            .all(|list| list(self, is_alone).is_ok_and(|left| left.is_empty()))
    }

    /// Sends `signal` to all processes that have left the group, and returns how many are left in and out of
    /// the group.
    pub(super) fn signal_outside(&self, signal: Signal, is_alone: bool) -> usize {
        self.signal_matching(signal, is_alone, |process| self.has_left(process))
    }

    /// Sends `signal` to all but the first process, and returns how many are left.
    pub(super) fn signal_all_but_first(&self, signal: Signal, is_alone: bool) -> usize {
        self.signal_matching(signal, is_alone, |process| process != self.tree.group)
    }

    /// Sends `signal` to the processes that `is_meant` chooses, and returns how many are left. Processes of
    /// inner commands get no signal: the `lockstep` that has started them is among the rest, and stops them
    /// itself.
    fn signal_matching(
        &self,
        signal: Signal,
        is_alone: bool,
        is_meant: impl Fn(Pid) -> bool,
    ) -> usize {
        let Ok(left) = self.list(is_alone) else {
            return 1;
        };
        let meant = left.iter().filter(|process| is_meant(**process));
        for process in meant.filter(|process| !self.tree.mark.is_of_inner_command(**process)) {
            // The process may have ended meanwhile.
            send(signal, |signal| kill(*process, signal)).ok();
        }
        left.len()
    }

    /// Kills all processes that are left, such as daemons, and waits at most [`GONE_WITHIN`] until they are
    /// gone: work that goes on after the release of its lock is not guarded.
    pub(super) async fn kill(&self, is_alone: bool) {
        let end = Instant::now() + GONE_WITHIN;
        let mut logged = BTreeSet::new();
        for kills in 1.. {
            killpg(self.tree.group, Signal::SIGKILL).ok();
            let left = self.list(is_alone);
            if left.as_ref().is_ok_and(BTreeSet::is_empty) {
                return;
            }
            for orphan in left.iter().flatten() {
                let has_left = self.has_left(*orphan);
                kill(*orphan, Signal::SIGKILL).ok();
                if has_left && logged.insert(*orphan) {
                    tracing::warn!(
                        event = "orphan_killed",
                        %orphan,
                        "killed a process that the command left behind"
                    );
                }
            }
            let until = Instant::now() + KILL_EVERY;
            while !until.left().is_zero() {
                let adopted = self.adopted(is_alone).unwrap_or_default();
                if adopted.is_empty() {
                    break;
                }
                for orphan in adopted {
                    kill(orphan, Signal::SIGKILL).ok();
                }
            }
            if kills >= KILLS_MIN && end.left().is_zero() {
                tracing::error!(
                    event = "orphan_survived",
                    orphans = ?left,
                    "orphan processes survived SIGKILL"
                );
                return;
            }
            sleep(KILL_EVERY).await;
        }
    }

    /// Returns whether a process lives outside of the group.
    fn has_left(&self, process: Pid) -> bool {
        getpgid(Some(process)).is_ok_and(|group| group != self.tree.group)
    }
}
