//! The JSON contract of operate and view: acts, and responses to them.
//!
//! Its rules are those of [`lockstep::contract`].

mod act;
mod acted;
mod page;
mod view;

pub use act::{
    ActRequest, CheckedAct, CheckedClearRest, CheckedDropWaiter, CheckedEvict, CheckedForget,
    CheckedHistory, CheckedList, CheckedMode, ClearRestRequest, DropWaiterRequest, EvictRequest,
    ForgetRequest, HistoryRequest, ListRequest, ModeRequest, Scope, ShowRequest, Surface,
};
pub use acted::{
    ActResponse, ClearResponse, ClearStatus, EvictResponse, EvictStatus, FailedLock, ModeResponse,
    VersionResponse,
};
pub use page::{CheckedPage, PAGE_DEFAULT, PAGE_MAX, PREFIX_FIELD, PageRequest, Theme};
pub use view::{
    ClosedView, EndingView, ExecutionView, HistoryEntry, HistoryResponse, HolderView, ListResponse,
    LockState, LockSummary, NextView, OutcomesView, ShowResponse, TaskView, WaiterView,
};
