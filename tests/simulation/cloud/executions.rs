//! Step Functions: executions begin and end, states wait, and answers get lost. Its API is late,
//! forgetful and sometimes unavailable.

use super::{ExecutionRow, WaitingState, child, look, stop_task};
use crate::engine::{JobId, Slot, locked};
use crate::invoke::Failure;
use crate::weather::Trouble;
use crate::workflow::Story;
use crate::world::{World, short};
use crate::{bill, reaper, witness};
use lockstep::domain::{
    Execution, ExecutionArn, ExecutionDescription, ExecutionEnd, ExecutionState, FailedStart,
    LockKey, TaskToken, Timestamp,
};
use lockstep::executions::{Executions, ExecutionsError, Start, StateEnd, names};
use serde_json::Value;
use std::sync::Arc;

/// Begins an execution.
pub(crate) fn begin(world: &Arc<World>, arn: &ExecutionArn, row: ExecutionRow) {
    locked(&world.cloud).executions.insert(arn.clone(), row);
    reaper::execution_changed(world, arn, "RUNNING");
}

/// Redrives an execution that has ended.
pub(crate) fn begin_again(world: &Arc<World>, arn: &ExecutionArn, job: JobId, story: Story) {
    let now = world.now();
    let mut cloud = locked(&world.cloud);
    let Some(row) = cloud.executions.get_mut(arn) else {
        return;
    };
    row.end_before = row.ended.take();
    row.redriven = Some(now);
    (row.job, row.story) = (job, story);
    drop(cloud);
    world.count("redriven");
    world.note(short(arn.as_str()), format_args!("is redriven"));
    reaper::execution_changed(world, arn, "RUNNING");
}

/// Returns whether an execution has ended without a success.
pub(crate) fn has_failed(world: &World, arn: &ExecutionArn) -> bool {
    let cloud = locked(&world.cloud);
    let ended = cloud.executions.get(arn).and_then(|row| row.ended);
    ended.is_some_and(|(_, how)| how != ExecutionEnd::Succeeded)
}

/// Ends an execution. Returns whether it was running.
pub(crate) fn end(world: &Arc<World>, arn: &ExecutionArn, how: ExecutionEnd) -> bool {
    let now = world.now();
    let mut cloud = locked(&world.cloud);
    let Some(row) = cloud.executions.get_mut(arn) else {
        return false;
    };
    if row.ended.is_some() {
        return false;
    }
    row.ended = Some((now, how));
    cloud.states.retain(|_, state| state.execution != *arn);
    drop(cloud);
    witness::execution_ended(world, arn);
    world.played(&super::holder_of(arn));
    world.note(short(arn.as_str()), format_args!("{how}"));
    reaper::execution_changed(world, arn, how.as_str());
    true
}

/// Ends an execution from outside, in whatever state it is. The state gives up what it waits for; a
/// task is stopped as well as Step Functions can. Returns whether the execution was running.
pub(crate) fn abort(world: &Arc<World>, arn: &ExecutionArn, how: ExecutionEnd) -> bool {
    if !end(world, arn, how) {
        return false;
    }
    let job = locked(&world.cloud).executions.get(arn).map(|row| row.job);
    job.into_iter().for_each(|job| world.engine.kill(job));
    true
}

/// A state that waits for its task token until this value is dropped.
pub(crate) struct OpenState {
    world: Arc<World>,
    pub(crate) token: TaskToken,
    pub(crate) answer: Slot<Result<Value, Failure>>,
}

impl OpenState {
    /// Begins the wait of a state of `execution`.
    pub(crate) fn of(world: &Arc<World>, execution: &ExecutionArn) -> Self {
        let mut cloud = locked(&world.cloud);
        cloud.tokens += 1;
        let text = format!("{}-token-{}", short(execution.as_str()), cloud.tokens);
        let token = TaskToken::new(text).expect("a valid token");
        let answer = Slot::new();
        let state = WaitingState {
            execution: execution.clone(),
            answer: answer.clone(),
        };
        cloud.states.insert(token.clone(), state);
        drop(cloud);
        Self {
            world: Arc::clone(world),
            token,
            answer,
        }
    }
}

impl Drop for OpenState {
    fn drop(&mut self) {
        let state = locked(&self.world.cloud).states.remove(&self.token);
        drop(state);
    }
}

/// How long DescribeExecution may show an old state, in milliseconds.
const LAG: u64 = 5000;

/// For how long a retry sees through DescribeExecution that shows the attempt before it at work after its end, in
/// milliseconds: a check in the first two seconds of a call shows nothing.
const SEEN_THROUGH: u64 = 2000;

/// Step Functions as its API shows it.
#[derive(Clone)]
pub(crate) struct SimExecutions {
    pub(crate) world: Arc<World>,
    /// Whether the caller is a container, which opens no task token.
    pub(crate) inside: bool,
}

impl SimExecutions {
    /// Reaches the API for a call that only describes, which fails while evidence is hidden.
    async fn look(&self) -> Result<(), ExecutionsError> {
        self.reach().await?;
        match look(&self.world).await {
            None => Ok(()),
            Some(Trouble::Unanswered) => Err(ExecutionsError::Unavailable("simulated".into())),
            Some(_) => {
                self.world.is_denied();
                Err(ExecutionsError::Denied("simulated".into()))
            }
        }
    }

    async fn reach(&self) -> Result<(), ExecutionsError> {
        self.world.linger(5..=40).await;
        if self.world.fault(20) {
            self.world.count("Step Functions unavailable");
            return Err(ExecutionsError::Unavailable("simulated".into()));
        }
        Ok(())
    }

    /// Delivers SendTaskSuccess. Output that is not JSON fails the state.
    fn deliver(&self, token: &TaskToken, output: &str) -> StateEnd {
        let opened = token.as_sealed().map(TaskToken::of_record);
        let opened = opened.and_then(Result::ok);
        let token = opened.as_ref().unwrap_or(token);
        let Some(state) = locked(&self.world.cloud).states.remove(token) else {
            return StateEnd::NotWaiting;
        };
        let output = serde_json::from_str::<Value>(output)
            .map_err(|error| Failure::new("States.Runtime", &error.to_string()));
        if let Ok(output) = &output {
            witness::woken(&self.world, &state.execution, output);
        }
        state.answer.put(output);
        StateEnd::Ended
    }
}

impl Executions for SimExecutions {
    async fn running(&self, _: &str) -> Result<Vec<Execution>, ExecutionsError> {
        Err(ExecutionsError::Denied(
            "no function lists executions in this world".into(),
        ))
    }

    /// Eventually consistent: an old state may be shown for a while.
    async fn describe(
        &self,
        arn: &ExecutionArn,
    ) -> Result<Option<ExecutionDescription>, ExecutionsError> {
        self.look().await?;
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
            self.world.shows_old(arn);
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
        let lags = |since| {
            let lags = stale && now < since + LAG;
            if lags && now >= since + SEEN_THROUGH {
                self.world.shows_old(arn);
            }
            lags
        };
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
        self.look().await?;
        let cloud = locked(&self.world.cloud);
        let row = cloud.executions.get(arn);
        Ok(row.is_some_and(|row| names(&row.story.input, lock)))
    }

    /// Returns none: the states of the user's workflow are its work here, and run no task.
    async fn failed_starts(&self, _: &ExecutionArn) -> Result<Vec<FailedStart>, ExecutionsError> {
        self.look().await?;
        Ok(Vec::new())
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

    async fn start_of(&self, _: &ExecutionArn) -> Result<Option<Start>, ExecutionsError> {
        Err(no_operator())
    }

    async fn check_start(&self, _: &Start, _: &LockKey) -> Result<bool, ExecutionsError> {
        Err(no_operator())
    }

    async fn start(&self, _: &Start, _: &str) -> Result<ExecutionArn, ExecutionsError> {
        Err(no_operator())
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
        self.world.count(bill::SENDS);
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
        let end = self.deliver(token, output);
        if end == StateEnd::Ended && self.world.fault(50) {
            self.world.count("wake-ups twice");
            return Ok(self.deliver(token, output));
        }
        Ok(end)
    }
}

fn no_operator() -> ExecutionsError {
    ExecutionsError::Denied("no operator starts a run in this world".into())
}
