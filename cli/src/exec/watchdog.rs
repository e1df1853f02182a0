//! The watchdog: a second process that kills each command whose lease is not renewed before its deadline.
//!
//! The process that renews leases can be killed, can hang, or can be stopped with SIGSTOP. The command that
//! it has started would go on, while its lease expires and the lock goes to another run. So the watchdog has
//! a deadline for each command, which moves forward with every renewal. At the deadline, or when the guarding
//! process has ended, the watchdog kills the command with all its descendants.
//!
//! ```text
//!  lockstep run ──stdin──▶ watchdog            guard <group> <mark> <deadline>   after every renewal
//!       │  ▲                  │                drop <group>                      when it has ended
//!       │  └─────stdout───────┤                ping                              once a second
//!       ▼                     │ SIGKILL        (end of input)                    kill all that is left
//!    command ◀────────────────┘
//! ```
//!
//! The watchdog answers each ping with one byte. The guarding process never waits for room in the pipe: a
//! write that would block is dropped. If the watchdog has ended or has not answered a ping within
//! [`ANSWER_WITHIN`], it is replaced, and its successor gets all deadlines.

mod process;

pub(super) use process::watch;

use crate::exec::{CommandTree, EndOf, Mark, Subreaper};
use crate::platform::children::SELF;
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

/// The first argument of a process that runs [`watch`].
pub(super) const NAME: &str = "watchdog";
/// Time between two pings, and between two attempts to start a watchdog.
const PING_EVERY: Duration = Duration::from_secs(1);
/// Longest wait for the answer to a ping. A stopped watchdog is replaced within three seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Handle of the guarding process on its watchdog. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Watchdog {
    inner: Arc<Mutex<Inner>>,
    reaper: Subreaper,
}

#[derive(Debug)]
struct Inner {
    stdin: ChildStdin,
    pid: Pid,
    deadlines: BTreeMap<Pid, (Mark, Instant)>,
    /// Whether an order did not fit into the pipe, in whole or in part. Nothing more is written then.
    is_full: bool,
}

/// The signs of life of a watchdog: its end, and its answers to pings.
#[derive(Debug)]
struct Liveness {
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
    /// Starts a watchdog, and a task that replaces it when it ends or does not answer.
    ///
    /// # Errors
    /// When no process can be started.
    pub(crate) fn start(reaper: &Subreaper) -> Result<Self, Error> {
        let (inner, liveness) = launch(reaper)?;
        let watchdog = Self {
            inner: Arc::new(Mutex::new(inner)),
            reaper: reaper.clone(),
        };
        let own = watchdog.clone();
        tokio::spawn(own.replace_when_dead(liveness));
        Ok(watchdog)
    }

    /// Returns the process id of the current watchdog.
    pub(crate) fn pid(&self) -> Pid {
        self.lock().pid
    }

    /// Sets or moves the deadline at which the watchdog kills `tree`.
    pub(crate) fn guard(&self, tree: &CommandTree, deadline: Instant) {
        let CommandTree { group, mark } = tree;
        let mut inner = self.lock();
        inner.deadlines.insert(*group, (mark.clone(), deadline));
        inner.send(&order(*group, mark, deadline));
    }

    /// Removes the deadline of a group whose processes have all ended.
    pub(crate) fn drop(&self, group: Pid) {
        let mut inner = self.lock();
        inner.deadlines.remove(&group);
        inner.send(&format!("drop {group}\n"));
    }

    async fn replace_when_dead(self, mut liveness: Liveness) {
        loop {
            let failure = self.failure(&mut liveness).await;
            tracing::warn!(
                event = "watchdog_failed",
                ?failure,
                "replacing the watchdog"
            );
            let (next, next_liveness) = self.launch_with_retry().await;
            let old = {
                let mut inner = self.lock();
                let mut old = std::mem::replace(&mut *inner, next);
                inner.deadlines = std::mem::take(&mut old.deadlines);
                let orders = inner.deadlines.iter();
                let orders: String = orders.map(|(g, (m, d))| order(*g, m, *d)).collect();
                inner.send(&orders);
                old
            };
            let mut old_liveness = std::mem::replace(&mut liveness, next_liveness);
            if failure == Failure::Silent {
                kill(old.pid, Signal::SIGKILL).ok();
                // Its input stays open until it has ended: it takes the end of its input for the end of this
                // process, and would kill the commands.
                tokio::spawn(async move {
                    old_liveness.end.ended().await;
                    drop(old);
                });
            }
        }
    }

    /// Returns when the watchdog has ended, or has not answered a ping within [`ANSWER_WITHIN`].
    async fn failure(&self, liveness: &mut Liveness) -> Failure {
        loop {
            tokio::select! {
                biased;
                () = liveness.end.ended() => return Failure::Ended,
                () = sleep(PING_EVERY) => {}
            }
            if !self.lock().send("ping\n") {
                return Failure::Silent;
            }
            let mut answer = [0; 16];
            let answered = async {
                // Its output is closed, so it cannot answer; its end follows.
                if let Ok(0) = liveness.answers.read(&mut answer).await {
                    pending::<()>().await;
                }
            };
            tokio::select! {
                biased;
                () = liveness.end.ended() => return Failure::Ended,
                answered = timeout(ANSWER_WITHIN, answered) => {
                    if answered.is_err() {
                        return Failure::Silent;
                    }
                }
            }
        }
    }

    async fn launch_with_retry(&self) -> (Inner, Liveness) {
        loop {
            match launch(&self.reaper) {
                Ok(launched) => return launched,
                Err(error) => {
                    tracing::error!(
                        event = "watchdog_start_failed",
                        %error,
                        "failed to start a watchdog; retrying"
                    );
                }
            }
            sleep(PING_EVERY).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Writes `orders` without blocking, and returns whether all orders so far were written. After a partial
    /// write nothing more is written, because the watchdog may have received half an order.
    fn send(&mut self, orders: &str) -> bool {
        if !self.is_full {
            self.is_full = match self.stdin.write(orders.as_bytes()) {
                Ok(written) => written < orders.len(),
                // Any other error means that the watchdog has ended, which `failure` detects.
                Err(error) => error.kind() == ErrorKind::WouldBlock,
            };
        }
        !self.is_full
    }
}

fn order(group: Pid, mark: &Mark, deadline: Instant) -> String {
    format!("guard {group} {} {}\n", mark.text(), deadline.millis())
}

fn launch(reaper: &Subreaper) -> Result<(Inner, Liveness), Error> {
    let mut command = Command::new(SELF);
    // Runs in a group of its own, so that signals to the group of this process do not reach it.
    command
        .arg(NAME)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0);
    let (started, end) = reaper.start(&mut command)?;
    let no_pipe = || Error::other("no pipe");
    let stdin = started.stdin.ok_or_else(no_pipe)?;
    fcntl(&stdin, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    let answers = OwnedFd::from(started.stdout.ok_or_else(no_pipe)?);
    let answers = pipe::Receiver::from_owned_fd(answers)?;
    let inner = Inner {
        stdin,
        pid: started.pid,
        deadlines: BTreeMap::new(),
        is_full: false,
    };
    Ok((inner, Liveness { end, answers }))
}
