//! The true state of executions and tasks, whatever an API shows of them.

mod child;
mod executions;
mod run_task;
mod tasks;

pub(crate) use child::{describe_child, start_execution};
pub(crate) use executions::{OpenState, SimExecutions, abort, begin, begin_again, end, has_failed};
pub(crate) use run_task::{Caller, TaskRequest, begin_task, run_task};
pub(crate) use tasks::{Batch, SimTasks, stop_task};

use crate::engine::{JobId, Slot, locked};
use crate::invoke::Failure;
use crate::pairs::Event;
use crate::trial::Trial;
use crate::weather::Trouble;
use crate::workflow::Story;
use crate::world::World;
use lockstep::domain::{ExecutionArn, ExecutionEnd, FencingToken, HolderId, LockKey, TaskToken};
use serde_json::Value;
use std::collections::BTreeMap;

/// How long a description takes at most, in milliseconds: longer than all checks of a call may take.
const SLOW: u64 = 9000;

/// The true state of Step Functions and ECS.
#[derive(Default)]
pub(crate) struct Cloud {
    pub(crate) executions: BTreeMap<ExecutionArn, ExecutionRow>,
    pub(crate) states: BTreeMap<TaskToken, WaitingState>,
    pub(crate) tasks: BTreeMap<String, TaskRow>,
    /// How many states have waited for a task token.
    pub(crate) tokens: u64,
}

/// An execution.
pub(crate) struct ExecutionRow {
    pub(crate) lock: LockKey,
    pub(crate) started: u64,
    pub(crate) ended: Option<(u64, ExecutionEnd)>,
    /// When the execution was last started again after its end.
    pub(crate) redriven: Option<u64>,
    /// The end from which the execution was last redriven.
    pub(crate) end_before: Option<(u64, ExecutionEnd)>,
    pub(crate) job: JobId,
    pub(crate) story: Story,
    /// Whether the execution is ended from outside while it releases.
    pub(crate) dies_releasing: bool,
}

/// A state that waits for its task token.
pub(crate) struct WaitingState {
    pub(crate) execution: ExecutionArn,
    pub(crate) answer: Slot<Result<Value, Failure>>,
}

/// An ECS task, or an execution that is the work of another.
pub(crate) struct TaskRow {
    pub(crate) lock: LockKey,
    pub(crate) holder: HolderId,
    /// The fencing token that its container was started with.
    pub(crate) token: FencingToken,
    /// What RunTask was called with; `None` for an execution.
    pub(crate) request: Option<TaskRequest>,
    pub(crate) now: TaskState,
    /// When RunTask was called.
    pub(crate) requested: u64,
    /// Since when lists show the task.
    pub(crate) listed: u64,
    /// Its states before, each with the time at which it ended.
    pub(crate) before: Vec<(u64, TaskState)>,
    /// Tells the container to stop.
    pub(crate) signal: Slot<()>,
    /// Gives the exit code to the state that waits for the end.
    pub(crate) over: Slot<i64>,
}

/// What DescribeTasks shows of a task.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TaskState {
    pub(crate) status: TaskStatus,
    pub(crate) version: u64,
    pub(crate) started: Option<u64>,
    pub(crate) stopped: Option<u64>,
    /// When its container exited.
    pub(crate) exited: Option<u64>,
    /// When ECS began to stop it, and under which `stopCode`.
    pub(crate) stopping: Option<(u64, &'static str)>,
    pub(crate) exit_code: Option<i64>,
}

impl TaskState {
    /// Returns the status of an execution in this state.
    pub(crate) fn execution_status(&self) -> &'static str {
        match (self.stopped, self.exit_code) {
            _ if self.aborted().is_some() => "ABORTED",
            (None, _) => "RUNNING",
            (Some(_), Some(0)) => "SUCCEEDED",
            (Some(_), _) => "FAILED",
        }
    }

    /// Returns when an execution in this state ended.
    pub(crate) fn execution_ended(&self) -> Option<u64> {
        self.aborted().or(self.stopped)
    }

    fn aborted(&self) -> Option<u64> {
        let stopping = self.stopping.filter(|(_, code)| *code == "UserInitiated");
        stopping.map(|(at, _)| at)
    }
}

impl TaskRow {
    /// Returns work that `execution` begins now, without a task; `None` if the execution does not
    /// exist.
    fn new(
        world: &World,
        cloud: &Cloud,
        execution: &ExecutionArn,
        token: Option<u64>,
    ) -> Option<Self> {
        Some(Self {
            lock: cloud.executions.get(execution)?.lock.clone(),
            holder: holder_of(execution),
            token: token.map_or(FencingToken::NONE, FencingToken::from_number),
            request: None,
            now: TaskState {
                version: 1,
                ..TaskState::default()
            },
            requested: world.now(),
            listed: world.now(),
            before: Vec::new(),
            signal: Slot::new(),
            over: Slot::new(),
        })
    }

    /// Returns the state of the task at `time`.
    pub(crate) fn at(&self, time: u64) -> TaskState {
        let before = self.before.iter().find(|(until, _)| time < *until);
        before.map_or(self.now, |(_, state)| *state)
    }
}

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TaskStatus {
    #[default]
    Pending,
    Running,
    Stopping,
    /// The containers have ended; the network interface still exists.
    Deprovisioning,
    Stopped,
}

impl TaskStatus {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Stopping => "STOPPING",
            Self::Deprovisioning => "DEPROVISIONING",
            Self::Stopped => "STOPPED",
        }
    }

    /// Returns whether the container works or may still begin to.
    pub(crate) const fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Running | Self::Stopping)
    }
}

/// Returns the holder that an execution is.
pub(crate) fn holder_of(execution: &ExecutionArn) -> HolderId {
    HolderId::new(execution.as_str()).expect("an ARN is a holder")
}

impl World {
    /// Returns whether `is` holds for the execution behind `holder`.
    pub(crate) fn execution_is(
        &self,
        holder: &HolderId,
        is: impl Fn(&ExecutionRow) -> bool,
    ) -> bool {
        locked(&self.cloud).execution_of(holder).is_some_and(is)
    }
}

impl Cloud {
    /// Returns the execution behind `holder`.
    pub(crate) fn execution_of(&self, holder: &HolderId) -> Option<&ExecutionRow> {
        self.executions.get(&ExecutionArn::of_holder(holder)?)
    }

    /// Returns whether the execution behind `holder` runs; `None` if the holder is no execution.
    pub(crate) fn runs(&self, holder: &HolderId) -> Option<bool> {
        let arn = ExecutionArn::of_holder(holder)?;
        let row = self.executions.get(&arn);
        Some(row.is_some_and(|row| row.ended.is_none()))
    }

    /// Returns the tasks of `holder` whose containers have not ended.
    pub(crate) fn live_tasks<'a>(
        &'a self,
        holder: &'a HolderId,
    ) -> impl Iterator<Item = (&'a String, &'a TaskRow)> {
        let live = |row: &TaskRow| row.holder == *holder && row.now.status.is_live();
        self.tasks.iter().filter(move |(_, row)| live(row))
    }

    /// Returns whether an execution still runs or a task has not stopped.
    pub(crate) fn is_busy(&self) -> bool {
        let runs = self.executions.values().any(|row| row.ended.is_none());
        let mut tasks = self.tasks.values();
        runs || tasks.any(|row| row.now.status != TaskStatus::Stopped)
    }
}

/// Waits for a description, which may take seconds. Returns the trouble that keeps it away.
async fn look(world: &World) -> Option<Trouble> {
    if world.tries(Trial::SlowLooks) && world.fault(15) {
        world.count("descriptions that take seconds");
        world.linger(1000..=SLOW).await;
    }
    let trouble = world.hides()?;
    let (what, event) = match trouble {
        Trouble::Unanswered => ("requests for evidence that fail", Event::Unanswered),
        Trouble::HiddenForHours => ("requests for evidence that is hidden", Event::HiddenHours),
        _ => ("requests for evidence that is hidden", Event::HiddenMinutes),
    };
    world.has_fault();
    world.count(what);
    world.happens(event, None);
    Some(trouble)
}
