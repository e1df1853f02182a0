//! The watchdog: a second process that keeps every command to its lease.
//!
//! The process that renews leases can be killed, can hang, can be stopped with SIGSTOP. None of that
//! stops the command that it started, and its lease would go to another run. So each command has a
//! deadline at the watchdog, moved forward with every renewal. At the deadline, or when the guarding
//! process is gone, the watchdog kills the command with all that it started.
//!
//! ```text
//!  lockstep run ──stdin──▶ watchdog            guard <group> <mark> <deadline>   after every renewal
//!       │  ▲                  │                drop <group>                      when it has ended
//!       │  └─────stdout───────┤                ping                              once a second
//!       ▼                     │ SIGKILL        (end of input)                    kill all that is left
//!    command ◀────────────────┘
//! ```
//!
//! The watchdog answers each ping with one byte. The guarding process never waits for it: a write that
//! would block is not made. A watchdog that has ended, or has not answered within [`ANSWER_WITHIN`], is
//! replaced, and its successor gets all deadlines.

mod process;

pub(crate) use process::watch;

use crate::exec::{CommandTree, EndOf, Mark, SELF, Subreaper};
use crate::platform::clock::{Instant, sleep};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::future::pending;
use std::io::{Error, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;

/// The hidden command that [`watch`] serves.
pub(crate) const NAME: &str = "watchdog";
/// Time between two pings, and between two attempts to start a watchdog.
const PING_EVERY: Duration = Duration::from_secs(1);
/// Longest time for the answer to a ping. A watchdog that is stopped is replaced three seconds later at
/// the latest.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// The watchdog, as the guarding process sees it.
#[derive(Clone, Debug)]
pub(crate) struct Watchdog {
    inner: Arc<Mutex<Inner>>,
    reaper: Subreaper,
}

#[derive(Debug)]
struct Inner {
    line: ChildStdin,
    pid: Pid,
    deadlines: BTreeMap<Pid, (Mark, Instant)>,
    /// Whether an order did not fit into the pipe, in whole or in part.
    is_full: bool,
}

/// What a watchdog shows of itself.
#[derive(Debug)]
struct Signs {
    end: EndOf,
    answers: pipe::Receiver,
}

/// Why a watchdog is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    Ended,
    Silent,
}

impl Watchdog {
    /// Starts a watchdog. One that ends or does not answer is replaced.
    ///
    /// # Errors
    /// When no process can be started.
    pub(crate) fn start(reaper: &Subreaper) -> Result<Self, Error> {
        let (inner, signs) = launch(reaper)?;
        let watchdog = Self {
            inner: Arc::new(Mutex::new(inner)),
            reaper: reaper.clone(),
        };
        let own = watchdog.clone();
        tokio::spawn(own.replace_when_dead(signs));
        Ok(watchdog)
    }

    /// Its process.
    pub(crate) fn pid(&self) -> Pid {
        self.lock().pid
    }

    /// Has `family` killed at `deadline`, instead of the deadline that it had.
    pub(crate) fn guard(&self, family: &CommandTree, deadline: Instant) {
        let CommandTree { group, mark } = family;
        let mut inner = self.lock();
        inner.deadlines.insert(*group, (mark.clone(), deadline));
        inner.send(&order(*group, mark, deadline));
    }

    /// Forgets a group that has ended.
    pub(crate) fn drop(&self, group: Pid) {
        let mut inner = self.lock();
        inner.deadlines.remove(&group);
        inner.send(&format!("drop {group}\n"));
    }

    async fn replace_when_dead(self, mut signs: Signs) {
        loop {
            let failure = self.failure(&mut signs).await;
            tracing::warn!(?failure, "the watchdog is replaced");
            let (next, next_signs) = self.launch_until_it_runs().await;
            let old = {
                let mut inner = self.lock();
                let mut old = std::mem::replace(&mut *inner, next);
                inner.deadlines = std::mem::take(&mut old.deadlines);
                let orders = inner.deadlines.iter();
                let orders: String = orders.map(|(g, (m, d))| order(*g, m, *d)).collect();
                inner.send(&orders);
                old
            };
            let old_signs = std::mem::replace(&mut signs, next_signs);
            if failure == Failure::Silent {
                kill(old.pid, Signal::SIGKILL).ok();
                // It would take the end of its input for the end of this process.
                tokio::spawn(async move {
                    old_signs.end.await.ok();
                    drop(old);
                });
            }
        }
    }

    /// Returns when the watchdog has ended, or owes an answer for too long.
    async fn failure(&self, signs: &mut Signs) -> Failure {
        loop {
            tokio::select! {
                biased;
                _ = &mut signs.end => return Failure::Ended,
                () = sleep(PING_EVERY) => {}
            }
            if !self.lock().send("ping\n") {
                return Failure::Silent;
            }
            let mut answer = [0; 16];
            let answered = async {
                // Without output it cannot answer, and its end follows.
                if let Ok(0) = signs.answers.read(&mut answer).await {
                    pending::<()>().await;
                }
            };
            tokio::select! {
                biased;
                _ = &mut signs.end => return Failure::Ended,
                answered = timeout(ANSWER_WITHIN, answered) => {
                    if answered.is_err() {
                        return Failure::Silent;
                    }
                }
            }
        }
    }

    async fn launch_until_it_runs(&self) -> (Inner, Signs) {
        loop {
            match launch(&self.reaper) {
                Ok(launched) => return launched,
                Err(error) => tracing::error!(%error, "no watchdog can be started, retrying"),
            }
            sleep(PING_EVERY).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Writes without waiting, and returns whether all is written. After a write that did not fit
    /// nothing more is written: the watchdog may have half an order.
    fn send(&mut self, orders: &str) -> bool {
        if !self.is_full {
            self.is_full = match self.line.write(orders.as_bytes()) {
                Ok(written) => written < orders.len(),
                // Any other error is its end, which is noticed by itself.
                Err(error) => error.kind() == ErrorKind::WouldBlock,
            };
        }
        !self.is_full
    }
}

fn order(group: Pid, mark: &Mark, deadline: Instant) -> String {
    format!("guard {group} {} {}\n", mark.text(), deadline.millis())
}

fn launch(reaper: &Subreaper) -> Result<(Inner, Signs), Error> {
    let mut command = Command::new(SELF);
    // A group of its own: what is sent to ours is not meant for it.
    command
        .arg(NAME)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0);
    let (started, end) = reaper.start(&mut command)?;
    let no_pipe = || Error::other("no pipe");
    let line = started.stdin.ok_or_else(no_pipe)?;
    fcntl(&line, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    let answers = OwnedFd::from(started.stdout.ok_or_else(no_pipe)?);
    let answers = pipe::Receiver::from_owned_fd(answers)?;
    let inner = Inner {
        line,
        pid: started.pid,
        deadlines: BTreeMap::new(),
        is_full: false,
    };
    Ok((inner, Signs { end, answers }))
}
