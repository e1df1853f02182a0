//! Executions of workflows: lists, describes and stops them, and ends their waiting states.

#[cfg(feature = "test-util")]
pub mod memory;
mod ownership;
#[cfg(feature = "aws")]
pub mod seal;
#[cfg(feature = "aws")]
pub mod stepfunctions;

pub use ownership::names;

use auto_impl::auto_impl;
use lockstep_core::domain::{
    Execution, ExecutionArn, ExecutionDescription, FailedStart, LockKey, StateMachineArn, TaskToken,
};

/// Largest number of pages of a history that [`Executions::failed_starts`] reads. A page has at most 1,000
/// events (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_GetExecutionHistory.html>),
/// and a history has at most 25 pages. Five calls fit into the time that acquire-lock has for its checks.
pub const HISTORY_PAGES: usize = 5;

/// The calls to Step Functions.
#[auto_impl(&, Arc)]
pub trait Executions: Send + Sync {
    /// Returns the executions of `state_machine` that ListExecutions reports as running.
    ///
    /// ListExecutions is eventually consistent
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListExecutions.html>).
    fn running(
        &self,
        state_machine: &str,
    ) -> impl Future<Output = Result<Vec<Execution>, ExecutionsError>> + Send;

    /// Returns the result of DescribeExecution, or `None` if Step Functions does not know `execution`.
    ///
    /// DescribeExecution is eventually consistent: an execution may be unknown for a moment after
    /// its start, reported as running for a moment after its end, and as ended for a moment after
    /// its redrive. 90 days after its end it is unknown for good
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html>).
    fn describe(
        &self,
        execution: &ExecutionArn,
    ) -> impl Future<Output = Result<Option<ExecutionDescription>, ExecutionsError>> + Send;

    /// Returns whether the input or the definition of `execution` names `lock`, as [`names`] finds it.
    /// Returns `false` if Step Functions does not know the execution.
    ///
    /// The definition is the one that the execution was started with: DescribeStateMachineForExecution
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeStateMachineForExecution.html>).
    fn names_lock(
        &self,
        execution: &ExecutionArn,
        lock: &LockKey,
    ) -> impl Future<Output = Result<bool, ExecutionsError>> + Send;

    /// Returns the calls of `ecs:runTask` whose state did not see the end of a task, from the latest
    /// [`HISTORY_PAGES`] pages of the history of `execution`. Either the call failed, or the state timed out
    /// or was stopped
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_GetExecutionHistory.html>).
    fn failed_starts(
        &self,
        execution: &ExecutionArn,
    ) -> impl Future<Output = Result<Vec<FailedStart>, ExecutionsError>> + Send;

    /// Stops `execution` by StopExecution, with an `error` and a `cause` that its history keeps. Succeeds
    /// also if the execution has ended or does not exist.
    ///
    /// An error name is cut at 256 characters, a cause at 32768
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_StopExecution.html>).
    fn stop(
        &self,
        execution: &ExecutionArn,
        error: &str,
        cause: &str,
    ) -> impl Future<Output = Result<(), ExecutionsError>> + Send;

    /// Returns what `execution` was started with, or `None` if Step Functions does not know `execution`.
    fn start_of(
        &self,
        execution: &ExecutionArn,
    ) -> impl Future<Output = Result<Option<Start>, ExecutionsError>> + Send;

    /// Checks by DescribeStateMachine that the state machine of `start` exists, and that the caller may use
    /// it (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeStateMachine.html>).
    /// The policy of operate allows this call for the state machines for which it allows StartExecution.
    ///
    /// Returns whether the input or the definition names `lock`, as [`names`] finds it.
    fn check_start(
        &self,
        start: &Start,
        lock: &LockKey,
    ) -> impl Future<Output = Result<bool, ExecutionsError>> + Send;

    /// Starts an execution by StartExecution, and returns its ARN.
    ///
    /// A second call with the same name starts nothing, because the name of an execution is unique for 90
    /// days (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html>).
    fn start(
        &self,
        start: &Start,
        name: &str,
    ) -> impl Future<Output = Result<ExecutionArn, ExecutionsError>> + Send;

    /// Seals `token` for a record of `lock`, so that only the functions can read it.
    fn seal(
        &self,
        lock: &LockKey,
        token: &TaskToken,
    ) -> impl Future<Output = Result<TaskToken, ExecutionsError>> + Send;

    /// Ends the state that waits with `token` by SendTaskSuccess. `token` may be sealed for `lock`. `output`,
    /// a JSON text, is the output of the state
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskSuccess.html>).
    fn end_state(
        &self,
        lock: &LockKey,
        token: &TaskToken,
        output: &str,
    ) -> impl Future<Output = Result<StateEnd, ExecutionsError>> + Send;
}

/// The arguments of StartExecution, without the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The state machine, or one of its versions or aliases.
    pub state_machine: StateMachineArn,
    /// The input, as JSON; `None` for the default of Step Functions, which is `{}`.
    pub input: Option<String>,
}

impl Start {
    /// Returns whether the input names `lock`. If the input has a string `lock` at its top level, as the
    /// input of exclusive-run does, only that one counts. Otherwise a member `lock` at any depth counts.
    #[must_use]
    pub fn names(&self, lock: &LockKey) -> bool {
        let input = self
            .input
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok());
        input.is_some_and(|input: serde_json::Value| match &input["lock"] {
            serde_json::Value::String(own) => own == lock.as_str(),
            _ => names(&input, lock),
        })
    }

    /// Returns the ARN of the execution with the name `name`.
    ///
    /// # Errors
    /// [`ExecutionsError::Denied`] for a name that no execution can have.
    pub fn execution(&self, name: &str) -> Result<ExecutionArn, ExecutionsError> {
        let execution = self.state_machine.execution(name);
        execution.map_err(|invalid| ExecutionsError::Denied(invalid.to_string()))
    }
}

/// The result of [`Executions::end_state`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateEnd {
    /// The state has ended with the output.
    Ended,
    /// No state waits with the token any more, or the token is not sealed for the lock.
    NotWaiting,
    /// This process does not have the key that opens sealed task tokens. Only a function can end the state.
    Sealed,
}

/// An error of a call to Step Functions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecutionsError {
    /// Step Functions gave no clear answer. A retry may succeed.
    #[error("Step Functions gave no answer: {0}")]
    Unavailable(String),
    /// The call is not allowed or not valid, or its target does not exist. A retry does not help.
    #[error("Step Functions refuses the call: {0}")]
    Denied(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_top_level_lock_of_an_input_overrides_nested_ones() {
        let machine = "arn:aws:states:eu-west-1:1:stateMachine:etl";
        let (lock, machine) = (
            LockKey::new("nightly").unwrap(),
            StateMachineArn::new(machine).unwrap(),
        );
        for (input, named) in [
            (Some(r#"{"lock": "nightly"}"#), true),
            (Some(r#"{"run": {"lock": "nightly"}}"#), true),
            (
                Some(r#"{"lock": "other", "run": {"lock": "nightly"}}"#),
                false,
            ),
            (Some("no JSON"), false),
            (None, false),
        ] {
            let start = Start {
                state_machine: machine.clone(),
                input: input.map(str::to_owned),
            };
            assert_eq!(start.names(&lock), named, "{input:?}");
        }
    }
}
