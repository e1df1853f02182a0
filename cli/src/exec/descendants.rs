//! Finds the processes of one command, also those that have left its group.

use super::mark::{Mark, is_kept};
use super::procfs::ProcessTable;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};

/// Identifies the processes of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandTree {
    /// The process group that they start in. Its id is the process id of the first of them.
    pub(crate) group: Pid,
    /// The mark in their environment.
    pub(crate) mark: Mark,
}

/// The processes of a command that were seen so far. A process that leaves the group, loses its parent and
/// changes its environment is still found, because it was seen before.
#[derive(Clone, Debug)]
pub(crate) struct Descendants {
    tree: CommandTree,
    /// Start times by process id.
    seen: BTreeMap<Pid, u64>,
}

impl Descendants {
    /// Creates an empty record for the processes of `tree`.
    pub(crate) fn new(tree: CommandTree) -> Self {
        let seen = BTreeMap::new();
        Self { tree, seen }
    }

    /// Returns the process group that they start in.
    pub(crate) fn group(&self) -> Pid {
        self.tree.group
    }

    /// Records those of `processes` that belong to the group, descend from a process of it, or were recorded
    /// before and still live, with their descendants.
    pub(crate) fn note(&mut self, processes: &ProcessTable) {
        let group = processes.of_group(self.tree.group);
        let roots = group.chain(self.known(processes)).collect();
        self.seen = started(processes.with_descendants(roots), processes);
    }

    /// Sends SIGKILL to all processes of the command among `processes`, and returns them. A process that
    /// starts meanwhile is in the next process table.
    pub(crate) fn kill(&mut self, processes: &ProcessTable) -> BTreeSet<Pid> {
        let group = processes.of_group(self.tree.group);
        let mut roots: BTreeSet<_> = group.chain(self.known(processes)).collect();
        roots.extend(marked(&self.tree.mark, processes));
        let found = without_kept(processes.with_descendants(roots), &self.tree, processes);
        self.seen = started(found.clone(), processes);
        for id in &found {
            kill(*id, Signal::SIGKILL).ok();
        }
        found
    }

    fn known(&self, processes: &ProcessTable) -> impl Iterator<Item = Pid> {
        let seen = self.seen.iter();
        let known = seen.filter(|(id, started)| {
            let process = processes.living(**id);
            process.is_some_and(|process| process.started == **started)
        });
        known.map(|(id, _)| *id)
    }
}

/// Returns all processes with `mark`, except this one.
pub(super) fn marked(mark: &Mark, processes: &ProcessTable) -> impl Iterator<Item = Pid> {
    let others = processes.all_living().filter(|id| *id != Pid::this());
    others.filter(|id| mark.is_on(*id))
}

/// Removes from `found` the processes that are marked to outlive the command of `tree` and have left its
/// group, and the descendants of these processes.
pub(super) fn without_kept(
    mut found: BTreeSet<Pid>,
    tree: &CommandTree,
    processes: &ProcessTable,
) -> BTreeSet<Pid> {
    let in_group: BTreeSet<_> = processes.of_group(tree.group).collect();
    let kept = found
        .iter()
        .filter(|id| !in_group.contains(id) && is_kept(**id));
    let kept = processes.with_descendants(kept.copied().collect());
    found.retain(|id| !kept.contains(id));
    found
}

fn started(ids: BTreeSet<Pid>, processes: &ProcessTable) -> BTreeMap<Pid, u64> {
    let started = ids.into_iter().filter_map(|id| {
        let process = processes.living(id)?;
        Some((id, process.started))
    });
    started.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn tree(group: i32) -> CommandTree {
        CommandTree {
            group: Pid::from_raw(group),
            mark: Mark::new(),
        }
    }

    #[test]
    fn a_process_that_left_its_group_and_its_parent_is_found_by_its_mark() {
        // No group of this id exists.
        let tree = tree(i32::MAX);
        let mut daemon = Command::new("setsid");
        daemon.args(["--fork", "sleep", "300"]);
        daemon.envs([tree.mark.variable()]).status().unwrap();
        let mut descendants = Descendants::new(tree);

        let found = descendants.kill(&ProcessTable::now().unwrap());

        assert_eq!(found.len(), 1, "{found:?}");
        while !descendants.kill(&ProcessTable::now().unwrap()).is_empty() {}
    }

    #[test]
    fn a_process_without_its_mark_is_found_if_it_was_seen_below_its_parent() {
        use std::os::unix::process::CommandExt;
        let mut shell = Command::new("sh");
        let script = "env -i setsid sleep 301 & sleep 300";
        let mut shell = shell.args(["-c", script]).process_group(0).spawn().unwrap();
        let mut descendants = Descendants::new(tree(i32::try_from(shell.id()).unwrap()));
        let mut rounds = 0;
        while descendants.seen.len() < 3 && rounds < 1_000_000 {
            descendants.note(&ProcessTable::now().unwrap());
            rounds += 1;
        }

        shell.kill().unwrap();
        shell.wait().unwrap();
        let found = descendants.kill(&ProcessTable::now().unwrap());

        assert_eq!(found.len(), 2, "{found:?}");
    }
}
