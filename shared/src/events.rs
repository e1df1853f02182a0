//! Events for operators and EventBridge rules.

mod cause;
#[cfg(feature = "aws")]
pub mod cloudwatch;
pub mod console;
mod detail;
#[cfg(feature = "aws")]
pub mod eventbridge;
mod failed;
mod log;
#[cfg(feature = "test-util")]
pub mod memory;
mod message;

pub use detail::EventDetail;
pub use failed::{FailedRun, UsualLength};
pub use log::{EventQuery, HistoryScope, LoggedEvent, LoggedEvents};
pub use message::{Content, Message, Metadata};

use crate::contract::EventKind;
use auto_impl::auto_impl;
use lockstep_core::domain::{FencingToken, HolderId, LockKey, RunKey, TaskToken, Timestamp};

/// An event of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The kind.
    pub kind: EventKind,
    /// The lock.
    pub lock: LockKey,
    /// The holder or waiter that the event is about.
    pub holder: Option<HolderId>,
    /// The fencing token of the grant that the event is about.
    pub token: Option<FencingToken>,
    /// What happened, and why.
    pub reason: String,
    /// What an operator can do.
    pub advice: String,
    /// When it happened.
    pub at: Timestamp,
    /// The waiting state that the reaper ends on this event, because a container cannot.
    pub state: Option<WaitingState>,
    /// The failure that the run itself reported.
    pub failed: Option<FailedRun>,
}

impl Event {
    /// Returns whether another event reports the same to people. With `RunEvents`, recovery publishes a *Run
    /// Failed* beside its own event.
    fn repeats_another_event(&self) -> bool {
        self.kind == EventKind::RunFailed && self.failed.is_none()
    }
}

/// A waiting state of a workflow, which only a function can end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingState {
    /// The sealed task token of the state.
    pub task_token: TaskToken,
    /// The run key that another run has taken, if the wait ends for that reason.
    pub run_key: Option<RunKey>,
}

/// Publishes events.
#[auto_impl(&, Arc)]
pub trait Events: Send + Sync {
    /// Publishes `events` on a best-effort basis, within two seconds. An event that cannot be published is
    /// logged, and does not fail the caller.
    fn publish(&self, events: Vec<Event>) -> impl Future<Output = ()> + Send;

    /// Reads events that were published before. Returns `None` if no log keeps them. A failure is a part of
    /// the result and not an error, because the protocol does not depend on the log.
    fn logged(&self, query: &EventQuery<'_>) -> impl Future<Output = Option<LoggedEvents>> + Send {
        let _ = query;
        std::future::ready(None)
    }
}
