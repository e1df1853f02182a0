//! The environment and randomness.

use std::fs::File;
use std::io::Read;
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

/// Thirty-two hexadecimal digits that nobody can guess, from the system's own randomness.
///
/// # Errors
/// When the system gives none.
pub(crate) fn secret_id() -> Result<String, std::io::Error> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// A number that spreads the waits of processes that meet.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that is random"
)]
pub(crate) fn seed() -> u64 {
    fastrand::u64(..)
}

/// A random number from 0 to 1.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that is random"
)]
pub(crate) fn dice() -> f64 {
    fastrand::f64()
}

/// Folders where a FIFO can be made, best first: with a read-only root file system, `/dev/shm` is
/// what is left.
pub(crate) fn scratch_folders() -> Vec<PathBuf> {
    let chosen = filled("TMPDIR").into_iter().map(PathBuf::from);
    chosen
        .chain(["/tmp".into(), "/dev/shm".into(), "/run".into()])
        .collect()
}
