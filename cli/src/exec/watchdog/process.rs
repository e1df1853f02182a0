//! The watchdog's own process: a loop over orders and deadlines, without a runtime.

use crate::exec::{CommandTree, Descendants, Mark, ProcessTable};
use crate::exit::Exit;
use crate::log;
use crate::platform::clock::Instant;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{Pid, read, write};
use std::collections::BTreeMap;
use std::io::{Stdin, stdin, stdout};
use std::os::fd::AsFd;
use std::time::Duration;

/// Longest sleep between two looks at the clock, in milliseconds: the time that a machine slept is
/// not counted by poll.
const LOOK_EVERY: u64 = 1_000;
/// Time between two lists of processes of a command at work.
const LIST_EVERY: Duration = Duration::from_millis(LOOK_EVERY);
/// Time between two lists of processes while killed ones are still there, in milliseconds.
const KILL_EVERY: u64 = 5;
/// Longest time for killed processes to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// Kills commands at their deadlines until the guarding process is gone, and then all that are left.
pub(crate) fn watch() -> Exit {
    // What ends the guarding process shows as the end of the orders; a signal says nothing.
    let mut quiet = SigSet::empty();
    for signal in [
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
    ] {
        quiet.add(signal);
    }
    quiet.thread_block().ok();
    // After that, so that its thread is as deaf.
    log::init();
    // A guarding process that is stopped must not stop this one by a full pipe.
    fcntl(stdout(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).ok();
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
        if !orders.take(wait, &mut deadlines) {
            break;
        }
        let now = Instant::now();
        for kin in deadlines.due(now) {
            let group = kin.group();
            tracing::error!(%group, "a lease ends without a renewal: its command is killed");
            dying.push(Dying::begin(kin));
        }
        kill_on(&mut dying);
        if !deadlines.0.is_empty() && listed + LIST_EVERY <= now {
            listed = now;
            deadlines.note(&ProcessTable::now());
        }
    }
    for (group, (_, kin)) in deadlines.0 {
        tracing::error!(%group, "the guard of a command is gone: the command is killed");
        dying.push(Dying::begin(kin));
    }
    while !dying.is_empty() {
        kill_on(&mut dying);
        pause(KILL_EVERY);
    }
    log::flush();
    Exit::OK
}

/// What the guarding process writes.
struct Orders {
    input: Stdin,
    /// What has come of an order that is not whole yet.
    text: Vec<u8>,
}

impl Orders {
    /// Waits up to `wait` milliseconds for orders, and carries out all that are there: a deadline is
    /// judged by the latest. Returns whether more may come.
    fn take(&mut self, mut wait: u64, deadlines: &mut Deadlines) -> bool {
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
            if line.trim() == "ping" {
                write(stdout(), b".").ok();
            } else {
                deadlines.take(&line);
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

/// Returns after `millis` milliseconds.
fn pause(millis: u64) {
    poll(
        &mut [],
        PollTimeout::try_from(millis).unwrap_or(PollTimeout::ZERO),
    )
    .ok();
}

/// A command that is being killed.
struct Dying {
    kin: Descendants,
    until: Instant,
}

impl Dying {
    fn begin(kin: Descendants) -> Self {
        killpg(kin.group(), Signal::SIGKILL).ok();
        let until = Instant::now() + GONE_WITHIN;
        Self { kin, until }
    }
}

/// Kills what is left of the commands, and forgets those of which nothing is.
fn kill_on(dying: &mut Vec<Dying>) {
    if dying.is_empty() {
        return;
    }
    let processes = ProcessTable::now();
    dying.retain_mut(|Dying { kin, until }| {
        let left = kin.kill(&processes);
        let is_late = until.left().is_zero();
        if is_late && !left.is_empty() {
            tracing::error!(?left, "orphan processes survive SIGKILL");
        }
        !left.is_empty() && !is_late
    });
}

/// When which command is to be killed, by its group.
#[derive(Debug, Default)]
struct Deadlines(BTreeMap<Pid, (Instant, Descendants)>);

impl Deadlines {
    /// Takes one order. What is not understood changes nothing.
    fn take(&mut self, order: &str) {
        let words: Vec<_> = order.split_whitespace().collect();
        let number = |word: &str| word.parse().ok().filter(|id| *id > 1).map(Pid::from_raw);
        match words[..] {
            ["guard", group, mark, deadline] => {
                if let (Some(group), Some(mark), Ok(deadline)) =
                    (number(group), Mark::parse(mark), deadline.parse())
                {
                    let known = self.0.remove(&group).map(|(_, kin)| kin);
                    let kin =
                        known.unwrap_or_else(|| Descendants::new(CommandTree { group, mark }));
                    self.0.insert(group, (Instant::from_millis(deadline), kin));
                }
            }
            ["drop", group] => {
                number(group).and_then(|group| self.0.remove(&group));
            }
            _ => {}
        }
    }

    /// Takes out the commands whose time is over.
    fn due(&mut self, now: Instant) -> Vec<Descendants> {
        let over = self.0.extract_if(.., |_, (deadline, _)| *deadline <= now);
        over.map(|(_, (_, kin))| kin).collect()
    }

    /// Notes which processes belong to the commands.
    fn note(&mut self, processes: &ProcessTable) {
        for (_, kin) in self.0.values_mut() {
            kin.note(processes);
        }
    }

    /// Milliseconds until there is something to do.
    fn wait(&self, now: Instant) -> u64 {
        let next = self.0.values().map(|(deadline, _)| deadline).min();
        next.map_or(LOOK_EVERY, |next| {
            let left = next.millis().saturating_sub(now.millis());
            left.min(LOOK_EVERY)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn due(deadlines: &mut Deadlines, now: u64) -> Vec<Pid> {
        let due = deadlines.due(at(now)).into_iter();
        due.map(|kin| kin.group()).collect()
    }

    #[test]
    fn a_group_is_due_at_its_latest_deadline_and_only_once() {
        let mut deadlines = Deadlines::default();
        deadlines.take("guard 71 0123456789ab 5000\n");
        deadlines.take("guard 71 0123456789ab 9000\n");

        let early = due(&mut deadlines, 8_999);
        let [first, again] = [9_000, 9_001].map(|now| due(&mut deadlines, now));

        assert_eq!(
            (early, first, again),
            (vec![], vec![Pid::from_raw(71)], vec![])
        );
    }

    #[test]
    fn a_dropped_group_is_never_killed() {
        let mut deadlines = Deadlines::default();
        deadlines.take("guard 71 0123456789ab 5000\n");
        deadlines.take("guard 72 0123456789ab 5000\n");

        deadlines.take("drop 71\n");

        assert_eq!(due(&mut deadlines, 6_000), [Pid::from_raw(72)]);
    }

    #[test]
    fn an_order_that_would_hit_others_is_not_taken() {
        let mut deadlines = Deadlines::default();

        for order in [
            "guard 0 0123456789ab 1",
            "guard 1 0123456789ab 1",
            "guard -1 0123456789ab 1",
            "guard x 0123456789ab 1",
            "guard 71 0123456789ab",
            "guard 71 x 1",
            "guard 71 1",
            "kill 71",
        ] {
            deadlines.take(order);
        }

        assert_eq!(due(&mut deadlines, 10), []);
    }

    #[test]
    fn the_guardian_looks_up_when_the_next_deadline_comes() {
        let mut deadlines = Deadlines::default();
        deadlines.take("guard 71 0123456789ab 5000");
        deadlines.take("guard 72 0123456789ab 4400");

        assert_eq!(deadlines.wait(at(4_000)), 400);
        assert_eq!(deadlines.wait(at(4_500)), 0);
        assert_eq!(Deadlines::default().wait(at(0)), LOOK_EVERY);
    }
}
