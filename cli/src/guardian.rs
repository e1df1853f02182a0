//! The guardian: a second process that keeps every command to its lease.
//!
//! The process that renews leases can be killed, can hang, can be stopped with SIGSTOP. None of that
//! stops the command that it started, and its lease would go to another run. So each command has a
//! deadline at the guardian, moved forward with every renewal. At the deadline, or when the guarding
//! process is gone, the guardian kills the command's whole group.
//!
//! ```text
//!  lockstep run ──stdin──▶ guardian            guard <group> <deadline>   after every renewal
//!       │                     │                drop <group>               when it has ended
//!       ▼                     │ SIGKILL        (end of input)             kill all that is left
//!    command ◀────────────────┘
//! ```

mod watch;

pub(crate) use watch::watch;

use crate::child::{Reaper, SELF};
use crate::sys::clock::Instant;
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::io::{Error, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// The hidden command that [`watch`] serves.
pub(crate) const NAME: &str = "guardian";

/// The guardian, as the guarding process sees it.
#[derive(Clone, Debug)]
pub(crate) struct Guardian {
    inner: Arc<Mutex<Inner>>,
    reaper: Reaper,
}

#[derive(Debug)]
struct Inner {
    line: ChildStdin,
    pid: Pid,
    deadlines: BTreeMap<Pid, Instant>,
}

impl Guardian {
    /// Starts a guardian. One that dies is replaced.
    ///
    /// # Errors
    /// When no process can be started.
    pub(crate) fn start(reaper: &Reaper) -> Result<Self, Error> {
        let (inner, end) = launch(reaper)?;
        let guardian = Self {
            inner: Arc::new(Mutex::new(inner)),
            reaper: reaper.clone(),
        };
        let own = guardian.clone();
        tokio::spawn(own.replace_when_dead(end));
        Ok(guardian)
    }

    /// Its process.
    pub(crate) fn pid(&self) -> Pid {
        self.lock().pid
    }

    /// Has `group` killed at `deadline`, instead of the deadline that it had.
    pub(crate) fn guard(&self, group: Pid, deadline: Instant) {
        let mut inner = self.lock();
        inner.deadlines.insert(group, deadline);
        inner.tell(&order(group, deadline));
    }

    /// Forgets a group that has ended.
    pub(crate) fn drop(&self, group: Pid) {
        let mut inner = self.lock();
        inner.deadlines.remove(&group);
        inner.tell(&format!("drop {group}\n"));
    }

    async fn replace_when_dead(self, mut end: crate::child::EndOf) {
        loop {
            let ended = end.await;
            tracing::warn!(?ended, "the guardian has died and is replaced");
            match launch(&self.reaper) {
                Ok((mut next, next_end)) => {
                    let mut inner = self.lock();
                    next.deadlines = std::mem::take(&mut inner.deadlines);
                    let orders: String =
                        next.deadlines.iter().map(|(g, d)| order(*g, *d)).collect();
                    next.tell(&orders);
                    *inner = next;
                    end = next_end;
                }
                Err(error) => {
                    tracing::error!(%error, "there is no guardian any more");
                    return;
                }
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// A guardian that does not listen is dead, and its end is noticed by itself.
    fn tell(&mut self, orders: &str) {
        self.line.write_all(orders.as_bytes()).ok();
    }
}

fn order(group: Pid, deadline: Instant) -> String {
    format!("guard {group} {}\n", deadline.millis())
}

fn launch(reaper: &Reaper) -> Result<(Inner, crate::child::EndOf), Error> {
    let mut command = Command::new(SELF);
    // A group of its own: what is sent to ours is not meant for it.
    command
        .arg(NAME)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .process_group(0);
    let (started, end) = reaper.start(&mut command)?;
    let line = started.stdin.ok_or_else(|| Error::other("no pipe"))?;
    let inner = Inner {
        line,
        pid: started.pid,
        deadlines: BTreeMap::new(),
    };
    Ok((inner, end))
}
