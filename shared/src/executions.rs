//! Executions of a workflow: which run, what became of one, and how to end it.

#[cfg(feature = "test-util")]
pub mod memory;
mod ownership;
#[cfg(feature = "aws")]
pub mod seal;
#[cfg(feature = "aws")]
pub mod stepfunctions;

pub use ownership::names;

use crate::domain::{Execution, ExecutionArn, ExecutionDescription, LockKey, TaskToken};

/// What Lockstep asks of Step Functions.
pub trait Executions: Send + Sync {
    /// The executions of `state_machine` that run, as far as the list shows them.
    ///
    /// ListExecutions is eventually consistent
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListExecutions.html>).
    fn running(
        &self,
        state_machine: &str,
    ) -> impl Future<Output = Result<Vec<Execution>, ExecutionsError>> + Send;

    /// What has become of `execution`; `None` when Step Functions does not know it.
    ///
    /// DescribeExecution is eventually consistent: an execution may be unknown for a moment after
    /// its start, and may still run for a moment after its end, or be over for a moment after its
    /// redrive. After 90 days it is unknown for
    /// good (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html>).
    fn look(
        &self,
        execution: &ExecutionArn,
    ) -> impl Future<Output = Result<Option<ExecutionDescription>, ExecutionsError>> + Send;

    /// Whether the input or the definition of `execution` names `lock`, as [`names`] finds it. Not
    /// where Step Functions does not know the execution.
    ///
    /// The definition is the one that the execution was started with
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeStateMachineForExecution.html>).
    fn names_lock(
        &self,
        execution: &ExecutionArn,
        lock: &LockKey,
    ) -> impl Future<Output = Result<bool, ExecutionsError>> + Send;

    /// Stops `execution`, with an `error` and a `cause` that its history keeps. One that has ended
    /// or does not exist needs no stopping.
    ///
    /// An error name is cut at 256 characters, a cause at 32768
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_StopExecution.html>).
    fn stop(
        &self,
        execution: &ExecutionArn,
        error: &str,
        cause: &str,
    ) -> impl Future<Output = Result<(), ExecutionsError>> + Send;

    /// The token as a record of `lock` may carry it: legible to nothing but the functions.
    fn seal(
        &self,
        lock: &LockKey,
        token: &TaskToken,
    ) -> impl Future<Output = Result<TaskToken, ExecutionsError>> + Send;

    /// Ends the state that waits with `token`, which a record of `lock` carries or could carry;
    /// `output`, as JSON, is what the state answers
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskSuccess.html>).
    fn end_state(
        &self,
        lock: &LockKey,
        token: &TaskToken,
        output: &str,
    ) -> impl Future<Output = Result<StateEnd, ExecutionsError>> + Send;
}

/// What became of a state that was to be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateEnd {
    /// It has ended with the output.
    Ended,
    /// Nothing waits with that token any more.
    NotWaiting,
    /// The token is sealed, and only a function can open it.
    Sealed,
}

/// What can go wrong with Step Functions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecutionsError {
    /// Step Functions gave no clear answer.
    #[error("Step Functions gave no answer: {0}")]
    Unavailable(String),
    /// The function may not make the call, or its target is not there.
    #[error("Step Functions refuses the call: {0}")]
    Denied(String),
}

impl<E: Executions> Executions for &E {
    fn running(
        &self,
        state_machine: &str,
    ) -> impl Future<Output = Result<Vec<Execution>, ExecutionsError>> + Send {
        (**self).running(state_machine)
    }

    fn look(
        &self,
        execution: &ExecutionArn,
    ) -> impl Future<Output = Result<Option<ExecutionDescription>, ExecutionsError>> + Send {
        (**self).look(execution)
    }

    fn names_lock(
        &self,
        execution: &ExecutionArn,
        lock: &LockKey,
    ) -> impl Future<Output = Result<bool, ExecutionsError>> + Send {
        (**self).names_lock(execution, lock)
    }

    fn stop(
        &self,
        execution: &ExecutionArn,
        error: &str,
        cause: &str,
    ) -> impl Future<Output = Result<(), ExecutionsError>> + Send {
        (**self).stop(execution, error, cause)
    }

    fn seal(
        &self,
        lock: &LockKey,
        token: &TaskToken,
    ) -> impl Future<Output = Result<TaskToken, ExecutionsError>> + Send {
        (**self).seal(lock, token)
    }

    fn end_state(
        &self,
        lock: &LockKey,
        token: &TaskToken,
        output: &str,
    ) -> impl Future<Output = Result<StateEnd, ExecutionsError>> + Send {
        (**self).end_state(lock, token, output)
    }
}
