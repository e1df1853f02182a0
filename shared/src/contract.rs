//! The JSON contract: requests, responses and error names.
//!
//! camelCase JSON; unknown fields are refused; times are RFC 3339; lengths of time end in
//! `Seconds`. The types mirror those of the domain and are converted by hand, so that a change of
//! the protocol never changes the wire by accident.

mod acquire;
mod acquired;
mod act;
mod acted;
mod answer;
mod error_name;
mod event_kind;
mod exclusive_run;
mod failure;
mod grant;
mod heartbeat;
mod options;
mod page;
mod parse;
mod policy;
mod protect;
mod redrive;
mod release;
mod running;
mod trigger;
mod view;
mod work;

pub use acquire::{AcquireRequest, CheckedAcquire};
pub use acquired::{
    AcquireResponse, Duplicate, EnvironmentVariable, Finished, GaveUp, Granted, Oldest, Queued,
    Skipped,
};
pub use act::{
    ActRequest, CheckedAct, CheckedClearRest, CheckedDropWaiter, CheckedEvict, CheckedForget,
    CheckedHistory, CheckedList, CheckedMode, ClearRestRequest, DropWaiterRequest, EvictRequest,
    ForgetRequest, HistoryRequest, HistoryScope, ListRequest, ModeRequest, Scope, ShowRequest,
    Surface,
};
pub use acted::{
    ActResponse, ClearResponse, ClearStatus, EvictResponse, EvictStatus, FailedLock, ModeResponse,
    VersionResponse,
};
pub use answer::{held_by, paused_by};
pub use error_name::ErrorName;
pub use event_kind::{EventKind, SOURCE};
pub use exclusive_run::{ExclusiveRunInput, StartExecution, WorkInput};
pub use failure::WorkFailure;
pub use grant::Grant;
pub use heartbeat::{CheckedHeartbeat, HeartbeatRequest, HeartbeatResponse};
pub use options::{LockOptions, Range};
pub use page::{CheckedPage, PAGE_DEFAULT, PAGE_MAX, PREFIX_FIELD, PageRequest, Theme};
pub use parse::{InvalidRequest, fields_of, parse, parse_both, parse_time};
pub use policy::{CatchUp, OnPaused, OnSkip, Overlap, Stale};
pub use protect::{Protection, ServiceTask};
pub use redrive::Redrive;
pub use release::{CheckedRelease, ReleaseOutcome, ReleaseRequest, ReleaseResponse};
pub use running::{Ahead, CheckRunningRequest, CheckRunningResponse, CheckedRunning};
pub use trigger::Trigger;
pub use view::{
    ClosedView, EndingView, ExecutionView, HistoryEntry, HistoryResponse, HolderView, ListResponse,
    LockState, LockSummary, NextView, OutcomesView, ShowResponse, TaskView, WaiterView,
};
pub use work::WorkPlace;
