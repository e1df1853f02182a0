//! The lock protocol of Lockstep, without I/O: what a lock is, what each command does to it, and when
//! the permit of a dead holder is freed.
//!
//! Reading order: [`domain`] (the protocol as pure functions), [`protocol`] (fast path, observed path,
//! bounded retry), [`recovery`] (from evidence to action), [`store`] (the trait that a lock table
//! implements).
//!
//! The crate links no AWS SDK, no async runtime and no serialization. A [`store::LockStore`] and a
//! [`clock::Clock`] are its only dependencies on the outside. In the example `two_runs`, two runs
//! contend for a lock.

pub mod backoff;
pub mod clock;
pub mod domain;
pub mod protocol;
pub mod recovery;
pub mod store;
#[cfg(any(test, feature = "test-util"))]
pub mod testing;
