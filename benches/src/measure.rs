//! The measurements, one module each.

pub mod decide;
pub mod item;
pub mod latency;
pub mod race;
pub mod requests;
pub mod throughput;
