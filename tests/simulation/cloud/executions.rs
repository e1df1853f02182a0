//! Step Functions: executions begin and end, states wait, answers get lost.

use super::{ExecutionRow, WaitingState};
use crate::engine::{JobId, locked};
use crate::invoke::Failure;
use crate::reaper;
use crate::slot::Slot;
use crate::witness;
use crate::workflow::Story;
use crate::world::World;
use lockstep::domain::{ExecutionArn, ExecutionEnd, TaskToken};
use serde_json::Value;
use std::sync::Arc;

/// An execution begins.
pub(crate) fn begin(world: &Arc<World>, arn: &ExecutionArn, row: ExecutionRow) {
    locked(&world.cloud).executions.insert(arn.clone(), row);
    reaper::execution_changed(world, arn, "RUNNING");
}

/// An execution that has ended goes on.
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
    world.note(short(arn), format_args!("is redriven"));
    reaper::execution_changed(world, arn, "RUNNING");
}

/// Whether an execution has ended, and not well.
pub(crate) fn has_failed(world: &World, arn: &ExecutionArn) -> bool {
    let cloud = locked(&world.cloud);
    let ended = cloud.executions.get(arn).and_then(|row| row.ended);
    ended.is_some_and(|(_, how)| how != ExecutionEnd::Succeeded)
}

/// An execution comes to its end.
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
    world.note(short(arn), format_args!("{how}"));
    reaper::execution_changed(world, arn, how.as_str());
    true
}

/// An execution is ended from outside, wherever it is. What its states wait for is given up: a task
/// is stopped as well as Step Functions can.
pub(crate) fn abort(world: &Arc<World>, arn: &ExecutionArn, how: ExecutionEnd) {
    if !end(world, arn, how) {
        return;
    }
    let job = locked(&world.cloud).executions.get(arn).map(|row| row.job);
    job.into_iter().for_each(|job| world.engine.kill(job));
}

/// A state that waits for its task token, until this is dropped.
pub(crate) struct OpenState {
    world: Arc<World>,
    pub(crate) token: TaskToken,
    pub(crate) answer: Slot<Result<Value, Failure>>,
}

impl OpenState {
    /// A state of `execution` begins to wait.
    pub(crate) fn of(world: &Arc<World>, execution: &ExecutionArn) -> Self {
        let mut cloud = locked(&world.cloud);
        cloud.tokens += 1;
        let text = format!("{}-token-{}", short(execution), cloud.tokens);
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

/// The last part of an ARN.
pub(crate) fn short(arn: &ExecutionArn) -> &str {
    arn.as_str().rsplit(':').next().unwrap_or_default()
}
