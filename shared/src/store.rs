//! The store of locks: the port of `lockstep-core`, and the DynamoDB store.

pub use lockstep_core::store::*;

#[cfg(feature = "aws")]
pub mod dynamodb;
