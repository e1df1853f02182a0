//! Random cases: one holder, what AWS shows of it, and when it is judged.

use crate::functions::{Functions, key};
use crate::scene::CLUSTER;
use lockstep::domain::{
    Call, Ending, EndingCause, ExecutionArn, ExecutionDescription, ExecutionEnd, ExecutionState,
    Exit, FencingToken, HolderId, Lease, LockRecord, Mode, Permits, Seconds, StalePolicy,
    StateMachineArn, Task, Timestamp, Waiter, Work, child_arn, task_group,
};
use lockstep::executions::ExecutionsError;
use lockstep::store::LockStore;
use lockstep::tasks::TasksError;
use lockstep::tasks::memory::TasksCall;
use lockstep::testing;
use proptest::option;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use std::time::Duration;

/// When the lease is granted, in milliseconds.
const GRANTED: u64 = 1_772_344_800_000;

/// One holder, what AWS shows of it, and when it is judged. Times are seconds after the grant.
#[derive(Clone, Debug)]
pub(super) struct Case {
    holder: Kind,
    pub(super) lease: Terms,
    execution: Seen,
    replacer: Seen,
    replacer_waits: Waits,
    owned: bool,
    tasks: Tasks,
    lock: Lock,
    pub(super) now: u32,
}

/// How many permits the lock has, what closes it, and until when it rests.
#[derive(Clone, Debug)]
struct Lock {
    permits: i64,
    mode: Closed,
    rests_until: u32,
}

/// When the replacer has registered, and until when it waits.
#[derive(Clone, Debug)]
struct Waits {
    since: u32,
    until: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Closed {
    Open,
    PausedUntil(Option<u32>),
    Frozen,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Execution,
    Task,
    Other,
}

#[derive(Clone, Debug)]
pub(super) struct Terms {
    renewed: u32,
    stale: StalePolicy,
    work: Option<WorkKind>,
    redrives: u32,
    called: Option<bool>,
    pub(super) replaced: bool,
    suspect: Option<u32>,
    ending: Option<(u32, EndingCause)>,
    run_until: Option<u32>,
    stalls_at: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum WorkKind {
    Tasks,
    Workflow,
    States,
}

/// What DescribeExecution shows. Of an execution that ended: its end, when it ended, and its number of
/// redrives.
#[derive(Clone, Debug)]
enum Seen {
    Unknown,
    Hidden,
    Running,
    Ended(ExecutionEnd, Option<u32>, u32),
}

/// What ECS shows of the tasks of the work or of the holder's own task: for each whether it is stopped.
#[derive(Clone, Debug)]
enum Tasks {
    Hidden,
    Seen(Vec<bool>),
}

fn seconds() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..130_u32, 1 => 3_600..3_800_u32, 1 => 7_990..8_100_u32]
}

fn seen() -> impl Strategy<Value = Seen> {
    let end = prop_oneof![
        Just(ExecutionEnd::Succeeded),
        Just(ExecutionEnd::Failed),
        Just(ExecutionEnd::Aborted),
        Just(ExecutionEnd::TimedOut),
    ];
    let ended = (end, option::of(seconds()), 0..2_u32);
    prop_oneof![
        1 => Just(Seen::Unknown),
        1 => Just(Seen::Hidden),
        3 => Just(Seen::Running),
        3 => ended.prop_map(|(end, at, redrives)| Seen::Ended(end, at, redrives)),
    ]
}

fn terms() -> impl Strategy<Value = Terms> {
    let stale = prop_oneof![
        Just(StalePolicy::Terminate),
        Just(StalePolicy::Yield),
        Just(StalePolicy::Hold),
    ];
    let work = prop_oneof![
        Just(WorkKind::Tasks),
        Just(WorkKind::Workflow),
        Just(WorkKind::States)
    ];
    let cause = prop_oneof![
        Just(EndingCause::Over),
        Just(EndingCause::Stopped),
        Just(EndingCause::Evicted("broken (by operator)".into())),
    ];
    let marks = (
        option::weighted(0.1, any::<bool>()),
        proptest::bool::weighted(0.2),
        option::of(60..200_u32),
        option::weighted(0.3, (0..130_u32, cause)),
    );
    let limit = || option::weighted(0.2, seconds());
    let limits = (limit(), limit());
    (0..60_u32, stale, option::of(work), 0..2_u32, marks, limits).prop_map(
        |(
            renewed,
            stale,
            work,
            redrives,
            (called, replaced, suspect, ending),
            (run_until, stalls_at),
        )| Terms {
            run_until,
            stalls_at,
            renewed,
            stale,
            work,
            redrives,
            called,
            replaced,
            suspect,
            ending,
        },
    )
}

fn lock() -> impl Strategy<Value = Lock> {
    let mode = prop_oneof![
        6 => Just(Closed::Open),
        1 => option::of(seconds()).prop_map(Closed::PausedUntil),
        1 => Just(Closed::Frozen),
    ];
    let rests_until = prop_oneof![4 => Just(0), 1 => seconds()];
    (prop_oneof![4 => Just(1), 1 => Just(2)], mode, rests_until).prop_map(
        |(permits, mode, rests_until)| Lock {
            permits,
            mode,
            rests_until,
        },
    )
}

pub(super) fn cases() -> impl Strategy<Value = Case> {
    let kind = prop_oneof![
        4 => Just(Kind::Execution),
        1 => Just(Kind::Task),
        1 => Just(Kind::Other),
    ];
    let tasks = prop_oneof![
        1 => Just(Tasks::Hidden),
        5 => proptest::collection::vec(any::<bool>(), 0..3).prop_map(Tasks::Seen),
    ];
    let waits = (prop_oneof![Just(0), seconds()], option::of(seconds()));
    let replacer = (
        seen(),
        waits.prop_map(|(since, until)| Waits { since, until }),
    );
    (
        kind,
        terms(),
        seen(),
        replacer,
        proptest::bool::weighted(0.8),
        tasks,
        lock(),
        seconds(),
    )
        .prop_map(
            |(holder, lease, execution, replacer, owned, tasks, lock, now)| {
                Case {
                    holder,
                    lease,
                    execution,
                    replacer: replacer.0,
                    replacer_waits: replacer.1,
                    owned,
                    tasks,
                    lock,
                    now,
                }
                .until_now()
            },
        )
}

pub(super) fn after(seconds: u32) -> Timestamp {
    Timestamp::from_millis(GRANTED).plus(Seconds::of(seconds))
}

fn arn(name: &str) -> ExecutionArn {
    let arn = format!("arn:aws:states:eu-west-1:123456789012:execution:report:{name}");
    ExecutionArn::new(arn).expect("an ARN")
}

const MACHINE: &str = "arn:aws:states:eu-west-1:123456789012:stateMachine:etl";
const TASK: &str = "arn:aws:ecs:eu-west-1:123456789012:task/batch/own";

impl Case {
    /// Returns the case without what would happen only after `now`.
    fn until_now(mut self) -> Self {
        let now = self.now;
        let lease = &mut self.lease;
        lease.renewed = lease.renewed.min(now);
        lease.suspect = lease.suspect.map(|since| since.min(now));
        if let Some((since, _)) = &mut lease.ending {
            *since = (*since).min(now);
        }
        self.replacer_waits.since = self.replacer_waits.since.min(now);
        for seen in [&mut self.execution, &mut self.replacer] {
            if let Seen::Ended(_, Some(at), _) = seen {
                *at = (*at).min(now);
            }
        }
        self
    }

    pub(super) fn holder(&self) -> HolderId {
        let execution = arn("a");
        testing::holder(match self.holder {
            Kind::Execution => execution.as_str(),
            Kind::Task => TASK,
            Kind::Other => "laptop",
        })
    }

    pub(super) fn mode(&self) -> Mode {
        let note = "upgrade (by operator)".to_owned();
        match self.lock.mode {
            Closed::Open => Mode::Open,
            Closed::PausedUntil(end) => Mode::Paused {
                note,
                until: end.map(after),
            },
            Closed::Frozen => Mode::Frozen { note },
        }
    }

    fn replacer(&self) -> HolderId {
        testing::holder(arn("b").as_str())
    }

    pub(super) fn lease(&self) -> Lease {
        let terms = &self.lease;
        let token = FencingToken::from_number(GRANTED);
        let granted = testing::terms(self.holder()).lease(token, after(0));
        let work = terms.work.map(|kind| match kind {
            WorkKind::Tasks => Work::Tasks(testing::work(CLUSTER)),
            WorkKind::Workflow => Work::Workflow(StateMachineArn::new(MACHINE).expect("an ARN")),
            WorkKind::States => Work::States,
        });
        Lease {
            work,
            stale: terms.stale,
            redrives: terms.redrives,
            run_until: terms.run_until.map(after),
            stalls_at: terms.stalls_at.map(after),
            call: terms.called.map(|pushed| Call {
                task_token: pushed.then(|| testing::task_token("waits")),
                since: after(0),
            }),
            exit: Exit {
                suspect: terms.suspect.map(after),
                replaced_by: terms.replaced.then(|| self.replacer()),
                ending: terms.ending.clone().map(|(second, cause)| Ending {
                    since: after(second),
                    cause,
                }),
            },
            ..granted.renewed(after(terms.renewed), None, None)
        }
    }

    /// Returns the functions, the table and AWS as the case has them at `now`.
    pub(super) async fn world(&self, now: Timestamp) -> Functions {
        let functions = Functions::new();
        let ahead = now.millis() - functions.now().millis();
        functions.clock.advance(Duration::from_millis(ahead));
        let lease = self.lease();
        let mut record = LockRecord {
            last_token: lease.token,
            due: Some(after(0)),
            ..LockRecord::new(Permits::new(self.lock.permits).expect("permits"))
        };
        record.gate.mode = self.mode();
        record.gate.not_before = after(self.lock.rests_until);
        if self.lease.replaced {
            let waiter = Waiter {
                terms: testing::terms(self.replacer()),
                task_token: None,
                wait_until: self.replacer_waits.until.map(after),
                since: after(self.replacer_waits.since),
                queued_at: after(self.replacer_waits.since),
            };
            record.front_ticket = record.front_ticket.ahead();
            record.queue.insert(waiter.id(), record.front_ticket);
            functions
                .store
                .register(&key("nightly"), &waiter)
                .await
                .expect("a waiter");
        }
        record.holders.insert(self.holder(), lease.clone());
        functions.store.put(key("nightly"), record);
        self.show_execution(&functions, &arn("a"), &self.execution);
        self.show_execution(&functions, &arn("b"), &self.replacer);
        if !self.owned {
            functions.executions.disown(&arn("a"));
        }
        self.show_work(&functions, &lease);
        functions
    }

    fn show_execution(&self, functions: &Functions, arn: &ExecutionArn, seen: &Seen) {
        let executions = &functions.executions;
        match seen {
            Seen::Unknown => {}
            Seen::Running => executions.describe_as(arn, Ok(ExecutionState::Running.into())),
            Seen::Hidden => {
                let denied = ExecutionsError::Denied("no right".into());
                executions.describe_as(arn, Err(denied));
            }
            Seen::Ended(end, at, redrives) => {
                let description = ExecutionDescription {
                    state: ExecutionState::Ended(*end),
                    redrives: *redrives,
                    stopped_at: at.map(after),
                };
                executions.describe_as(arn, Ok(description));
            }
        }
    }

    fn show_work(&self, functions: &Functions, lease: &Lease) {
        let tasks = match &self.tasks {
            Tasks::Hidden => {
                for call in [TasksCall::OfGroup, TasksCall::Describe] {
                    let denied = TasksError::Denied("no right".into());
                    functions.tasks.fail_every(call, denied);
                }
                return;
            }
            Tasks::Seen(tasks) => tasks,
        };
        let set = testing::work(CLUSTER);
        let group = task_group(&key("nightly"), &self.holder());
        for (number, stopped) in (0..).zip(tasks) {
            let name = match self.holder {
                Kind::Task if number == 0 => TASK.to_owned(),
                _ => format!("{TASK}-{number}"),
            };
            let task = Task {
                stopped_at: stopped.then(|| after(number)),
                ..testing::task(&name, *stopped)
            };
            functions.tasks.put(&set, &group, task);
        }
        let (Some(Work::Workflow(machine)), Some(stopped)) = (&lease.work, tasks.first()) else {
            return;
        };
        let child = child_arn(machine, &key("nightly"), lease.token, 0).expect("an ARN");
        let state = match stopped {
            true => ExecutionState::Ended(ExecutionEnd::Aborted),
            false => ExecutionState::Running,
        };
        let description = ExecutionDescription {
            state,
            redrives: 0,
            stopped_at: stopped.then(|| after(self.now.saturating_sub(5))),
        };
        functions.executions.describe_as(&child, Ok(description));
    }
}
