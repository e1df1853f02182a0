//! The watchdog process: a loop over orders and deadlines, without an async runtime.
//!
//! The loop uses plain system calls, because a task could block an async runtime. Time is read from a clock
//! that goes on while the machine is suspended, so a deadline that passed meanwhile is noticed within a
//! second.

use crate::exec::{CommandTree, Descendants, Mark, ProcessTable};
use crate::exit::Exit;
use crate::log;
use crate::platform::clock::{Instant, pause};
use crate::platform::stderr::SharedStderr;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{Pid, read, write};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Stdin, stdin, stdout};
use std::os::fd::AsFd;
use std::time::Duration;

/// Longest wait in `poll` before the clock is read again, in milliseconds: the timeout of `poll` does not
/// count the time in which the machine is suspended.
const MAX_WAIT: u64 = 1_000;
/// Time between two lists of processes while a command runs.
const LIST_EVERY: Duration = Duration::from_millis(MAX_WAIT);
/// Time between two lists of processes while killed ones have not ended, in milliseconds.
const KILL_EVERY: u64 = 5;
/// Number of empty lists in a row after which a command counts as ended. One list is not enough: a process
/// that forks and ends while the processes are listed is not in the list, nor is its child.
const LISTS: u32 = 3;
/// Longest wait for the end of killed processes.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// Kills commands at their deadlines. When the guarding process has ended, kills all that remain, and
/// returns.
pub(in crate::exec) fn watch() -> Exit {
    // Only the end of the input stops this process. All signals are blocked, because a supervisor may signal
    // all processes, and an outer `lockstep` signals what is left of its command, to which this process
    // belongs.
    SigSet::all().thread_block().ok();
    // Initialised after the signals are blocked, so that the thread of the log inherits the mask.
    log::init();
    let _shared = SharedStderr::begin();
    // If the guarding process is stopped, it reads no answers, and a full pipe must not block this process.
    fcntl(stdout(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).ok();
    // Standard input is the pipe from the guarding process. It closes when that process ends for any reason.
    let mut orders = Orders {
        input: stdin(),
        text: Vec::new(),
    };
    let mut deadlines = Deadlines::default();
    let mut dying = Vec::new();
    let mut listed = Instant::default();
    loop {
        let wait = if dying.is_empty() {
            deadlines.wait(Instant::now())
        } else {
            KILL_EVERY
        };
        if !orders.receive(wait, &mut deadlines) {
            break;
        }
        let now = Instant::now();
        for descendants in deadlines.due(now) {
            let group = descendants.group();
            tracing::error!(
                event = "deadline_passed",
                %group,
                "the lease was not renewed before its deadline; killing the command"
            );
            dying.push(KilledCommand::begin(descendants));
        }
        kill_remaining(&mut dying);
        if !deadlines.0.is_empty() && listed + LIST_EVERY <= now {
            listed = now;
            if let Ok(processes) = ProcessTable::now() {
                deadlines.note(&processes);
            }
        }
    }
    // The remaining commands are killed even if their leases are still live: nothing renews the leases any
    // more, and nothing supervises the commands.
    for (group, (_, descendants)) in deadlines.0 {
        tracing::error!(
            event = "guard_ended",
            %group,
            "the process that guards the command has ended; killing the command"
        );
        dying.push(KilledCommand::begin(descendants));
    }
    // This process must not end before the commands have, because nothing else would kill them.
    while !dying.is_empty() {
        kill_remaining(&mut dying);
        pause(Duration::from_millis(KILL_EVERY));
    }
    log::flush();
    Exit::OK
}

/// Reads the orders of the guarding process from standard input.
struct Orders {
    input: Stdin,
    /// The incomplete order at the end of the input that was read so far.
    text: Vec<u8>,
}

impl Orders {
    /// Waits up to `wait` milliseconds for orders, and applies all that are available, so that only the
    /// latest deadline of a command counts. Returns whether more orders may come.
    fn receive(&mut self, mut wait: u64, deadlines: &mut Deadlines) -> bool {
        let mut is_open = true;
        while is_open && readable(&self.input, wait) {
            wait = 0;
            let mut part = [0; 4096];
            match read(&self.input, &mut part) {
                Ok(length) => {
                    is_open = length > 0;
                    self.text.extend_from_slice(&part[..length]);
                }
                Err(errno) => is_open = errno == Errno::EINTR,
            }
        }
        while let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<_> = self.text.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            // Answered in the same loop that checks the deadlines, so that an answer proves that the
            // deadlines are checked.
            if line.trim() == "ping" {
                write(stdout(), b".").ok();
            } else {
                deadlines.apply(&line);
            }
        }
        is_open
    }
}

fn readable(orders: &Stdin, wait: u64) -> bool {
    let mut ready = [PollFd::new(orders.as_fd(), PollFlags::POLLIN)];
    let wait = u16::try_from(wait).unwrap_or(u16::MAX);
    poll(&mut ready, PollTimeout::from(wait)).is_ok_and(|count| count > 0)
}

/// A command that is being killed.
///
/// Its processes are listed again and again until none is left, because a process may fork while it is being
/// killed.
struct KilledCommand {
    descendants: Descendants,
    until: Instant,
    /// Number of empty lists in a row.
    empty: u32,
}

impl KilledCommand {
    fn begin(descendants: Descendants) -> Self {
        killpg(descendants.group(), Signal::SIGKILL).ok();
        let until = Instant::now() + GONE_WITHIN;
        Self {
            descendants,
            until,
            empty: 0,
        }
    }
}

/// Kills the remaining processes of the commands, and removes each command that has ended, or that has not
/// ended within [`GONE_WITHIN`].
fn kill_remaining(dying: &mut Vec<KilledCommand>) {
    if dying.is_empty() {
        return;
    }
    let processes = ProcessTable::now();
    dying.retain_mut(|one| {
        let left = processes
            .as_ref()
            .map(|processes| one.descendants.kill(processes));
        let is_empty = left.as_ref().is_ok_and(BTreeSet::is_empty);
        one.empty = if is_empty { one.empty + 1 } else { 0 };
        let is_late = one.until.left().is_zero();
        if is_late && !is_empty {
            tracing::error!(
                event = "orphan_survived",
                ?left,
                "orphan processes survived SIGKILL"
            );
        }
        one.empty < LISTS && !is_late
    });
}

/// The deadline and the known processes of each command, by its group.
#[derive(Debug, Default)]
struct Deadlines(BTreeMap<Pid, (Instant, Descendants)>);

impl Deadlines {
    /// Applies one order. Ignores a malformed one.
    fn apply(&mut self, order: &str) {
        let words: Vec<_> = order.split_whitespace().collect();
        // Group 0 stands for the group of this process, and a signal to group 1 goes to every process.
        let number = |word: &str| word.parse().ok().filter(|id| *id > 1).map(Pid::from_raw);
        match words[..] {
            ["guard", group, mark, deadline] => {
                if let (Some(group), Some(mark), Ok(deadline)) =
                    (number(group), Mark::parse(mark), deadline.parse())
                {
                    // The known processes are kept when the deadline moves: those that have left the group
                    // are known by their earlier descent only.
                    let known = self.0.remove(&group).map(|(_, descendants)| descendants);
                    let descendants =
                        known.unwrap_or_else(|| Descendants::new(CommandTree { group, mark }));
                    self.0
                        .insert(group, (Instant::from_millis(deadline), descendants));
                }
            }
            ["drop", group] => {
                number(group).and_then(|group| self.0.remove(&group));
            }
            _ => {}
        }
    }

    /// Removes and returns the commands whose deadline has passed.
    fn due(&mut self, now: Instant) -> Vec<Descendants> {
        let over = self.0.extract_if(.., |_, (deadline, _)| *deadline <= now);
        over.map(|(_, (_, descendants))| descendants).collect()
    }

    /// Records which processes belong to the commands.
    fn note(&mut self, processes: &ProcessTable) {
        for (_, descendants) in self.0.values_mut() {
            descendants.note(processes);
        }
    }

    /// Returns the milliseconds until the next deadline, at most [`MAX_WAIT`].
    fn wait(&self, now: Instant) -> u64 {
        let next = self.0.values().map(|(deadline, _)| deadline).min();
        next.map_or(MAX_WAIT, |next| {
            let left = next.millis().saturating_sub(now.millis());
            left.min(MAX_WAIT)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// Returns the deadlines after these orders, which `|` separates.
    fn after(orders: &str) -> Deadlines {
        let mut deadlines = Deadlines::default();
        orders.split('|').for_each(|order| deadlines.apply(order));
        deadlines
    }

    fn due(deadlines: &mut Deadlines, now: u64) -> Vec<Pid> {
        let due = deadlines.due(at(now)).into_iter();
        due.map(|descendants| descendants.group()).collect()
    }

    #[test]
    fn a_group_is_due_at_its_latest_deadline_and_only_once() {
        let mut deadlines = after("guard 71 0123456789ab 5000\n|guard 71 0123456789ab 9000\n");

        let due = [8_999, 9_000, 9_001].map(|now| due(&mut deadlines, now));

        assert_eq!(due, [vec![], vec![Pid::from_raw(71)], vec![]]);
    }

    #[test]
    fn a_dropped_group_is_never_killed() {
        let mut deadlines = after("guard 71 0123456789ab 5000\n|guard 72 0123456789ab 5000\n");

        deadlines.apply("drop 71\n");

        assert_eq!(due(&mut deadlines, 6_000), [Pid::from_raw(72)]);
    }

    #[test]
    fn an_order_that_is_malformed_or_names_an_unsafe_group_is_ignored() {
        let orders = "guard 0 0123456789ab 1|guard 1 0123456789ab 1|guard -1 0123456789ab 1|\
                      guard x 0123456789ab 1|guard 71 0123456789ab|guard 71 x 1|guard 71 1|kill 71";
        for order in orders.split('|') {
            assert_eq!(due(&mut after(order), 10), [], "{order}");
        }
    }

    #[test]
    fn the_wait_ends_at_the_next_deadline_or_after_a_second() {
        let deadlines = after("guard 71 0123456789ab 5000|guard 72 0123456789ab 4400");

        assert_eq!(deadlines.wait(at(4_000)), 400);
        assert_eq!(deadlines.wait(at(4_500)), 0);
        assert_eq!(Deadlines::default().wait(at(0)), MAX_WAIT);
    }
}
