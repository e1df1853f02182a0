//! Step Functions: executions begin and end, states wait, answers get lost.

use super::{ExecutionRow, WaitingState, stop_task};
use crate::engine::{JobId, locked};
use crate::reaper;
use crate::slot::Slot;
use crate::world::World;
use lockstep::domain::{HolderId, LockKey, TaskToken};
use lockstep::executions::{ExecutionArn, ExecutionEnd};
use serde_json::Value;
use std::sync::Arc;

/// An execution begins. `job` is what carries it out.
pub(crate) fn begin(world: &Arc<World>, arn: &ExecutionArn, lock: &LockKey, job: JobId) {
    let row = ExecutionRow {
        lock: lock.clone(),
        started: world.now(),
        ended: None,
        redriven: None,
        job,
        worked: false,
    };
    locked(&world.cloud).executions.insert(arn.clone(), row);
    reaper::execution_changed(world, arn, lock, "RUNNING");
}

/// An execution that has ended goes on.
pub(crate) fn begin_again(world: &Arc<World>, arn: &ExecutionArn, job: JobId) {
    let now = world.now();
    let mut cloud = locked(&world.cloud);
    let Some(row) = cloud.executions.get_mut(arn) else {
        return;
    };
    row.ended = None;
    row.redriven = Some(now);
    row.job = job;
    let lock = row.lock.clone();
    drop(cloud);
    world.count("redriven");
    world.note(short(arn), format_args!("is redriven"));
    reaper::execution_changed(world, arn, &lock, "RUNNING");
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
    let lock = row.lock.clone();
    cloud.states.retain(|_, state| state.execution != *arn);
    drop(cloud);
    world.note(short(arn), format_args!("{how}"));
    reaper::execution_changed(world, arn, &lock, how.as_str());
    true
}

/// An execution is ended from outside, wherever it is. Its tasks are stopped as well as Step
/// Functions can.
pub(crate) fn abort(world: &Arc<World>, arn: &ExecutionArn, how: ExecutionEnd) {
    if !end(world, arn, how) {
        return;
    }
    let holder = HolderId::new(arn.as_str()).expect("an ARN is a holder");
    let cloud = locked(&world.cloud);
    let job = cloud.executions.get(arn).map(|row| row.job);
    let tasks: Vec<_> = cloud
        .live_tasks(&holder)
        .map(|(arn, _)| arn.clone())
        .collect();
    drop(cloud);
    job.into_iter().for_each(|job| world.engine.kill(job));
    for task in tasks {
        if world.chance(if world.is_calm() { 100 } else { 400 }) {
            world.count("tasks left behind");
            continue;
        }
        let later = Arc::clone(world);
        world.spawn(async move {
            later.linger(100..=3000).await;
            stop_task(&later, &task, "execution ended");
        });
    }
}

/// A state of `execution` begins to wait. Its answer comes through the slot.
pub(crate) fn open_state(world: &Arc<World>, execution: &ExecutionArn) -> (TaskToken, Slot<Value>) {
    let number = world.number(0..=u64::from(u32::MAX));
    let mut cloud = locked(&world.cloud);
    let text = format!("{}-{number:08x}-{}", short(execution), cloud.states.len());
    let token = TaskToken::new(text).expect("a valid token");
    let answer = Slot::new();
    let state = WaitingState {
        execution: execution.clone(),
        answer: answer.clone(),
    };
    cloud.states.insert(token.clone(), state);
    (token, answer)
}

/// The state of `token` is over, with or without an answer.
pub(crate) fn close_state(world: &Arc<World>, token: &TaskToken) {
    locked(&world.cloud).states.remove(token);
}

/// The last part of an ARN.
pub(crate) fn short(arn: &ExecutionArn) -> &str {
    arn.as_str().rsplit(':').next().unwrap_or_default()
}
