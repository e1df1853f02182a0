//! The state of an execution.

use crate::domain::Timestamp;
use std::fmt;

/// The fields of a DescribeExecution response that are evidence
/// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html>).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExecutionDescription {
    /// Whether the execution runs or has ended.
    pub state: ExecutionState,
    /// Number of redrives. Of two descriptions, the one with more redrives is newer.
    pub redrives: u32,
    /// When the execution ended; `None` while it runs.
    pub stopped_at: Option<Timestamp>,
}

/// The state of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExecutionState {
    /// The execution runs, or will continue by itself.
    Running,
    /// The execution has ended. Within 14 days a redrive may bring it back to [`Self::Running`]
    /// (<https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html>).
    Ended(ExecutionEnd),
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExecutionEnd {
    /// The last state succeeded.
    Succeeded,
    /// A state failed and no Catch handled it.
    Failed,
    /// The execution took longer than the `TimeoutSeconds` of its state machine.
    TimedOut,
    /// StopExecution stopped the execution.
    Aborted,
}

impl From<ExecutionState> for ExecutionDescription {
    /// Returns the description of an execution that was never redriven.
    fn from(state: ExecutionState) -> Self {
        Self {
            state,
            redrives: 0,
            stopped_at: None,
        }
    }
}

impl ExecutionState {
    /// Returns the state of an execution with this `status`; `None` for a status that this version does
    /// not know
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html>).
    #[must_use]
    pub fn of_status(status: &str) -> Option<Self> {
        Some(match status {
            // PENDING_REDRIVE: a child execution of a Distributed Map that waits for its redrive, and
            // will run.
            "RUNNING" | "PENDING_REDRIVE" => Self::Running,
            "SUCCEEDED" => Self::Ended(ExecutionEnd::Succeeded),
            "FAILED" => Self::Ended(ExecutionEnd::Failed),
            "TIMED_OUT" => Self::Ended(ExecutionEnd::TimedOut),
            "ABORTED" => Self::Ended(ExecutionEnd::Aborted),
            _ => return None,
        })
    }
}

impl ExecutionEnd {
    /// Returns the status that Step Functions gives the end.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
            Self::TimedOut => "TIMED_OUT",
            Self::Aborted => "ABORTED",
        }
    }
}

impl fmt::Display for ExecutionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_spelled_as_the_status_that_it_is_read_from() {
        for status in ["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"] {
            let state = ExecutionState::of_status(status);

            let Some(ExecutionState::Ended(end)) = state else {
                panic!("{status}: {state:?}")
            };
            assert_eq!(end.to_string(), status);
        }
    }

    #[test]
    fn an_execution_that_waits_for_its_redrive_runs() {
        for status in ["RUNNING", "PENDING_REDRIVE"] {
            let state = ExecutionState::of_status(status);

            assert_eq!(state, Some(ExecutionState::Running), "{status}");
        }
    }

    #[test]
    fn an_unknown_status_is_no_state() {
        for status in ["", "running", "PAUSED"] {
            assert_eq!(ExecutionState::of_status(status), None, "{status}");
        }
    }
}
