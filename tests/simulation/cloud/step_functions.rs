//! Step Functions as its API shows it: late, forgetful, and not always there.

use super::{abort, child, stop_task};
use crate::engine::locked;
use crate::invoke::Failure;
use crate::witness;
use crate::world::World;
use lockstep::domain::{
    Execution, ExecutionArn, ExecutionDescription, ExecutionEnd, ExecutionState, LockKey,
    TaskToken, Timestamp,
};
use lockstep::executions::{Executions, ExecutionsError, StateEnd, names};
use serde_json::Value;
use std::sync::Arc;

/// How long DescribeExecution may show an old state, in milliseconds.
const LAG: u64 = 5000;

/// Step Functions as its API shows it.
#[derive(Clone)]
pub(crate) struct SimExecutions {
    pub(crate) world: Arc<World>,
    /// Whether it is called from a container, which opens no task token.
    pub(crate) inside: bool,
}

impl SimExecutions {
    async fn reach(&self) -> Result<(), ExecutionsError> {
        self.world.linger(5..=40).await;
        if self.world.fault(20) {
            self.world.count("Step Functions unavailable");
            return Err(ExecutionsError::Unavailable("simulated".into()));
        }
        Ok(())
    }

    /// SendTaskSuccess. Output that is not JSON fails the state.
    fn deliver(&self, token: &TaskToken, output: &str) -> bool {
        let opened = token.as_sealed().map(TaskToken::of_record);
        let opened = opened.and_then(Result::ok);
        let token = opened.as_ref().unwrap_or(token);
        let Some(state) = locked(&self.world.cloud).states.remove(token) else {
            return false;
        };
        let output = serde_json::from_str::<Value>(output)
            .map_err(|error| Failure::new("States.Runtime", &error.to_string()));
        if let Ok("granted" | "alreadyHeld") = output
            .as_ref()
            .map(|output| output["status"].as_str().unwrap_or_default())
        {
            self.world.count("woken");
        }
        if let Ok(output) = &output {
            witness::woken(&self.world, &state.execution, output);
        }
        state.answer.put(output);
        true
    }
}

impl Executions for SimExecutions {
    async fn running(&self, _: &str) -> Result<Vec<Execution>, ExecutionsError> {
        Err(ExecutionsError::Denied(
            "no function lists executions in this world".into(),
        ))
    }

    /// Eventually consistent: a state may be shown for a while after it has changed.
    async fn describe(
        &self,
        arn: &ExecutionArn,
    ) -> Result<Option<ExecutionDescription>, ExecutionsError> {
        self.reach().await?;
        if let Some(child) = child::describe(&self.world, arn.as_str()) {
            return Ok(child);
        }
        let stale = self.world.fault(100);
        let now = self.world.now();
        let cloud = locked(&self.world.cloud);
        let Some(row) = cloud.executions.get(arn) else {
            return Ok(None);
        };
        if stale && now < row.started + LAG {
            return Ok(None);
        }
        let redrives = u32::try_from(row.story.redrives).unwrap_or(u32::MAX);
        let running = |redrives| ExecutionDescription {
            redrives,
            ..ExecutionState::Running.into()
        };
        let ended = |redrives, (at, how)| ExecutionDescription {
            state: ExecutionState::Ended(how),
            redrives,
            stopped_at: Some(Timestamp::from_millis(at)),
        };
        let lags = |since| stale && now < since + LAG;
        Ok(Some(match (row.ended, row.end_before) {
            (Some((at, _)), _) if lags(at) => running(redrives),
            (Some(end), _) => ended(redrives, end),
            (None, Some(before)) if row.redriven.is_some_and(lags) => ended(redrives - 1, before),
            (None, _) => running(redrives),
        }))
    }

    async fn names_lock(
        &self,
        arn: &ExecutionArn,
        lock: &LockKey,
    ) -> Result<bool, ExecutionsError> {
        self.reach().await?;
        let cloud = locked(&self.world.cloud);
        let row = cloud.executions.get(arn);
        Ok(row.is_some_and(|row| names(&row.story.input, lock)))
    }

    async fn stop(&self, arn: &ExecutionArn, _: &str, _: &str) -> Result<(), ExecutionsError> {
        self.reach().await?;
        if self.world.fault(30) {
            return Err(ExecutionsError::Unavailable("not stopped".into()));
        }
        if locked(&self.world.cloud).tasks.contains_key(arn.as_str()) {
            self.world.count("executions as work stopped by Lockstep");
            witness::stops_task(&self.world, arn.as_str());
            stop_task(&self.world, arn.as_str(), "Lockstep stops it");
            return Ok(());
        }
        self.world.count("executions stopped");
        witness::stops_execution(&self.world, arn);
        abort(&self.world, arn, ExecutionEnd::Aborted);
        Ok(())
    }

    async fn seal(&self, _: &LockKey, token: &TaskToken) -> Result<TaskToken, ExecutionsError> {
        Ok(TaskToken::sealed(token.reveal()))
    }

    /// The call may be lost, arrive late, or arrive twice and be answered for the second time.
    async fn end_state(
        &self,
        _: &LockKey,
        token: &TaskToken,
        output: &str,
    ) -> Result<StateEnd, ExecutionsError> {
        if self.inside {
            return Ok(StateEnd::Sealed);
        }
        self.reach().await?;
        if self.world.fault(50) {
            self.world.count("wake-ups lost");
            return Err(ExecutionsError::Unavailable("lost".into()));
        }
        if self.world.fault(50) {
            self.world.count("wake-ups late");
            let (late, token, output) = (self.clone(), token.clone(), output.to_owned());
            self.world.spawn(async move {
                late.world.linger(100..=20_000).await;
                late.deliver(&token, &output);
            });
            return Err(ExecutionsError::Unavailable("no answer in time".into()));
        }
        let waits = self.deliver(token, output);
        if waits && self.world.fault(50) {
            self.world.count("wake-ups twice");
            return Ok(answer(self.deliver(token, output)));
        }
        Ok(answer(waits))
    }
}

fn answer(waited: bool) -> StateEnd {
    match waited {
        true => StateEnd::Ended,
        false => StateEnd::NotWaiting,
    }
}
