//! Random facts about a holder, and the answers of Step Functions and ECS that follow from them. The facts
//! stay the same until a stop changes them.

use lockstep::domain::{
    Acquire, Container, ExecutionArn, ExecutionDescription, ExecutionEnd, ExecutionState,
    FencingToken, HolderId, Lease, LockKey, StateMachineArn, Task, TaskSet, Timestamp, Work,
};
use lockstep::recovery::{
    CheckAnswer, ExecutionObservation, Ownership, Request, TaskObservation, WorkObservation,
};
use lockstep::store::memory::LockItems;
use lockstep::testing;
use lockstep_tests::generate::{at, items};
use proptest::option;
use proptest::prelude::{Just, Strategy};
use proptest::prop_oneof;

const EXECUTION: &str = "arn:aws:states:eu-west-1:123456789012:execution:report:run";
const REPLACER: &str = "arn:aws:states:eu-west-1:123456789012:execution:report:next";
const MACHINE: &str = "arn:aws:states:eu-west-1:123456789012:stateMachine:etl";

/// What Step Functions or ECS shows of an execution or a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Runs,
    Ended(ExecutionEnd, Timestamp),
    Unknown,
    Hidden,
}

/// The facts about the holder, its work and the run that replaces it.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    execution: Seen,
    work: Seen,
    replacer: Seen,
    ownership: Seen,
    /// The number of sweeps after which stopped work has ended; `None` if it was not stopped.
    stops_in: Option<u32>,
}

pub(super) fn facts() -> impl Strategy<Value = Facts> {
    let ownership =
        prop_oneof![6 => Just(Seen::Runs), 1 => Just(Seen::Unknown), 1 => Just(Seen::Hidden)];
    (seen(), seen(), seen(), ownership).prop_map(|(execution, work, replacer, ownership)| Facts {
        execution,
        work,
        replacer,
        ownership,
        stops_in: None,
    })
}

fn seen() -> impl Strategy<Value = Seen> {
    let end = prop_oneof![
        Just(ExecutionEnd::Succeeded),
        Just(ExecutionEnd::Failed),
        Just(ExecutionEnd::TimedOut),
        Just(ExecutionEnd::Aborted),
    ];
    prop_oneof![
        3 => Just(Seen::Runs),
        3 => (end, 0..125_000_u64).prop_map(|(end, millis)| Seen::Ended(end, at(millis))),
        1 => Just(Seen::Unknown),
        2 => Just(Seen::Hidden),
    ]
}

/// Returns random locks and the time at which they are checked. The first holder of each is the execution
/// that is judged.
pub(super) fn scenes() -> impl Strategy<Value = (LockItems, Timestamp)> {
    let work = prop_oneof![
        2 => Just(Some(tasks())),
        2 => Just(Some(Work::Workflow(machine()))),
        1 => Just(Some(Work::States)),
        1 => Just(None),
    ];
    (
        items(),
        work,
        option::weighted(0.2, Just(testing::holder(REPLACER))),
        0..250_000_u64,
    )
        .prop_map(|(mut items, work, replaced_by, millis)| {
            name(&mut items, work, replaced_by);
            (items, at(millis))
        })
}

fn tasks() -> Work {
    Work::Tasks(TaskSet {
        container: Some("main".into()),
        ..testing::work("c")
    })
}

fn machine() -> StateMachineArn {
    StateMachineArn::new(MACHINE).expect("a valid ARN")
}

/// Returns the holder that is judged.
pub(super) fn holder() -> HolderId {
    testing::holder(EXECUTION)
}

pub(super) fn lock() -> LockKey {
    LockKey::new("lock").expect("a valid lock")
}

/// Makes the first holder the execution that is judged, with `work`, and puts `replaced_by` at the front of
/// the queue.
fn name(items: &mut LockItems, work: Option<Work>, replaced_by: Option<HolderId>) {
    let Some(record) = &mut items.record else {
        return;
    };
    let Some((first, mut lease)) = record.holders.pop_first() else {
        return;
    };
    lease.work = work;
    lease.redrives = 0;
    lease.exit.replaced_by = replaced_by.clone();
    if let Some(run) = items
        .runs
        .values_mut()
        .find(|run| run.holder == first && run.token == lease.token)
    {
        run.holder = holder();
    }
    record.holders.insert(holder(), lease);
    // A run that replaces the holder waits at the front of the queue.
    if let Some(by) = replaced_by {
        let waiter = Acquire::new(testing::terms(by)).waiter(at(0));
        record.front_ticket = record.front_ticket.ahead();
        record.queue.insert(waiter.id(), record.front_ticket);
        items.waiters.insert(waiter.id(), waiter);
    }
}

/// Returns the lease of the holder that is judged.
pub(super) fn lease_of(items: &LockItems) -> Option<Lease> {
    let record = items.record.as_ref()?;
    record.holders.get(&holder()).cloned()
}

pub(super) fn is_hidden(facts: &Facts) -> bool {
    facts.execution == Seen::Hidden
}

impl Facts {
    pub(super) fn is_proven(&self) -> bool {
        self.ownership == Seen::Runs
    }

    pub(super) fn hides_replacer(&self) -> bool {
        self.replacer == Seen::Hidden
    }

    /// Returns the answer of the services to a request that reads.
    pub(super) fn answer(&self, items: &LockItems, request: &Request) -> CheckAnswer {
        match request {
            Request::DescribeExecution(arn) if arn.as_str() == EXECUTION => {
                CheckAnswer::Execution(observed(self.execution))
            }
            Request::DescribeExecution(_) => CheckAnswer::Execution(observed(self.replacer)),
            Request::DescribeTask(_) => CheckAnswer::Task(TaskObservation::Unknown),
            Request::ListTasks(..) => CheckAnswer::Work(listed(self.work)),
            Request::DescribeWork(arn) => CheckAnswer::Work(child(arn, self.work)),
            Request::FindStarted(_) => CheckAnswer::Work(started(self.work)),
            Request::ProveOwnership(_) => CheckAnswer::Ownership(match self.ownership {
                Seen::Runs => Ownership::Proven,
                Seen::Hidden => Ownership::Hidden("no answer".into()),
                _ => Ownership::Unproven,
            }),
            Request::LoadWaiter(id) => CheckAnswer::Waiter(items.waiters.get(id).cloned()),
            Request::LoadLease(_, token) => CheckAnswer::Lease(current(items, *token)),
            _ => CheckAnswer::Done,
        }
    }

    /// Carries out a stop, and returns its answer. The execution ends at once, its work one sweep later.
    /// Returns `None` for any other request.
    pub(super) fn done(&mut self, request: &Request, now: Timestamp) -> Option<CheckAnswer> {
        match request {
            Request::StopExecution(arn, ..) if arn.as_str() == EXECUTION => {
                if self.execution == Seen::Runs {
                    self.execution = Seen::Ended(ExecutionEnd::Aborted, now);
                }
            }
            Request::StopExecution(..) | Request::StopTask(..) => {
                self.stops_in.get_or_insert(1);
            }
            _ => return None,
        }
        Some(CheckAnswer::Accepted(true))
    }

    /// Lets the time to the next sweep pass. Stopped work ends.
    pub(super) fn pass(&mut self) {
        if self.stops_in.take_if(|left| *left == 0).is_some() && self.work == Seen::Runs {
            self.work = Seen::Ended(ExecutionEnd::Aborted, at(0));
        }
        self.stops_in = self.stops_in.map(|left| left.saturating_sub(1));
    }
}

fn current(items: &LockItems, token: FencingToken) -> Option<Lease> {
    lease_of(items).filter(|lease| lease.token == token)
}

fn described(seen: Seen) -> Option<ExecutionDescription> {
    match seen {
        Seen::Runs => Some(ExecutionState::Running.into()),
        Seen::Ended(end, at) => Some(ExecutionDescription {
            state: ExecutionState::Ended(end),
            redrives: 0,
            stopped_at: Some(at),
        }),
        Seen::Unknown | Seen::Hidden => None,
    }
}

fn observed(seen: Seen) -> ExecutionObservation {
    match (seen, described(seen)) {
        (_, Some(description)) => ExecutionObservation::Seen(description),
        (Seen::Hidden, _) => ExecutionObservation::Hidden("no answer".into()),
        _ => ExecutionObservation::Unknown,
    }
}

fn child(arn: &ExecutionArn, seen: Seen) -> WorkObservation {
    match seen {
        Seen::Hidden => WorkObservation::Hidden("no answer".into()),
        _ => WorkObservation::Execution(described(seen).map(|seen| (arn.clone(), seen))),
    }
}

fn task(stopped: Option<(ExecutionEnd, Timestamp)>) -> Task {
    let succeeded = stopped.is_some_and(|(end, _)| end == ExecutionEnd::Succeeded);
    Task {
        containers: vec![Container {
            name: "main".into(),
            runtime_id: None,
            exit_code: stopped.map(|_| if succeeded { 0 } else { 1 }),
            reason: None,
        }],
        ended_by_itself: succeeded,
        started_at: Some(at(0)),
        stopped_at: stopped.map(|(_, at)| at),
        ..testing::task(
            "arn:aws:ecs:eu-west-1:123456789012:task/c/1",
            stopped.is_some(),
        )
    }
}

fn listed(seen: Seen) -> WorkObservation {
    WorkObservation::Tasks(match seen {
        Seen::Runs => vec![task(None)],
        Seen::Ended(end, at) => vec![task(Some((end, at)))],
        Seen::Unknown => Vec::new(),
        Seen::Hidden => return WorkObservation::Hidden("no answer".into()),
    })
}

/// Returns that no task of the holder's own states may run, unless that is hidden.
fn started(seen: Seen) -> WorkObservation {
    match seen {
        Seen::Hidden => WorkObservation::Hidden("no answer".into()),
        _ => WorkObservation::States(Some(Vec::new())),
    }
}
