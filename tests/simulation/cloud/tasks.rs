//! ECS: tasks start late, work, die, and take their time to stop.

use super::{TaskRow, TaskStatus};
use crate::engine::locked;
use crate::reaper;
use crate::resource;
use crate::slot::{First, Slot, race};
use crate::world::World;
use lockstep::domain::{FencingToken, HolderId, LockKey, Work};
use lockstep::tasks::task_group;
use std::sync::Arc;

/// What the container of a task does.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// How long it works, in milliseconds.
    pub(crate) length: u64,
    /// What it exits with if nobody disturbs it.
    pub(crate) exit_code: i64,
    /// How long it takes to stop, in milliseconds.
    pub(crate) stopping: u64,
    /// Whether it goes on when the guarded resource refuses it.
    pub(crate) deaf: bool,
}

/// Starts a task. Lists show it after a while.
pub(crate) fn run_task(
    world: &Arc<World>,
    lock: &LockKey,
    holder: &HolderId,
    token: FencingToken,
    batch: Batch,
) -> String {
    let lag = if world.fault(100) { 1500 } else { 0 };
    let mut cloud = locked(&world.cloud);
    let arn = format!(
        "arn:aws:ecs:eu-west-1:1:task/batch/{:04}",
        cloud.tasks.len()
    );
    let row = TaskRow {
        lock: lock.clone(),
        holder: holder.clone(),
        token,
        group: task_group(lock, holder),
        work: place(),
        status: TaskStatus::Pending,
        version: 1,
        listed: world.now() + lag,
        started: None,
        stopped: None,
        exit_code: None,
        signal: Slot::new(),
        over: Slot::new(),
    };
    let signal = row.signal.clone();
    cloud.tasks.insert(arn.clone(), row);
    drop(cloud);
    world.spawn(live(Arc::clone(world), arn.clone(), batch, signal));
    arn
}

/// Where all tasks of this world run.
pub(crate) fn place() -> Work {
    Work {
        cluster: "batch".into(),
        family: Some("job".into()),
    }
}

/// Tells a task to stop.
pub(crate) fn stop_task(world: &World, arn: &str, why: &str) {
    let cloud = locked(&world.cloud);
    if let Some(row) = cloud.tasks.get(arn) {
        row.signal.put(());
        let name = short(arn);
        drop(cloud);
        world.note(name, format_args!("told to stop: {why}"));
    }
}

/// Waits until a task is over; its exit code.
pub(crate) async fn await_task(world: &World, arn: &str) -> i64 {
    let over = locked(&world.cloud)
        .tasks
        .get(arn)
        .map(|row| row.over.clone());
    match over {
        Some(over) => over.wait().await,
        None => 1,
    }
}

async fn live(world: Arc<World>, arn: String, batch: Batch, signal: Slot<()>) {
    world.linger(500..=4000).await;
    change(&world, &arn, TaskStatus::Running, None);
    let worked = race(work(&world, &arn, &batch), signal.wait()).await;
    let exit_code = match worked {
        First::Left(code) => code,
        First::Right(()) => {
            change(&world, &arn, TaskStatus::Stopping, None);
            // It works on until it is killed: the worst that a container can do.
            let rest = race(work(&world, &arn, &batch), world.sleep(batch.stopping)).await;
            matches!(rest, First::Right(())).then(|| world.count("tasks killed"));
            143
        }
    };
    change(&world, &arn, TaskStatus::Stopped, Some(exit_code));
}

/// Writes to the guarded resource about once a second.
async fn work(world: &Arc<World>, arn: &str, batch: &Batch) -> i64 {
    let end = world.now() + batch.length;
    while world.now() < end {
        let row = locked(&world.cloud)
            .tasks
            .get(arn)
            .map(|r| (r.lock.clone(), r.token));
        let Some((lock, token)) = row else { return 1 };
        let taken = resource::write(world, &lock, token, short(arn));
        if !taken && !batch.deaf {
            return 1;
        }
        world.linger(500..=1500).await;
    }
    batch.exit_code
}

fn change(world: &Arc<World>, arn: &str, status: TaskStatus, exit_code: Option<i64>) {
    let now = world.now();
    let mut cloud = locked(&world.cloud);
    let Some(row) = cloud.tasks.get_mut(arn) else {
        return;
    };
    row.status = status;
    row.version += 1;
    match status {
        TaskStatus::Running => row.started = Some(now),
        TaskStatus::Stopped => {
            row.stopped = Some(now);
            row.exit_code = exit_code;
            row.over.put(exit_code.unwrap_or(1));
        }
        TaskStatus::Pending | TaskStatus::Stopping => {}
    }
    let holder = row.holder.clone();
    let event = reaper::task_event(arn, row);
    drop(cloud);
    let of = holder.as_str().rsplit(':').next().unwrap_or_default();
    let exit = exit_code
        .map(|code| format!(" with {code}"))
        .unwrap_or_default();
    world.note(
        short(arn),
        format_args!("{}{exit}, task of {of}", status.name()),
    );
    reaper::deliver(world, event, "task event");
}

fn short(arn: &str) -> &str {
    &arn[arn.len() - 9..]
}
