//! Step Functions as its API shows it: late, forgetful, and not always there.

use super::abort;
use crate::engine::locked;
use crate::world::World;
use lockstep::domain::TaskToken;
use lockstep::executions::{
    Execution, ExecutionArn, ExecutionEnd, ExecutionState, Executions, ExecutionsError,
};
use serde_json::Value;
use std::sync::Arc;

/// How long DescribeExecution may show an old state, in milliseconds.
const LAG: u64 = 2000;

/// Step Functions as its API shows it.
#[derive(Clone)]
pub(crate) struct SimExecutions(pub(crate) Arc<World>);

impl SimExecutions {
    async fn reach(&self) -> Result<(), ExecutionsError> {
        self.0.linger(5..=40).await;
        if self.0.fault(20) {
            self.0.count("Step Functions unavailable");
            return Err(ExecutionsError::Unavailable("simulated".into()));
        }
        Ok(())
    }

    fn deliver(&self, token: &TaskToken, output: &str) -> bool {
        let Some(state) = locked(&self.0.cloud).states.remove(token) else {
            return false;
        };
        let output = serde_json::from_str(output).unwrap_or(Value::Null);
        state.answer.put(output);
        true
    }
}

impl Executions for SimExecutions {
    async fn running(&self, _: &str) -> Result<Vec<Execution>, ExecutionsError> {
        Err(ExecutionsError::Denied("nobody lists in this world".into()))
    }

    /// Eventually consistent: a state may be shown for a while after it has changed.
    async fn look(&self, arn: &ExecutionArn) -> Result<Option<ExecutionState>, ExecutionsError> {
        self.reach().await?;
        let stale = self.0.fault(100);
        let now = self.0.now();
        let cloud = locked(&self.0.cloud);
        let Some(row) = cloud.executions.get(arn) else {
            return Ok(None);
        };
        if stale && now < row.started + LAG {
            return Ok(None);
        }
        Ok(Some(match row.ended {
            Some((at, _)) if stale && now < at + LAG => ExecutionState::Running,
            Some((_, how)) => ExecutionState::Ended(how),
            None => ExecutionState::Running,
        }))
    }

    async fn stop(&self, arn: &ExecutionArn, _: &str, _: &str) -> Result<(), ExecutionsError> {
        self.reach().await?;
        if self.0.fault(30) {
            return Err(ExecutionsError::Unavailable("not stopped".into()));
        }
        self.0.count("executions stopped");
        abort(&self.0, arn, ExecutionEnd::Aborted);
        Ok(())
    }

    /// The call may be lost, arrive late, or arrive twice and be answered for the second time.
    async fn end_state(&self, token: &TaskToken, output: &str) -> Result<bool, ExecutionsError> {
        self.reach().await?;
        if self.0.fault(50) {
            self.0.count("wake-ups lost");
            return Err(ExecutionsError::Unavailable("lost".into()));
        }
        if self.0.fault(50) {
            self.0.count("wake-ups late");
            let (late, token, output) = (self.clone(), token.clone(), output.to_owned());
            self.0.spawn(async move {
                late.0.linger(100..=20_000).await;
                late.deliver(&token, &output);
            });
            return Err(ExecutionsError::Unavailable("no answer in time".into()));
        }
        let waits = self.deliver(token, output);
        if waits && self.0.fault(50) {
            self.0.count("wake-ups twice");
            return Ok(self.deliver(token, output));
        }
        Ok(waits)
    }
}
