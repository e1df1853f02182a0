//! The measurements, one module each.

pub mod decide;
pub mod item;
pub mod latency;
pub mod many;
pub mod race;
pub mod requests;
pub mod storm;
pub mod throughput;
