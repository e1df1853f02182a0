//! The JSON contract of operate and view: acts, and responses to them.
//!
//! The JSON follows the conventions of [`lockstep::contract`].

mod act;
mod acted;
mod called;
mod page;
mod view;

pub use act::{
    ActRequest, CheckedAct, CheckedClearRest, CheckedDropWaiter, CheckedEvict, CheckedForget,
    CheckedHistory, CheckedList, CheckedMode, CheckedStart, CheckedWaiter, ClearRestRequest,
    DropWaiterRequest, EvictRequest, ForgetRequest, HistoryFilter, HistoryRequest, ListRequest,
    ModeRequest, Scope, ShowRequest, StartRequest, Surface,
};
pub use acted::{
    ActResponse, ClearResponse, ClearStatus, EvictResponse, EvictStatus, FailedLock, ModeResponse,
    NewLocks, StartResponse, StartStatus, VersionResponse,
};
pub use called::{Called, short_name, with_short_names};
pub use page::{CheckedPage, PAGE_DEFAULT, PAGE_MAX, PREFIX_FIELD, PageRequest, Theme};
pub use view::{
    ClosedView, EndingView, ExecutionView, HistoryEntry, HistoryResponse, HolderView, ListResponse,
    LockState, LockSummary, NewLocksView, NextView, OutcomesView, ShowResponse, TaskView,
    UsualView, WaiterView,
};
