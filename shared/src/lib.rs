//! Lockstep: exclusive runs for batch jobs on AWS.
//!
//! The lock protocol is the crate `lockstep-core`, and its modules are modules of this one: [`domain`], [`protocol`],
//! [`recovery`], [`backoff`]. Reading order from there: [`store`] (where records live), [`contract`] (what
//! crosses the wire), [`service`] (the use cases).

#[cfg(feature = "test-util")]
pub use lockstep_core::testing;
pub use lockstep_core::{backoff, domain, protocol, recovery};

#[cfg(feature = "aws")]
pub mod aws;
pub mod clock;
pub mod config;
pub mod contract;
pub mod error;
pub mod events;
pub mod executions;
#[cfg(feature = "aws")]
pub mod failure;
#[cfg(feature = "test-util")]
mod faults;
#[cfg(feature = "lambda")]
pub mod lambda;
#[cfg(feature = "aws")]
mod lazy;
pub mod service;
pub mod store;
pub mod tasks;
pub mod telemetry;
