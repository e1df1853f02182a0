//! Reads the list of processes from `/proc`.

use nix::errno::Errno;
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read};

/// Size of the buffer for a line of `/proc/<id>/stat`, which has a name and some fifty numbers. One read into
/// it returns the whole line; `fs::read` needs six reads, because its buffer grows from 32 bytes.
const LINE_MAX: usize = 2048;

/// All processes at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessTable(BTreeMap<Pid, Process>);

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    parent: Pid,
    group: Pid,
    /// Whether all its threads have ended and it is not reaped yet.
    is_zombie: bool,
    /// When the process started, in clock ticks since the machine started. Distinguishes the process from a
    /// later one with the same id.
    pub(super) started: u64,
    /// Whether the process has no environment, and none is being set up by `execve`.
    pub(super) has_no_environment: bool,
    /// Whether the process is about to end: its memory is gone, but its children have not been adopted yet. A
    /// thread of the kernel looks the same.
    pub(super) is_ending: bool,
}

impl ProcessTable {
    /// Reads the current processes. A process that forks and ends while they are read may be missing, and so
    /// may its child.
    ///
    /// # Errors
    /// When a process cannot be read, for example because no file descriptor is free: it may be any process.
    pub(crate) fn now() -> Result<Self, Error> {
        let mut ids = Vec::new();
        for entry in fs::read_dir("/proc")? {
            ids.extend(entry?.file_name().to_str().and_then(id));
        }
        Self::of(ids)
    }

    /// Reads the processes with these `ids`.
    ///
    /// # Errors
    /// As [`Self::now`].
    pub(super) fn of(ids: impl IntoIterator<Item = Pid>) -> Result<Self, Error> {
        let all = ids.into_iter().filter_map(|id| {
            let process = Process::now(id).transpose()?;
            Some(process.map(|process| (id, process)))
        });
        Ok(Self(all.collect::<Result<_, _>>()?))
    }

    /// Returns the process with this `id`, unless it has ended.
    pub(super) fn living(&self, id: Pid) -> Option<&Process> {
        self.0.get(&id).filter(|process| !process.is_zombie)
    }

    /// Returns all processes that have not ended.
    pub(super) fn all_living(&self) -> impl Iterator<Item = Pid> {
        let living = self.0.iter().filter(|(_, process)| !process.is_zombie);
        living.map(|(id, _)| *id)
    }

    /// Returns the processes of `group` that have not ended.
    pub(super) fn of_group(&self, group: Pid) -> impl Iterator<Item = Pid> {
        let all = self.all_living();
        all.filter(move |id| self.0[id].group == group)
    }

    /// Returns the children of `parent` that have not ended.
    pub(super) fn children_of(&self, parent: Pid) -> impl Iterator<Item = Pid> {
        let all = self.all_living();
        all.filter(move |id| self.0[id].parent == parent)
    }

    /// Returns `roots` and all their descendants.
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
    /// Reads the process with this `id` as it is now; `None` if there is none, or if this process may not see
    /// it.
    ///
    /// # Errors
    /// When the process cannot be read for any other reason.
    pub(super) fn now(id: Pid) -> Result<Option<Self>, Error> {
        let mut line = [0; LINE_MAX];
        let stat = File::open(format!("/proc/{id}/stat"));
        match stat.and_then(|mut stat| stat.read(&mut line)) {
            Ok(length) => Ok(Self::parse(&line[..length])),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Parses a line of `/proc/<id>/stat` (<https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>). The
    /// name of the command is in brackets and may have any character. After it, the line has
    /// - the state, the parent and the group
    /// - after 14 more fields, the number of threads
    /// - after one more field, the start time and the size of the memory
    /// - after 26 more fields, the first and the last address of the environment
    ///
    /// The state is that of the first thread, so the process has ended only if no other thread is left.
    ///
    /// A thread of the kernel and a process that has ended have no memory. A process inside `execve` has
    /// memory, and both addresses are 0 until its environment is in place.
    fn parse(stat: &[u8]) -> Option<Self> {
        // The name need not be UTF-8.
        let stat = String::from_utf8_lossy(stat);
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        let mut id = || Some(Pid::from_raw(fields.next()?.parse().ok()?));
        let (parent, group) = (id()?, id()?);
        let mut number = |skipped| -> Option<u64> { fields.nth(skipped)?.parse().ok() };
        let threads = number(14)?;
        let (started, memory) = (number(1)?, number(0)?);
        let (first, last) = (number(26)?, number(0)?);
        let is_zombie = matches!(state, "Z" | "X") && threads <= 1;
        Some(Self {
            parent,
            group,
            is_zombie,
            started,
            has_no_environment: memory == 0 || (first == last && last > 0),
            is_ending: memory == 0 && !is_zombie,
        })
    }
}

/// Returns the ids of the children of this process, living or dead.
///
/// A descendant that loses its parent becomes a child of the first thread of this process, because this
/// process is the nearest subreaper, and stays one until that thread reaps it. So the list is exact at the
/// end of the read if the same thread calls this function
/// (<https://man7.org/linux/man-pages/man5/proc_tid_children.5.html> names what makes it inexact otherwise).
///
/// # Errors
/// As [`ProcessTable::now`].
pub(super) fn own_children() -> Result<BTreeSet<Pid>, Error> {
    let own = Pid::this();
    match fs::read_to_string(format!("/proc/self/task/{own}/children")) {
        Ok(ids) => Ok(ids.split_whitespace().filter_map(id).collect()),
        // The kernel was built without CONFIG_PROC_CHILDREN.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let ProcessTable(all) = ProcessTable::now()?;
            let own = all.into_iter().filter(|(_, one)| one.parent == own);
            Ok(own.map(|(id, _)| id).collect())
        }
        Err(error) => Err(error),
    }
}

fn id(text: &str) -> Option<Pid> {
    text.parse().ok().map(Pid::from_raw)
}

/// Returns whether `error` means that a process has ended, or that the mount option `hidepid` hides it from
/// this user.
fn is_absent(error: &Error) -> bool {
    let is_gone = error.raw_os_error() == Some(Errno::ESRCH as i32);
    is_gone
        || matches!(
            error.kind(),
            ErrorKind::NotFound | ErrorKind::PermissionDenied
        )
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
            is_ending: false,
        }
    }

    /// Returns the fields after the session.
    fn rest(memory: u64, environment: (u64, u64)) -> String {
        rest_with(1, memory, environment)
    }

    fn rest_with(threads: u64, memory: u64, environment: (u64, u64)) -> String {
        let between = ["1"; 26].join(" ");
        let (first, last) = environment;
        format!(
            "0 -1 4194304 1 2 3 4 5 6 7 8 20 0 {threads} 0 8812 {memory} {between} {first} {last} 0"
        )
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
    fn a_process_has_ended_with_the_last_of_its_threads() {
        for (state, threads, has_ended) in [("S", 2, false), ("Z", 2, false), ("Z", 1, true)] {
            let line = format!(
                "71 (java) {state} 7 71 71 {}",
                rest_with(threads, 0, (0, 0))
            );
            let process = Process::parse(line.as_bytes()).unwrap();
            assert_eq!(process.is_zombie, has_ended, "{state} {threads}");
        }
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

        let processes = ProcessTable::now().unwrap();

        assert!(processes.living(own).is_some_and(|own| own.started > 0));
        assert!(processes.all_living().any(|id| id == own));
    }
}
