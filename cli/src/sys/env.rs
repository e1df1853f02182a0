//! The environment and randomness.

use std::path::PathBuf;

pub(crate) use lockstep::config::variable;

/// A variable that is set to something.
pub(crate) fn filled(name: &str) -> Option<String> {
    variable(name).filter(|value| !value.is_empty())
}

/// Twelve hexadecimal digits that no other job has.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that is random"
)]
pub(crate) fn random_id() -> String {
    format!("{:012x}", fastrand::u64(..) >> 16)
}

/// A number that spreads the waits of processes that meet.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that is random"
)]
pub(crate) fn seed() -> u64 {
    fastrand::u64(..)
}

/// Folders where a FIFO can be made, best first: with a read-only root file system, `/dev/shm` is
/// what is left.
pub(crate) fn scratch_folders() -> Vec<PathBuf> {
    let chosen = filled("TMPDIR").into_iter().map(PathBuf::from);
    chosen
        .chain(["/tmp".into(), "/dev/shm".into(), "/run".into()])
        .collect()
}
