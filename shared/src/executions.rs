//! Executions of a workflow: which run, what became of one, and how to end it.

mod arn;
#[cfg(feature = "test-util")]
pub mod memory;
mod standing;
mod state;
#[cfg(feature = "aws")]
pub mod stepfunctions;

pub use arn::ExecutionArn;
pub use standing::{Execution, Standing, standing};
pub use state::{ExecutionEnd, ExecutionState};

use crate::domain::TaskToken;

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
    /// its start, and may still run for a moment after its end. After 90 days it is unknown for
    /// good (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html>).
    fn look(
        &self,
        execution: &ExecutionArn,
    ) -> impl Future<Output = Result<Option<ExecutionState>, ExecutionsError>> + Send;

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

    /// Ends the state that waits with `token`; `output`, as JSON, is what it answers. `false` when
    /// nothing waits with that token any more
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskSuccess.html>).
    fn end_state(
        &self,
        token: &TaskToken,
        output: &str,
    ) -> impl Future<Output = Result<bool, ExecutionsError>> + Send;
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
    ) -> impl Future<Output = Result<Option<ExecutionState>, ExecutionsError>> + Send {
        (**self).look(execution)
    }

    fn stop(
        &self,
        execution: &ExecutionArn,
        error: &str,
        cause: &str,
    ) -> impl Future<Output = Result<(), ExecutionsError>> + Send {
        (**self).stop(execution, error, cause)
    }

    fn end_state(
        &self,
        token: &TaskToken,
        output: &str,
    ) -> impl Future<Output = Result<bool, ExecutionsError>> + Send {
        (**self).end_state(token, output)
    }
}
