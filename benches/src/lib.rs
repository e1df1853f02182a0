//! Measures the locks of Lockstep beside pairs that are written by hand and a lock library.
//!
//! `benches/locks` runs all of it on DynamoDB Local. Subjects take turns in each measurement, so that what
//! the machine does besides meets all of them. Each measurement writes a file to `benches/results`.

pub mod bare;
pub mod clock;
pub mod delay;
pub mod guarded;
pub mod measure;
pub mod partition;
/// The files of results of the live client, without the rest of its crate, which is long to build.
#[path = "../../tests/live/src/results.rs"]
pub mod results;
pub mod rival;
/// The decisions whose instructions the gate counts.
#[path = "../../tests/src/scenes.rs"]
pub mod scenes;
pub mod state_retry;
pub mod subject;
pub mod table;
pub mod throttled;
/// The request units of the live client.
#[path = "../../tests/live/src/units.rs"]
pub mod units;
pub mod virtual_time;
/// Its counting wire.
#[path = "../../tests/live/src/wire.rs"]
pub mod wire;
