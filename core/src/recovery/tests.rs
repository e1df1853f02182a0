//! Tests of the rules in the table of [`judge`], and of checks and verdicts.

mod alive;
mod checks;
mod dead;
mod inside;
mod lag;
mod unclaimed;
mod unclear;
mod verdict;
mod workflow;

use super::{
    Action, Commitment, Evidence, ExecutionObservation, Ownership, TaskObservation,
    WorkObservation, judge,
};
use crate::domain::UNCONFIRMED_MAX;
use crate::domain::{
    Call, Container, Ending, EndingCause, ExecutionDescription, ExecutionEnd, ExecutionState,
    FencingToken, HolderId, Lease, RecoveryBasis, Seconds, StalePolicy, StopReason, Task, TaskSet,
    Terms, Timestamp, Work,
};
use crate::testing::{self, task, task_token, work};

/// Time of the grant in these tests, in milliseconds. The lease is 60 s long.
const GRANTED: u64 = 1_772_344_800_000;
const ENDS: [ExecutionEnd; 4] = [
    ExecutionEnd::Succeeded,
    ExecutionEnd::Failed,
    ExecutionEnd::TimedOut,
    ExecutionEnd::Aborted,
];
const STALE: [StalePolicy; 3] = [
    StalePolicy::Terminate,
    StalePolicy::Yield,
    StalePolicy::Hold,
];
const RUNNING: ExecutionObservation = ExecutionObservation::Seen(ExecutionDescription {
    state: ExecutionState::Running,
    redrives: 0,
    stopped_at: None,
});
const ABORTED: ExecutionState = ExecutionState::Ended(ExecutionEnd::Aborted);
const UNNAMED: WorkObservation = WorkObservation::NotNamed;

fn after(seconds: u32) -> Timestamp {
    Timestamp::from_millis(GRANTED).plus(Seconds::of(seconds))
}

fn lease() -> Lease {
    terms("a").lease(FencingToken::from_number(GRANTED), after(0))
}

fn terms(name: &str) -> Terms {
    testing::terms(holder(name))
}

fn under(stale: StalePolicy) -> Lease {
    Lease { stale, ..lease() }
}

/// Returns `lease` with the mark of a suspect, set two seconds after its end.
fn suspect(lease: Lease) -> Lease {
    let mut lease = lease;
    lease.exit.suspect = Some(lease.expires_at.plus(Seconds::of(2)));
    lease
}

/// Returns `lease` of a holder that is ending since `second`.
fn ending(lease: Lease, second: u32, cause: EndingCause) -> Lease {
    let mut lease = lease;
    lease.exit.ending = Some(Ending {
        since: after(second),
        cause,
    });
    lease
}

/// Returns `lease` of a holder that `b` waits to replace.
fn replaced(lease: Lease) -> Lease {
    let mut lease = lease;
    lease.exit.replaced_by = Some(holder("b"));
    lease
}

/// Returns `lease` as a hand-over to a waiter that registered at `second` and has not confirmed it.
fn called(lease: Lease, second: u32) -> Lease {
    let call = Some(Call {
        task_token: Some(task_token("waits")),
        since: after(second),
    });
    Lease { call, ..lease }
}

fn holder(name: &str) -> HolderId {
    testing::holder(&format!(
        "arn:aws:states:eu-west-1:1:execution:report:{name}"
    ))
}

fn evidence(execution: ExecutionObservation, work: WorkObservation) -> Evidence {
    Evidence {
        execution,
        task: TaskObservation::NotOne,
        work,
        replacer: ExecutionObservation::NotOne,
        gave_up: false,
        ownership: Ownership::NotAsked,
    }
}

/// Returns the action at `second` on a holder with these observations of its execution and work.
fn judged(
    lease: &Lease,
    execution: ExecutionObservation,
    work: WorkObservation,
    second: u32,
) -> Action {
    judge(lease, &evidence(execution, work), after(second))
}

/// Returns the action at `second` on a holder that names no work, and whose execution runs.
fn of_running(lease: &Lease, second: u32) -> Action {
    judged(lease, RUNNING, UNNAMED, second)
}

fn ended(end: ExecutionEnd) -> ExecutionObservation {
    ExecutionObservation::Seen(ExecutionState::Ended(end).into())
}

fn described(
    state: ExecutionState,
    redrives: u32,
    stopped_at: Option<u32>,
) -> ExecutionDescription {
    ExecutionDescription {
        state,
        redrives,
        stopped_at: stopped_at.map(after),
    }
}

fn seen(state: ExecutionState, redrives: u32, stopped_at: Option<u32>) -> ExecutionObservation {
    ExecutionObservation::Seen(described(state, redrives, stopped_at))
}

fn hidden() -> ExecutionObservation {
    ExecutionObservation::Hidden("throttled".into())
}

fn hidden_work() -> WorkObservation {
    WorkObservation::Hidden("throttled".into())
}

/// Returns tasks as work, each with whether it has stopped.
fn tasks(tasks: &[(&str, bool)]) -> WorkObservation {
    let tasks = tasks.iter().map(|(name, stopped)| task(name, *stopped));
    WorkObservation::Tasks(tasks.collect())
}

/// Returns the evidence of a recovery. Panics if `action` is not a recovery on the basis `expected`.
#[track_caller]
fn recovered(action: Action, expected: RecoveryBasis) -> String {
    match action {
        Action::Recover {
            basis, evidence, ..
        } if basis == expected => evidence,
        other => panic!("not a recovery on {expected:?}: {other:?}"),
    }
}

/// Returns what a stop commits, whether it stops the execution, which work, and why.
#[track_caller]
fn stopped(action: Action) -> (Commitment, bool, Vec<String>, String) {
    match action {
        Action::Stop {
            commit,
            execution,
            work,
            why,
        } => (commit, execution, work, why),
        other => panic!("not a stop: {other:?}"),
    }
}
