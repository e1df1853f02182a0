//! The children of this process, as `/proc` tells of them.

use nix::unistd::Pid;
use std::fs;

/// Those that live.
pub(super) fn living() -> Vec<Pid> {
    children(|state| !matches!(state, ZOMBIE | "X"))
}

/// Those that have ended and are not waited for yet.
pub(super) fn zombies() -> Vec<Pid> {
    children(|state| state == ZOMBIE)
}

const ZOMBIE: &str = "Z";

fn children(wanted: impl Fn(&str) -> bool) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = entries.flatten().filter_map(|entry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (state, parent) = state_and_parent(&stat)?;
        (parent == std::process::id() && wanted(state)).then_some(Pid::from_raw(id))
    });
    ids.collect()
}

/// The name of a command stands in brackets and may have any character, then come state and parent
/// (<https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>).
fn state_and_parent(stat: &str) -> Option<(&str, u32)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    Some((fields.next()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::state_and_parent;

    #[test]
    fn state_and_parent_are_found_whatever_the_name_is() {
        let found = [
            "71 (sleep) S 7 71 71 0",
            "71 (a) S 9 (b) R 7 71 71 0",
            "71 (sleep) Z 70 71 71 0",
            "71 (sl",
        ]
        .map(state_and_parent);

        assert_eq!(
            found,
            [Some(("S", 7)), Some(("R", 7)), Some(("Z", 70)), None]
        );
    }
}
