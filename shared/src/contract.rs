//! The JSON contract: requests, responses and error names.
//!
//! camelCase JSON; unknown fields are refused; times are RFC 3339; lengths of time end in
//! `Seconds`. The types mirror those of the domain and are converted by hand, so that a change of
//! the protocol never changes the wire by accident.

mod acquire;
mod acquired;
mod answer;
mod error_name;
mod event_kind;
mod exclusive_run;
mod failure;
mod grant;
mod heartbeat;
mod hidden;
mod options;
mod parse;
mod policy;
mod protect;
mod redrive;
mod release;
mod running;
mod trigger;
mod work;

pub use acquire::{AcquireRequest, CheckedAcquire};
pub use acquired::{
    AcquireResponse, Duplicate, EnvironmentVariable, Finished, GaveUp, Granted, Oldest, Queued,
    Skipped,
};
pub use answer::{full_queue, held_by, paused_by};
pub use error_name::ErrorName;
pub use event_kind::{EventKind, SOURCE};
pub use exclusive_run::{ExclusiveRunInput, STARTED_BY, StartExecution, WorkInput};
pub use failure::WorkFailure;
pub use grant::Grant;
pub use heartbeat::{CheckedHeartbeat, HeartbeatRequest, HeartbeatResponse};
pub use hidden::is_hidden;
pub use options::{LockOptions, Range, word, word_or_null};
pub use parse::{InvalidRequest, fields_of, parse, parse_both, parse_time, quoted, text};
pub use policy::{CatchUp, OnPaused, OnSkip, Overlap, Stale, WhenQueueFull};
pub use protect::{Protection, ServiceTask};
pub use redrive::Redrive;
pub use release::{CheckedRelease, ReleaseOutcome, ReleaseRequest, ReleaseResponse};
pub use running::{Ahead, CheckRunningRequest, CheckRunningResponse, CheckedRunning};
pub use trigger::Trigger;
pub use work::WorkPlace;
