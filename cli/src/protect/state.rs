//! What ECS says of the protection of a task.

use std::time::Duration;

/// The protection of a task in ECS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Whether it is protected.
    pub(crate) enabled: bool,
    /// Remaining time of protection, by the clock of this machine; 0 for a date in the past.
    pub(crate) left: Option<Duration>,
    /// When protection ends, in the format of ECS.
    pub(crate) until: Option<String>,
}
