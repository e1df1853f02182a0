//! What crosses the wire: requests, responses and error names.
//!
//! camelCase JSON; unknown fields are refused; times are RFC 3339; lengths of time end in
//! `Seconds`. The types here are twins of the domain's, converted by hand, so that a change of
//! the protocol never changes the wire by accident.

mod acquire;
mod acquired;
mod error_name;
mod grant;
mod heartbeat;
mod parse;
mod release;
mod running;

pub use acquire::{AcquireRequest, CheckedAcquire, Overlap};
pub use acquired::{AcquireResponse, Duplicate, EnvironmentVariable, Granted, Skipped};
pub use error_name::ErrorName;
pub use grant::Grant;
pub use heartbeat::{HeartbeatRequest, HeartbeatResponse};
pub use parse::{InvalidRequest, parse, rfc3339};
pub use release::{ReleaseOutcome, ReleaseRequest, ReleaseResponse};
pub use running::{Ahead, CheckRunningRequest, CheckRunningResponse, CheckedRunning};
