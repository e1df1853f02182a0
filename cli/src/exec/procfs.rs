//! Reads the list of processes from `/proc`.

use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;

/// Longer than each line of `/proc/<id>/stat`: a name and some fifty numbers. One read returns the line;
/// `fs::read` needs six, for its buffer grows from 32 bytes.
const LINE_MAX: usize = 2048;

/// All processes at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessTable(BTreeMap<Pid, Process>);

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    parent: Pid,
    group: Pid,
    /// Whether it has ended and is not reaped yet.
    is_zombie: bool,
    /// Clock ticks from the start of the machine to its own. Distinguishes the process from a later one
    /// with the same id.
    pub(super) started: u64,
    /// Whether it has no environment, and none is being set up.
    pub(super) has_no_environment: bool,
}

impl ProcessTable {
    /// Reads the current processes; empty where `/proc` cannot be read.
    pub(crate) fn now() -> Self {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Self::default();
        };
        let all = entries.flatten().filter_map(|entry| {
            let id: i32 = entry.file_name().to_str()?.parse().ok()?;
            let id = Pid::from_raw(id);
            Some((id, Process::now(id)?))
        });
        Self(all.collect())
    }

    /// The process of this `id`, if it has not ended.
    pub(super) fn living(&self, id: Pid) -> Option<&Process> {
        self.0.get(&id).filter(|process| !process.is_zombie)
    }

    /// All processes that have not ended.
    pub(super) fn all_living(&self) -> impl Iterator<Item = Pid> {
        let living = self.0.iter().filter(|(_, process)| !process.is_zombie);
        living.map(|(id, _)| *id)
    }

    /// Processes of `group` that have not ended.
    pub(super) fn of_group(&self, group: Pid) -> impl Iterator<Item = Pid> {
        let all = self.all_living();
        all.filter(move |id| self.0[id].group == group)
    }

    /// Children of `parent` that have ended and are not reaped yet.
    pub(super) fn zombies_of(&self, parent: Pid) -> impl Iterator<Item = Pid> {
        let all = self.0.iter();
        let zombies = all.filter(move |(_, one)| one.is_zombie && one.parent == parent);
        zombies.map(|(id, _)| *id)
    }

    /// Children of `parent` that have not ended.
    pub(super) fn children_of(&self, parent: Pid) -> impl Iterator<Item = Pid> {
        let all = self.all_living();
        all.filter(move |id| self.0[id].parent == parent)
    }

    /// `roots` and all their descendants.
    pub(super) fn with_descendants(&self, roots: BTreeSet<Pid>) -> BTreeSet<Pid> {
        let mut children: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
        for id in self.all_living() {
            children.entry(self.0[&id].parent).or_default().push(id);
        }
        let mut next: Vec<_> = roots.iter().copied().collect();
        let mut all = roots;
        while let Some(id) = next.pop() {
            let own = children.get(&id).into_iter().flatten();
            next.extend(own.filter(|child| all.insert(**child)));
        }
        all
    }
}

impl Process {
    /// Reads the process of this `id` as it is now.
    pub(super) fn now(id: Pid) -> Option<Self> {
        let mut line = [0; LINE_MAX];
        let mut stat = File::open(format!("/proc/{id}/stat")).ok()?;
        let length = stat.read(&mut line).ok()?;
        Self::parse(&line[..length])
    }

    /// Parses a line of `/proc/<id>/stat`. The name of the command is in brackets and may have any
    /// character. State, parent and group follow, 16 fields later the start time and the size of the
    /// memory, and 26 fields after them the first and the last address of the environment
    /// (<https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>).
    ///
    /// A thread of the kernel and a process that has ended have no memory. One inside `execve` has
    /// memory, and both addresses are 0 until its environment is in place.
    fn parse(stat: &[u8]) -> Option<Self> {
        // The name may be no UTF-8.
        let stat = String::from_utf8_lossy(stat);
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        let mut id = || Some(Pid::from_raw(fields.next()?.parse().ok()?));
        let (parent, group) = (id()?, id()?);
        let mut number = |skipped| -> Option<u64> { fields.nth(skipped)?.parse().ok() };
        let (started, memory) = (number(16)?, number(0)?);
        let (first, last) = (number(26)?, number(0)?);
        Some(Self {
            parent,
            group,
            is_zombie: matches!(state, "Z" | "X"),
            started,
            has_no_environment: memory == 0 || (first == last && last > 0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pid(id: i32) -> Pid {
        Pid::from_raw(id)
    }

    fn process(parent: i32, group: i32, is_zombie: bool, started: u64) -> Process {
        Process {
            parent: pid(parent),
            group: pid(group),
            is_zombie,
            started,
            has_no_environment: false,
        }
    }

    /// The fields behind the session.
    fn rest(memory: u64, environment: (u64, u64)) -> String {
        let between = ["1"; 26].join(" ");
        let (first, last) = environment;
        format!("0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 8812 {memory} {between} {first} {last} 0")
    }

    #[test]
    fn a_process_is_parsed_whatever_its_name_is() {
        let rest = rest(4_096, (7_000, 7_200));
        let read = |head: &[u8]| Process::parse(&[head, b" ", rest.as_bytes()].concat());
        let process = |parent, is_zombie| process(parent, 71, is_zombie, 8_812);

        assert_eq!(read(b"71 (sleep) S 7 71 71"), Some(process(7, false)));
        assert_eq!(read(b"71 (a) S 9 (b) R 7 71 71"), Some(process(7, false)));
        assert_eq!(read(b"71 (sleep) Z 70 71 71"), Some(process(70, true)));
        assert_eq!(read(b"71 (\xff) S 7 71 71"), Some(process(7, false)));
        assert_eq!(Process::parse(b"71 (sl"), None);
    }

    #[test]
    fn a_process_inside_execve_is_not_one_without_an_environment() {
        for (memory, environment, expected, which) in [
            (4_096, (7_000, 7_200), false, "one with an environment"),
            (4_096, (0, 0), false, "one inside execve"),
            (4_096, (7_000, 7_000), true, "one that started with none"),
            (0, (0, 0), true, "a thread of the kernel"),
        ] {
            let line = format!("71 (sleep) S 7 71 71 {}", rest(memory, environment));
            let process = Process::parse(line.as_bytes()).unwrap();
            assert_eq!(process.has_no_environment, expected, "{which}");
        }
    }

    #[test]
    fn descendants_are_found_however_deep_and_those_of_others_are_not() {
        let of = |parent| process(parent, 1, false, 0);
        // A chain of a thousand, and a child of another process.
        let mut all: BTreeMap<_, _> = (10..1_010).map(|id| (pid(id), of(id - 1))).collect();
        all.insert(pid(5_000), of(1));

        let found = ProcessTable(all).with_descendants([pid(10)].into());

        assert_eq!(found, (10..1_010).map(pid).collect());
    }

    #[test]
    fn this_process_is_listed_as_living() {
        let own = Pid::this();

        let processes = ProcessTable::now();

        assert!(processes.living(own).is_some_and(|own| own.started > 0));
        assert!(processes.all_living().any(|id| id == own));
    }
}
