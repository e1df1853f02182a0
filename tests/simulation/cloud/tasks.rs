//! ECS: tasks start late, work, die, and take time to stop. Its API shows them late.

use super::{TaskRow, TaskStatus, look};
use crate::engine::{First, Slot, locked, race};
use crate::pairs::Event;
use crate::weather::Trouble;
use crate::world::{self, World};
use crate::{reaper, resource, witness};
use lockstep::domain::{Container, Task, TaskArn, TaskSet, Timestamp};
use lockstep::tasks::{ProtectionAnswer, Tasks, TasksError};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the container of a task does, as its command says.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Batch {
    /// How long it works, in milliseconds.
    pub(crate) length: u64,
    /// Its exit code unless it is stopped.
    pub(crate) exit_code: i64,
    /// How long it takes to stop, in milliseconds.
    pub(crate) stopping: u64,
    /// Whether it works on when the guarded resource refuses it.
    pub(crate) deaf: bool,
}

/// Tells a task to stop.
pub(crate) fn stop_task(world: &World, arn: &str, why: &str) {
    let mut cloud = locked(&world.cloud);
    if let Some(row) = cloud.tasks.get_mut(arn) {
        let stopping = &mut row.now.stopping;
        stopping.get_or_insert((world.now(), "UserInitiated"));
        row.signal.put(());
        let name = short(arn);
        drop(cloud);
        world.note(name, format_args!("ordered to stop: {why}"));
    }
}

/// Plays the life of a task.
pub(super) async fn live(world: Arc<World>, arn: String, batch: Batch, signal: Slot<()>) {
    world.linger(500..=4000).await;
    change(&world, &arn, TaskStatus::Running, None);
    let exit_code = match work_until(&world, &arn, &batch, &signal).await {
        Some(code) => code,
        None => {
            change(&world, &arn, TaskStatus::Stopping, None);
            ignores(&world, &arn, &batch);
            // The container works on until it is killed: the worst that it can do.
            let rest = race(work(&world, &arn, &batch), world.sleep(batch.stopping)).await;
            matches!(rest, First::Right(())).then(|| world.count("tasks killed"));
            // A container that handles SIGTERM may exit with 0 although its work is half done.
            if world.fault(150) { 0 } else { 143 }
        }
    };
    exits(&world, &arn);
    // ECS learns of the exit a moment later. A StopTask in between sets the stop code.
    world.linger(0..=1000).await;
    change(&world, &arn, TaskStatus::Deprovisioning, Some(exit_code));
    if world.fault(100) {
        world.count("tasks that stop late");
        world.linger(10_000..=60_000).await;
    } else {
        world.linger(0..=2000).await;
    }
    change(&world, &arn, TaskStatus::Stopped, Some(exit_code));
}

/// Counts a container that works on for more than five seconds after the order to stop.
pub(super) fn ignores(world: &World, arn: &str, batch: &Batch) {
    let holder = locked(&world.cloud)
        .tasks
        .get(arn)
        .map(|row| row.holder.clone());
    if let Some(holder) = holder.filter(|_| batch.stopping > 5000) {
        world.count("orders to stop ignored");
        world.happens_to(Event::Deaf, &holder);
    }
}

pub(super) fn exits(world: &World, arn: &str) {
    if let Some(row) = locked(&world.cloud).tasks.get_mut(arn) {
        row.now.exited = Some(world.now());
    }
}

/// Works to the end. Returns the exit code, or `None` if the order to stop comes first. An exit
/// with 0 is the success of the work.
pub(super) async fn work_until(
    world: &Arc<World>,
    arn: &str,
    batch: &Batch,
    signal: &Slot<()>,
) -> Option<i64> {
    let First::Left(code) = race(work(world, arn, batch), signal.wait()).await else {
        return None;
    };
    let cloud = locked(&world.cloud);
    let holder = cloud.tasks.get(arn).map(|row| row.holder.clone());
    drop(cloud);
    if let Some(holder) = holder.filter(|_| code == 0) {
        witness::succeeded(world, &holder);
    }
    Some(code)
}

/// Writes to the guarded resource about once a second. Returns the exit code.
pub(super) async fn work(world: &Arc<World>, arn: &str, batch: &Batch) -> i64 {
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

pub(super) fn change(world: &Arc<World>, arn: &str, status: TaskStatus, exit_code: Option<i64>) {
    let now = world.now();
    let mut cloud = locked(&world.cloud);
    let Some(row) = cloud.tasks.get_mut(arn) else {
        return;
    };
    row.before.push((now, row.now));
    let state = &mut row.now;
    state.status = status;
    state.version += 1;
    state.exit_code = exit_code;
    if exit_code.is_some() {
        let code = "EssentialContainerExited";
        state.stopping.get_or_insert((now, code));
    }
    match status {
        TaskStatus::Running => state.started = Some(now),
        TaskStatus::Stopped => {
            state.stopped = Some(now);
            row.over.put(exit_code.unwrap_or(1));
        }
        TaskStatus::Pending | TaskStatus::Stopping | TaskStatus::Deprovisioning => {}
    }
    let holder = row.holder.clone();
    let event = match &row.request {
        Some(request) => reaper::task_event(arn, row, request),
        None => reaper::child_event(arn, row),
    };
    drop(cloud);
    let of = world::short(holder.as_str());
    let exit = exit_code.map_or_else(String::new, |code| format!(" with {code}"));
    let what = format_args!("{}{exit}, task of {of}", status.name());
    world.note(short(arn), what);
    reaper::deliver(world, event, "task event");
}

fn short(arn: &str) -> &str {
    &arn[arn.len() - 9..]
}

/// How far DescribeTasks may be behind the events, in milliseconds.
const LAG: u64 = 5000;

/// ECS as its API shows it.
#[derive(Clone)]
pub(crate) struct SimTasks(pub(crate) Arc<World>);

impl SimTasks {
    /// Reaches the API for a call that only describes, which fails while evidence is hidden.
    async fn look(&self) -> Result<(), TasksError> {
        self.reach().await?;
        match look(&self.0).await {
            None => Ok(()),
            Some(Trouble::Unanswered) => Err(TasksError::Unavailable("simulated".into())),
            Some(_) => Err(TasksError::Denied("simulated".into())),
        }
    }

    async fn reach(&self) -> Result<(), TasksError> {
        self.0.linger(5..=40).await;
        if self.0.fault(20) {
            self.0.count("ECS unavailable");
            return Err(TasksError::Unavailable("simulated".into()));
        }
        Ok(())
    }

    /// Returns the time whose state the answer shows: ECS is eventually consistent.
    fn shown(&self) -> u64 {
        let now = self.0.now();
        if self.0.fault(100) {
            self.0.count("old answers of ECS");
            return now - self.0.number(0..=LAG);
        }
        now
    }
}

impl Tasks for SimTasks {
    async fn of_group(&self, work: &TaskSet, group: &str) -> Result<Vec<Task>, TasksError> {
        self.look().await?;
        let (now, shown) = (self.0.now(), self.shown());
        let cloud = locked(&self.0.cloud);
        let of_group = cloud
            .tasks
            .iter()
            .filter(|(_, row)| is_at(row, work, group))
            .filter(|(_, row)| row.listed <= now);
        Ok(of_group.map(|(arn, row)| seen(arn, row, shown)).collect())
    }

    async fn describe(&self, task: &TaskArn) -> Result<Option<Task>, TasksError> {
        self.look().await?;
        let shown = self.shown();
        let cloud = locked(&self.0.cloud);
        let found = cloud.tasks.get_key_value(task.as_str());
        Ok(found.map(|(arn, row)| seen(arn, row, shown)))
    }

    async fn stop(&self, _: &str, arn: &str, why: &str) -> Result<(), TasksError> {
        self.reach().await?;
        self.0.count("tasks stopped by Lockstep");
        witness::stops_task(&self.0, arn);
        stop_task(&self.0, arn, why);
        Ok(())
    }

    /// Refuses: no task here belongs to a service.
    async fn protect(&self, _: &TaskArn, _: Option<u16>) -> Result<ProtectionAnswer, TasksError> {
        self.reach().await?;
        Ok(ProtectionAnswer::Refused {
            reason: "TASK_NOT_VALID".into(),
            detail: "not a task of a service".into(),
        })
    }
}

/// Returns whether a search for `work` and `group` finds the task. ListTasks takes a cluster by its
/// name or its ARN, and narrows by family.
fn is_at(row: &TaskRow, work: &TaskSet, group: &str) -> bool {
    let cluster = work.cluster.rsplit('/').next();
    let family = work.family.as_deref();
    row.request.as_ref().is_some_and(|request| {
        cluster == Some(&request.cluster)
            && family.is_none_or(|name| name == request.family())
            && request.group() == group
    })
}

fn seen(arn: &str, row: &TaskRow, at: u64) -> Task {
    let requested = row.requested;
    let (row, why) = (row.at(at), "Essential container in task exited");
    let container = Container {
        name: "job".into(),
        runtime_id: row.started.map(|at| format!("{at}-1")),
        exit_code: row.exit_code,
        reason: None,
    };
    Task {
        arn: arn.to_owned(),
        version: row.version,
        stopped: row.status == TaskStatus::Stopped,
        containers: vec![container],
        stopped_reason: row.stopped.map(|_| why.into()),
        ended_by_itself: Task::is_own_end(
            row.stopping.map(|(_, code)| code),
            row.exited.map(Timestamp::from_millis),
            row.stopping.map(|(at, _)| Timestamp::from_millis(at)),
        ),
        created_at: Some(Timestamp::from_millis(requested)),
        started_at: row.started.map(Timestamp::from_millis),
        stopped_at: row.stopped.map(Timestamp::from_millis),
    }
}
