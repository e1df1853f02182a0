//! The processes of one command, wherever they have gone.

use super::mark::Mark;
use super::procfs::ProcessTable;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};

/// What the processes of one command have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandTree {
    /// The group that they begin in, which has the id of the first of them.
    pub(crate) group: Pid,
    /// The mark in their environment.
    pub(crate) mark: Mark,
}

/// A family, and which processes were seen in it: those that leave its group, lose their parent and
/// change their environment are known from before.
#[derive(Clone, Debug)]
pub(crate) struct Descendants {
    family: CommandTree,
    /// ProcessTable by id, with the times of their start.
    seen: BTreeMap<Pid, u64>,
}

impl Descendants {
    /// A family of which no process was seen yet.
    pub(crate) fn new(family: CommandTree) -> Self {
        let seen = BTreeMap::new();
        Self { family, seen }
    }

    /// The group that they begin in.
    pub(crate) fn group(&self) -> Pid {
        self.family.group
    }

    /// Notes those among `processes` that belong to the group, descend from it, or were seen before.
    pub(crate) fn note(&mut self, processes: &ProcessTable) {
        let group = processes.of_group(self.family.group);
        let roots = group.chain(self.known(processes)).collect();
        self.seen = started(processes.with_descendants(roots), processes);
    }

    /// Sends SIGKILL to all of the family among `processes`, and returns them. A process that was
    /// started meanwhile is in the next list of processes.
    pub(crate) fn kill(&mut self, processes: &ProcessTable) -> BTreeSet<Pid> {
        let group = processes.of_group(self.family.group);
        let mut roots: BTreeSet<_> = group.chain(self.known(processes)).collect();
        roots.extend(marked(&self.family.mark, processes));
        let found = processes.with_descendants(roots);
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

/// All that have `mark`, but for this process.
pub(super) fn marked(mark: &Mark, processes: &ProcessTable) -> impl Iterator<Item = Pid> {
    let others = processes.all_living().filter(|id| *id != Pid::this());
    others.filter(|id| mark.is_on(*id))
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

    fn family(group: i32) -> CommandTree {
        CommandTree {
            group: Pid::from_raw(group),
            mark: Mark::new(),
        }
    }

    #[test]
    fn a_process_that_left_its_group_and_its_parent_is_found_by_its_mark() {
        // No group of this id exists.
        let family = family(i32::MAX);
        let mut daemon = Command::new("setsid");
        daemon
            .args(["--fork", "sleep", "300"])
            .envs([family.mark.variable()]);
        daemon.status().unwrap();
        let mut kin = Descendants::new(family);

        let found = kin.kill(&ProcessTable::now());

        assert_eq!(found.len(), 1, "{found:?}");
        while !kin.kill(&ProcessTable::now()).is_empty() {}
    }

    #[test]
    fn a_process_without_its_mark_is_found_if_it_was_seen_below_its_parent() {
        use std::os::unix::process::CommandExt;
        let mut shell = Command::new("sh");
        let script = "env -i setsid sleep 301 & sleep 300";
        let mut shell = shell.args(["-c", script]).process_group(0).spawn().unwrap();
        let mut kin = Descendants::new(family(i32::try_from(shell.id()).unwrap()));
        let mut rounds = 0;
        while kin.seen.len() < 3 && rounds < 1_000_000 {
            kin.note(&ProcessTable::now());
            rounds += 1;
        }

        shell.kill().unwrap();
        shell.wait().unwrap();
        let found = kin.kill(&ProcessTable::now());

        assert_eq!(found.len(), 2, "{found:?}");
    }
}
