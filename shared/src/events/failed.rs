//! A failed run, as its event and its message describe it.

use super::cause::{ShortCause, one_line};
use crate::contract::WorkFailure;
use lockstep_core::domain::{ExecutionArn, RunKey, TaskArn};

/// A run that reported its own failure.
///
/// An event *Run Failed* without it repeats what recovery has found and published as another event,
/// so it is no message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedRun {
    /// The name of the error.
    pub error: Option<String>,
    /// The short form of the cause.
    pub cause: Option<String>,
    /// The ECS task that failed.
    pub task: Option<TaskArn>,
    /// The execution that failed, where a workflow is the work.
    pub work: Option<ExecutionArn>,
    /// The run key.
    pub run_key: Option<RunKey>,
    /// Which failed attempt of its caller this run was; `None` for the first one.
    pub attempt: Option<usize>,
    /// How often its execution had been redriven.
    pub redrives: u32,
}

impl FailedRun {
    /// The run under `run_key` that failed as `failure` reports.
    #[must_use]
    pub fn of(failure: Option<&WorkFailure>, run_key: Option<RunKey>) -> Self {
        let cause = failure.and_then(|failure| failure.cause.as_deref());
        let short = cause.map(ShortCause::of).unwrap_or_default();
        let error = failure.and_then(|failure| failure.error.as_deref());
        Self {
            error: error.map(one_line).filter(|error| !error.is_empty()),
            cause: short.text,
            task: short.task,
            run_key,
            ..Self::default()
        }
    }

    /// Error and cause in one line.
    #[must_use]
    pub fn reason(&self) -> String {
        let texts = [self.error.as_deref(), self.cause.as_deref()];
        let texts: Vec<_> = texts.into_iter().flatten().collect();
        match texts.is_empty() {
            true => "the run reported that its work failed, without a reason".to_owned(),
            false => texts.join(": "),
        }
    }
}
