//! Processes that left their group, and lost their parent.

use super::family::living;
use crate::sys::clock::{Instant, sleep};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgid};
use std::collections::BTreeSet;
use std::time::Duration;

/// Time between two looks, in which the dead are waited for.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Longest time for them to die: who sits in the kernel, in a write to a file system that hangs,
/// does not until that is over.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// Kills what a command has left behind outside its group, such as a daemon, and waits until it and
/// what is left of the group is gone: work that goes on after its lock was released is not guarded.
/// Whoever loses its parent by that shows up in one of the next looks.
///
/// `group` was the command's. `spare` is the child of this process that is to live, and nothing as soon
/// as other commands are at work: then nobody can tell whose a stray is.
pub(crate) async fn kill_strays(group: Pid, spare: impl Fn() -> Option<Pid>) {
    let end = Instant::now() + GONE_WITHIN;
    let mut told = BTreeSet::new();
    while let Some(spare) = spare() {
        let mut strays = living();
        strays.retain(|child| *child != spare);
        if strays.is_empty() {
            return;
        }
        for stray in &strays {
            let has_left = getpgid(Some(*stray)).is_ok_and(|of| of != group);
            kill(*stray, Signal::SIGKILL).ok();
            if has_left && told.insert(*stray) {
                tracing::warn!(%stray, "the command left a process behind, which is killed");
            }
        }
        if end.left().is_zero() {
            tracing::error!(?strays, "what the command left behind does not die");
            return;
        }
        sleep(LOOK_EVERY).await;
    }
}
