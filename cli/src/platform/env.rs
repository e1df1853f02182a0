//! Environment variables, random values and scratch folders.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

pub(crate) use lockstep::config::variable;

/// Returns a random id of 12 hexadecimal digits.
#[expect(clippy::disallowed_methods, reason = "the one source of randomness")]
pub(crate) fn random_id() -> String {
    format!("{:012x}", fastrand::u64(..) >> 16)
}

/// Returns an unguessable id of 32 hexadecimal digits, from `/dev/urandom`.
///
/// # Errors
/// When `/dev/urandom` cannot be read.
pub(crate) fn secret_id() -> Result<String, std::io::Error> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Returns a random seed for jitter, so that competing processes do not retry at the same time.
#[expect(clippy::disallowed_methods, reason = "the one source of randomness")]
pub(crate) fn seed() -> u64 {
    fastrand::u64(..)
}

/// Returns a random number from 0 (inclusive) to 1 (exclusive).
#[expect(clippy::disallowed_methods, reason = "the one source of randomness")]
pub(crate) fn random_fraction() -> f64 {
    fastrand::f64()
}

/// Returns the folders for a FIFO, in the order in which they are tried. If the root file system is
/// read-only, only `/dev/shm` may be writable.
pub(crate) fn scratch_folders() -> Vec<PathBuf> {
    let chosen = variable("TMPDIR").into_iter().map(PathBuf::from);
    chosen
        .chain(["/tmp".into(), "/dev/shm".into(), "/run".into()])
        .collect()
}
