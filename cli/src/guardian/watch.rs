//! The guardian's own process: a loop over orders and deadlines, without a runtime.

use crate::exit::Exit;
use crate::log;
use crate::sys::clock::Instant;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{Pid, read};
use std::collections::BTreeMap;
use std::io::{Stdin, stdin};
use std::os::fd::AsFd;

/// Longest sleep between two looks at the clock, in milliseconds: the time that a machine slept is
/// not counted by poll.
const LOOK_EVERY: u64 = 1_000;

/// Kills groups at their deadlines until the guarding process is gone, and then all that are left.
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
    let mut deadlines = Deadlines::default();
    let mut text = Vec::new();
    let orders = stdin();
    loop {
        if readable(&orders, deadlines.wait(Instant::now())) {
            let mut part = [0; 4096];
            match read(&orders, &mut part) {
                Ok(0) => break,
                Ok(length) => text.extend_from_slice(&part[..length]),
                Err(Errno::EINTR) => {}
                Err(_) => break,
            }
        }
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<_> = text.drain(..=end).collect();
            deadlines.take(&String::from_utf8_lossy(&line));
        }
        for group in deadlines.due(Instant::now()) {
            killpg(group, Signal::SIGKILL).ok();
            tracing::error!(%group, "a lease ends without a renewal: its command is killed");
        }
    }
    for group in deadlines.0.into_keys() {
        killpg(group, Signal::SIGKILL).ok();
        tracing::error!(%group, "the guard of a command is gone: the command is killed");
    }
    log::flush();
    Exit::OK
}

fn readable(orders: &Stdin, wait: u64) -> bool {
    let mut ready = [PollFd::new(orders.as_fd(), PollFlags::POLLIN)];
    let wait = u16::try_from(wait).unwrap_or(u16::MAX);
    poll(&mut ready, PollTimeout::from(wait)).is_ok_and(|count| count > 0)
}

/// When which group is to be killed.
#[derive(Debug, Default)]
struct Deadlines(BTreeMap<Pid, Instant>);

impl Deadlines {
    /// Takes one order. What is not understood changes nothing.
    fn take(&mut self, order: &str) {
        let words: Vec<_> = order.split_whitespace().collect();
        let number = |word: &str| word.parse().ok().filter(|id| *id > 1).map(Pid::from_raw);
        match words[..] {
            ["guard", group, deadline] => {
                if let (Some(group), Ok(deadline)) = (number(group), deadline.parse()) {
                    self.0.insert(group, Instant::from_millis(deadline));
                }
            }
            ["drop", group] => {
                number(group).and_then(|group| self.0.remove(&group));
            }
            _ => {}
        }
    }

    /// The groups whose time is over. They are told once.
    fn due(&mut self, now: Instant) -> Vec<Pid> {
        let over = self.0.iter().filter(|(_, deadline)| **deadline <= now);
        let over: Vec<_> = over.map(|(group, _)| *group).collect();
        self.0.retain(|_, deadline| *deadline > now);
        over
    }

    /// Milliseconds until there is something to do.
    fn wait(&self, now: Instant) -> u64 {
        let next = self.0.values().min();
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

    #[test]
    fn a_group_is_due_at_its_latest_deadline_and_only_once() {
        let mut deadlines = Deadlines::default();
        deadlines.take("guard 71 5000\n");
        deadlines.take("guard 71 9000\n");

        let early = deadlines.due(at(8_999));
        let [first, again] = [9_000, 9_001].map(|now| deadlines.due(at(now)));

        assert_eq!(
            (early, first, again),
            (vec![], vec![Pid::from_raw(71)], vec![])
        );
    }

    #[test]
    fn a_dropped_group_is_never_killed() {
        let mut deadlines = Deadlines::default();
        deadlines.take("guard 71 5000\n");
        deadlines.take("guard 72 5000\n");

        deadlines.take("drop 71\n");

        assert_eq!(deadlines.due(at(6_000)), [Pid::from_raw(72)]);
    }

    #[test]
    fn an_order_that_would_hit_others_is_not_taken() {
        let mut deadlines = Deadlines::default();

        for order in [
            "guard 0 1",
            "guard 1 1",
            "guard -1 1",
            "guard x 1",
            "guard 71",
            "kill 71",
        ] {
            deadlines.take(order);
        }

        assert_eq!(deadlines.due(at(10)), []);
    }

    #[test]
    fn the_guardian_looks_up_when_the_next_deadline_comes() {
        let mut deadlines = Deadlines::default();
        deadlines.take("guard 71 5000");
        deadlines.take("guard 72 4400");

        assert_eq!(deadlines.wait(at(4_000)), 400);
        assert_eq!(deadlines.wait(at(4_500)), 0);
        assert_eq!(Deadlines::default().wait(at(0)), LOOK_EVERY);
    }
}
