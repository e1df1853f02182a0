//! An item of a Map behind siblings at work, whose checks take their time or are throttled.

use crate::functions::{Answer, Functions, Lines, RETENTION};
use crate::scene::{ask_with, execution, merged, status_of};
use lockstep::clock::{Clock, ManualClock};
use lockstep::domain::{
    Execution, ExecutionArn, ExecutionDescription, FailedStart, LockKey, Seconds, TaskToken,
    Timestamp,
};
use lockstep::events::memory::MemoryEvents;
use lockstep::executions::memory::{ExecutionsCall, MemoryExecutions};
use lockstep::executions::{Executions, ExecutionsError, Start, StateEnd};
use lockstep::protocol::Protocol;
use lockstep::service::{Deps, acquire};
use lockstep::store::memory::MemoryStore;
use lockstep::tasks::memory::MemoryTasks;
use lockstep::telemetry::Metrics;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Step Functions, of which each DescribeExecution takes its time. A call that would end after the checks of an acquire
/// gets no response.
struct Slow<'a> {
    executions: &'a MemoryExecutions,
    clock: &'a ManualClock,
    checks_end: Timestamp,
    /// How long the next DescribeExecution takes, in milliseconds. Each one after it takes `later`.
    next: AtomicU64,
    later: u64,
}

impl Executions for Slow<'_> {
    async fn running(&self, state_machine: &str) -> Result<Vec<Execution>, ExecutionsError> {
        self.executions.running(state_machine).await
    }

    async fn describe(
        &self,
        execution: &ExecutionArn,
    ) -> Result<Option<ExecutionDescription>, ExecutionsError> {
        let takes = self.next.swap(self.later, Ordering::SeqCst);
        self.clock.advance(Duration::from_millis(takes));
        if self.clock.now() >= self.checks_end {
            std::future::pending::<()>().await;
        }
        self.executions.describe(execution).await
    }

    async fn names_lock(
        &self,
        execution: &ExecutionArn,
        lock: &LockKey,
    ) -> Result<bool, ExecutionsError> {
        self.executions.names_lock(execution, lock).await
    }

    async fn failed_starts(
        &self,
        execution: &ExecutionArn,
    ) -> Result<Vec<FailedStart>, ExecutionsError> {
        self.executions.failed_starts(execution).await
    }

    async fn stop(
        &self,
        execution: &ExecutionArn,
        error: &str,
        cause: &str,
    ) -> Result<(), ExecutionsError> {
        self.executions.stop(execution, error, cause).await
    }

    async fn start_of(&self, execution: &ExecutionArn) -> Result<Option<Start>, ExecutionsError> {
        self.executions.start_of(execution).await
    }

    async fn check_start(&self, start: &Start, lock: &LockKey) -> Result<bool, ExecutionsError> {
        self.executions.check_start(start, lock).await
    }

    async fn start(&self, start: &Start, name: &str) -> Result<ExecutionArn, ExecutionsError> {
        // `MemoryExecutions` has a method of its own with this name.
        Executions::start(self.executions, start, name).await
    }

    async fn seal(&self, lock: &LockKey, token: &TaskToken) -> Result<TaskToken, ExecutionsError> {
        self.executions.seal(lock, token).await
    }

    async fn end_state(
        &self,
        lock: &LockKey,
        token: &TaskToken,
        output: &str,
    ) -> Result<StateEnd, ExecutionsError> {
        self.executions.end_state(lock, token, output).await
    }
}

type Ports<'a> = (
    &'a MemoryStore,
    &'a ManualClock,
    Slow<'a>,
    &'a MemoryTasks,
    &'a MemoryEvents,
    &'a Lines,
);

/// Returns the request of an item of the Map at a semaphore of ten, as exclusive-run sends it.
fn item(name: &str, more: &Value) -> Value {
    let terms = json!({
        "permits": 10, "parent": execution("caller"), "waitForEnding": true
    });
    ask_with(name, merged(terms, more))
}

/// Returns the functions with ten items of the Map at work, which hold all permits.
async fn full() -> Functions {
    full_of(10).await
}

async fn full_of(items: usize) -> Functions {
    let functions = Functions::running(&["b"]);
    for number in 0..items {
        let name = format!("x{number}");
        functions.start(&[&name]);
        let of_all = json!({ "permits": items });
        functions.granted_with(item(&name, &of_all)).await;
    }
    functions
}

/// Sends `request` while the first DescribeExecution takes `first` milliseconds, and each later one `later`.
pub(super) async fn acquire_slowly(
    functions: &Functions,
    [first, later]: [u64; 2],
    request: Value,
) -> Answer {
    let deps: Deps<Ports<'_>> = Deps {
        protocol: Protocol::new(&functions.store, &functions.clock, 1),
        executions: Slow {
            executions: &functions.executions,
            clock: &functions.clock,
            checks_end: functions.now().plus(Seconds::of(5)),
            next: AtomicU64::new(first),
            later,
        },
        tasks: &functions.tasks,
        events: &functions.events,
        metrics: Metrics::new(&functions.metrics, "locks", false),
        table: "locks".into(),
        retention: RETENTION,
        run_events: false,
    };
    let answer = acquire::handle(&deps, request).await;
    answer.map(|answer| serde_json::to_value(answer).unwrap())
}

/// Ten siblings that are seen at work are in no doubt, whether the looks at them end early, just in time or too late for
/// another one. A check takes up to three calls: DescribeExecution, ListTasks and DescribeTasks.
#[tokio::test]
async fn an_item_of_a_map_is_skipped_however_long_the_checks_take() {
    for takes in [30, 45, 60, 70, 80, 90, 210, 250] {
        let functions = full().await;

        let answer = acquire_slowly(&functions, [takes, takes], item("b", &json!({}))).await;

        assert_eq!(status_of(&answer), "skipped", "{takes} ms");
    }
}

/// Eleven siblings whose checks take 0.27 s: ten are seen at work, and there is no time for the eleventh. If a check
/// takes 0.4 s, some of ten siblings are only seen at work in the first two seconds, when they may just have ended.
#[tokio::test]
async fn a_sibling_is_in_doubt_unless_it_is_seen_at_work_late_enough() {
    for (items, takes, expected) in [(11, 270, "skipped"), (10, 400, "Lockstep.Unavailable")] {
        let functions = full_of(items).await;
        let request = item("b", &json!({ "permits": items }));

        let answer = acquire_slowly(&functions, [takes, takes], request).await;

        assert_eq!(status_of(&answer), expected, "{items} of {takes} ms");
    }
}

/// The first request of a run under `queue` or `replace` does not wait. The answer `skipped` takes the run to its waiting
/// state, so no end of an earlier attempt is missed. An error that lasts fails the run.
#[tokio::test]
async fn an_item_of_a_map_that_may_wait_waits_while_calls_are_throttled() {
    let functions = full().await;
    functions.lose_every(ExecutionsCall::Describe);
    let first = item("b", &json!({ "overlap": "skip", "mayWait": true }));

    let status = functions.status(first).await;

    assert_eq!(status, "skipped");
}

/// The waiting state looks at the siblings again, and no answer of the looks changes where the run goes.
#[tokio::test]
async fn an_item_of_a_map_that_goes_on_to_wait_is_answered_at_once() {
    let functions = full().await;
    let before = functions.now();
    let first = item("b", &json!({ "overlap": "skip", "mayWait": true }));

    let status = functions.status(first).await;

    let took = functions.now().millis_since(before);
    assert_eq!((status.as_str(), took), ("skipped", 0));
}
