//! What Lockstep tells the outside: events that an operator, or a rule, can act on.

mod detail;
#[cfg(feature = "aws")]
pub mod eventbridge;
#[cfg(feature = "test-util")]
pub mod memory;

pub use detail::EventDetail;

use crate::contract::EventKind;
use crate::domain::{FencingToken, HolderId, LockKey, RunKey, TaskToken, Timestamp};

/// Something happened to a lock that somebody may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub kind: EventKind,
    /// To which lock.
    pub lock: LockKey,
    /// The holder or waiter that it is about.
    pub holder: Option<HolderId>,
    /// The grant that it is about.
    pub token: Option<FencingToken>,
    /// What happened, and why.
    pub reason: String,
    /// What whoever reads this can do.
    pub advice: String,
    /// When.
    pub at: Timestamp,
    /// The state that waits for what the event reports, where only a function can end it.
    pub state: Option<WaitingState>,
}

/// A state that a container cannot end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingState {
    /// Its task token, sealed.
    pub task_token: TaskToken,
    /// The run key that is taken, if that is why it waits in vain.
    pub run_key: Option<RunKey>,
}

/// Where events go.
pub trait Events: Send + Sync {
    /// Publishes `events`, as well as can be done within two seconds. What could not be published
    /// is logged; it is never a reason to fail.
    fn publish(&self, events: Vec<Event>) -> impl Future<Output = ()> + Send;
}

impl<E: Events> Events for &E {
    fn publish(&self, events: Vec<Event>) -> impl Future<Output = ()> + Send {
        (**self).publish(events)
    }
}
