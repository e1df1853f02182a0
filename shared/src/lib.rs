//! Lockstep: exclusive runs for batch jobs on AWS.
//!
//! Reading order: [`domain`] (the protocol as pure functions), [`protocol`] (fast path, observed
//! path, bounded retry), [`store`] (where records live), [`contract`] (what crosses the wire),
//! [`service`] (the use cases).

#[cfg(feature = "aws")]
pub mod aws;
pub mod backoff;
pub mod clock;
pub mod config;
pub mod contract;
pub mod domain;
pub mod error;
pub mod events;
pub mod executions;
#[cfg(feature = "aws")]
mod failure;
#[cfg(feature = "test-util")]
mod faults;
#[cfg(feature = "lambda")]
pub mod lambda;
#[cfg(feature = "aws")]
mod lazy;
pub mod protocol;
pub mod recovery;
pub mod service;
pub mod store;
pub mod tasks;
pub mod telemetry;
#[cfg(any(test, feature = "test-util"))]
pub mod testing;
pub mod widget;
