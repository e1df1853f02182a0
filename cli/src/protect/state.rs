//! The protection of a task, as ECS reports it.

use std::time::Duration;

/// The protection of a task in ECS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Whether the task is protected.
    pub(crate) enabled: bool,
    /// Remaining time of protection on the clock of this machine; 0 for a date in the past, `None` without a
    /// date.
    pub(crate) left: Option<Duration>,
    /// When protection ends, in the format of ECS; `None` without a date.
    pub(crate) until: Option<String>,
}
