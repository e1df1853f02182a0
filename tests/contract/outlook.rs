//! What show says a check will do to a holder is what the check does, over random leases, evidence and times.
//!
//! The witness of what was done is the world: the table, what was stopped, and what was published.

use crate::functions::{Functions, key};
use crate::scene::CLUSTER;
use lockstep::contract::{EventKind, parse_time};
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
use lockstep_tests::seeds::check;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq};
use proptest::prop_oneof;
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// When the lease is granted.
const GRANTED: u64 = 1_772_344_800_000;

/// One holder, what AWS shows of it, and when that is judged. Times are seconds after the grant.
#[derive(Clone, Debug)]
struct Case {
    holder: Kind,
    lease: Terms,
    execution: Seen,
    replacer: Seen,
    replacer_gave_up: bool,
    owned: bool,
    tasks: Tasks,
    now: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Execution,
    Task,
    Other,
}

#[derive(Clone, Debug)]
struct Terms {
    renewed: u32,
    stale: StalePolicy,
    work: Option<WorkKind>,
    redrives: u32,
    called: Option<bool>,
    replaced: bool,
    suspect: Option<u32>,
    ending: Option<(u32, EndingCause)>,
}

#[derive(Clone, Copy, Debug)]
enum WorkKind {
    Tasks,
    Workflow,
    States,
}

/// What DescribeExecution shows.
#[derive(Clone, Debug)]
enum Seen {
    Unknown,
    Hidden,
    Running,
    Ended(ExecutionEnd, Option<u32>, u32),
}

/// What ECS shows of the tasks of the work, or of the holder's own task.
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
    (0..60_u32, stale, option::of(work), 0..2_u32, marks).prop_map(
        |(renewed, stale, work, redrives, (called, replaced, suspect, ending))| Terms {
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

fn cases() -> impl Strategy<Value = Case> {
    let kind = prop_oneof![
        4 => Just(Kind::Execution),
        1 => Just(Kind::Task),
        1 => Just(Kind::Other),
    ];
    let tasks = prop_oneof![
        1 => Just(Tasks::Hidden),
        5 => proptest::collection::vec(any::<bool>(), 0..3).prop_map(Tasks::Seen),
    ];
    let replacer = (seen(), any::<bool>());
    (
        kind,
        terms(),
        seen(),
        replacer,
        proptest::bool::weighted(0.8),
        tasks,
        seconds(),
    )
        .prop_map(
            |(holder, lease, execution, replacer, owned, tasks, now)| Case {
                holder,
                lease,
                execution,
                replacer: replacer.0,
                replacer_gave_up: replacer.1,
                owned,
                tasks,
                now,
            },
        )
}

fn after(seconds: u32) -> Timestamp {
    Timestamp::from_millis(GRANTED).plus(Seconds::of(seconds))
}

fn arn(name: &str) -> ExecutionArn {
    let arn = format!("arn:aws:states:eu-west-1:123456789012:execution:report:{name}");
    ExecutionArn::new(arn).expect("an ARN")
}

const MACHINE: &str = "arn:aws:states:eu-west-1:123456789012:stateMachine:etl";
const TASK: &str = "arn:aws:ecs:eu-west-1:123456789012:task/batch/own";

impl Case {
    fn holder(&self) -> HolderId {
        let execution = arn("a");
        testing::holder(match self.holder {
            Kind::Execution => execution.as_str(),
            Kind::Task => TASK,
            Kind::Other => "laptop",
        })
    }

    fn replacer(&self) -> HolderId {
        testing::holder(arn("b").as_str())
    }

    fn lease(&self) -> Lease {
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

    /// The world of the case at `now`.
    async fn world(&self, now: Timestamp) -> Functions {
        let functions = Functions::new();
        let ahead = now.millis() - functions.now().millis();
        functions.clock.advance(Duration::from_millis(ahead));
        let lease = self.lease();
        let mut record = LockRecord {
            last_token: lease.token,
            due: Some(after(0)),
            ..LockRecord::new(Permits::ONE)
        };
        if self.lease.replaced {
            let waiter = Waiter {
                terms: testing::terms(self.replacer()),
                task_token: None,
                wait_until: self.replacer_gave_up.then(|| after(0)),
                since: after(0),
                queued_at: after(0),
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

/// What a check has done, as the world shows it.
async fn done(case: &Case, functions: &Functions) -> &'static str {
    let record = functions.record("nightly").await.expect("a record");
    let before = case.lease();
    let lease = record.holders.get(&case.holder());
    let missing = functions.has_published(EventKind::EvidenceMissing);
    let of_stop = missing
        && functions
            .event(EventKind::EvidenceMissing)
            .reason
            .starts_with("the run is not stopped");
    let stopped = !functions.executions.stops().is_empty() || !functions.tasks.stops().is_empty();
    let left = case.lease.replaced && record.queue.is_empty();
    match lease {
        _ if matches!(record.gate.mode, Mode::Frozen { .. }) => "freeze",
        None => "recover",
        _ if stopped => "stop",
        Some(lease) if lease.exit.suspect != before.exit.suspect => "suspect",
        Some(lease) if lease.exit.ending != before.exit.ending => "markEnding",
        _ if left => "dropReplacer",
        _ if of_stop => "reportNotStopped",
        _ if missing => "reportMissingEvidence",
        _ if !functions.executions.ended().is_empty() => "wake",
        Some(_) => "leave",
    }
}

/// What a check of the holder at `now` does.
async fn checked(case: &Case, now: Timestamp) -> &'static str {
    let functions = case.world(now).await;
    let deps = functions.deps_on(&functions.store);
    let (lock, holder, lease) = (key("nightly"), case.holder(), case.lease());
    let recovery = deps.recovery();
    let checked = recovery.check(&lock, &holder, &lease, None).await;
    checked.expect("a check");
    done(case, &functions).await
}

/// What show says of the holder: the action, and from when to when.
async fn shown(case: &Case, now: Timestamp) -> Option<(String, Timestamp, Timestamp)> {
    let functions = case.world(now).await;
    let show = json!({ "act": "show", "lock": "nightly" });
    let shown = functions.operate(show).await.expect("it is shown");
    let next = &shown["holders"][0]["next"];
    let time = |field: &str| {
        let text = next[field].as_str().expect("a time");
        parse_time(field, text).expect("a time")
    };
    let action = next["action"].as_str()?.to_owned();
    Some((action, time("from"), time("by")))
}

/// Runs `ask` to its end.
fn wait<T>(ask: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(ask)
}

#[test]
fn what_show_says_of_a_holder_is_what_a_check_does() {
    let counts = RefCell::new(BTreeMap::<String, u32>::new());
    check(10_000, &cases(), |case| {
        let now = after(case.now);
        let next = wait(shown(&case, now));
        let action = match &next {
            Some((action, from, _)) if *from <= now => action.as_str(),
            Some(_) | None => "leave",
        };
        *counts.borrow_mut().entry(action.to_owned()).or_default() += 1;
        prop_assert_eq!(action, wait(checked(&case, now)), "now: {:?}", next);
        if let Some((action, from, _)) = next.filter(|(_, from, _)| *from > now) {
            let before = Timestamp::from_millis(from.millis() - 1);
            prop_assert_eq!("leave", wait(checked(&case, before)), "before {:?}", from);
            prop_assert_eq!(&action, wait(checked(&case, from)), "from {:?}", from);
            *counts
                .borrow_mut()
                .entry(format!("later {action}"))
                .or_default() += 1;
        }
        Ok(())
    });
    let counts = counts.into_inner();
    println!("{counts:?}");
    for action in [
        "leave",
        "wake",
        "suspect",
        "dropReplacer",
        "recover",
        "markEnding",
        "stop",
        "freeze",
        "reportNotStopped",
        "reportMissingEvidence",
        "later suspect",
        "later recover",
    ] {
        let count = counts.get(action).copied().unwrap_or_default();
        assert!(count >= 50, "{action} is drawn {count} times");
    }
}
