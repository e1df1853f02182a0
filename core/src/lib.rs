//! The lock protocol of Lockstep, without I/O: what a lock is, what each command does to it, and when a
//! dead holder's permit is freed.
//!
//! Reading order: [`domain`] (the protocol as pure functions), [`protocol`] (fast path, observed
//! path, bounded retry), [`recovery`] (from evidence to action), [`store`] (the port of the lock table).
//!
//! The crate links no AWS SDK, no async runtime and no serialization. A [`store::LockStore`] and a
//! [`clock::Clock`] are all that it needs from outside. The example `two_runs` has two runs contend for a lock.

pub mod backoff;
pub mod clock;
pub mod domain;
pub mod protocol;
pub mod recovery;
pub mod store;
#[cfg(any(test, feature = "test-util"))]
pub mod testing;
