//! Processes that left their group, and lost their parent.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;

/// How many times they are looked for: whoever loses its parent by that shows up in the next look.
const LOOKS: u32 = 16;

/// Kills what a command has left behind outside its group, such as a daemon: work that goes on
/// after its lock was released is not guarded.
///
/// `spare` are children of this process that are to live.
pub(crate) fn kill_strays(spare: &[Pid]) {
    for _ in 0..LOOKS {
        let strays: Vec<_> = children()
            .into_iter()
            .filter(|c| !spare.contains(c))
            .collect();
        if strays.is_empty() {
            return;
        }
        for stray in strays {
            tracing::warn!(%stray, "the command left a process behind, which is killed");
            kill(stray, Signal::SIGKILL).ok();
        }
        // The kernel gives the next generation to us as soon as these are gone.
        std::thread::yield_now();
    }
}

/// The children of this process that are no zombies.
fn children() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = entries.flatten().filter_map(|entry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        is_child(&stat, std::process::id()).then_some(Pid::from_raw(id))
    });
    ids.collect()
}

/// Whether `stat` tells of a living child of `parent`: the name of a command stands in brackets and
/// may have any character, then come state and parent
/// (<https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>).
fn is_child(stat: &str, parent: u32) -> bool {
    let Some((_, rest)) = stat.rsplit_once(')') else {
        return false;
    };
    let mut fields = rest.split_whitespace();
    let is_alive = !matches!(fields.next(), Some("Z" | "X") | None);
    is_alive && fields.next().and_then(|id| id.parse().ok()) == Some(parent)
}

#[cfg(test)]
mod tests {
    use super::is_child;

    #[test]
    fn a_child_is_told_by_its_parent_whatever_its_name_is() {
        assert!(is_child("71 (sleep) S 7 71 71 0", 7));
        assert!(is_child("71 (a) S 9 (b) R 7 71 71 0", 7));
        assert!(!is_child("71 (sleep) S 70 71 71 0", 7));
    }

    #[test]
    fn a_zombie_is_left_to_be_waited_for() {
        assert!(!is_child("71 (sleep) Z 7 71 71 0", 7));
    }
}
