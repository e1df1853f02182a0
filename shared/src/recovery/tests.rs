//! One test for each rule of the table above [`judge`].

mod alive;
mod checks;
mod dead;
mod inside;
mod lag;
mod unclaimed;
mod unclear;
mod workflow;

use super::judge::UNCONFIRMED_MAX;
use super::{
    Action, Commitment, Evidence, ExecutionObservation, Ownership, TaskObservation,
    WorkObservation, judge,
};
use crate::domain::{
    Call, Container, Ending, EndingCause, ExecutionDescription, ExecutionEnd, ExecutionState,
    FencingToken, HolderId, Lease, RecoveryBasis, Seconds, StalePolicy, StopReason, Task, TaskSet,
    TaskToken, Terms, Timestamp, Work,
};
use crate::testing::{self, task, work};

/// When the lease of these tests is granted, for a minute.
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

fn after(seconds: u32) -> Timestamp {
    Timestamp::from_millis(GRANTED).plus(Seconds::of(seconds))
}

fn lease() -> Lease {
    terms("a").lease(FencingToken::from_number(GRANTED), after(0))
}

fn terms(name: &str) -> Terms {
    testing::terms(holder(name))
}

/// The same lease, with the mark of a suspect from two seconds after its end on.
fn suspect(lease: Lease) -> Lease {
    let suspect = Some(lease.expires_at.plus(Seconds::of(2)));
    Lease { suspect, ..lease }
}

/// The same lease, with its end noted at `second`.
fn ending(lease: Lease, second: u32, cause: EndingCause) -> Lease {
    let ending = Some(Ending {
        since: after(second),
        cause,
    });
    Lease { ending, ..lease }
}

/// The same lease, whose place `b` has asked for.
fn replaced(lease: Lease) -> Lease {
    let replaced_by = Some(holder("b"));
    Lease {
        replaced_by,
        ..lease
    }
}

fn holder(name: &str) -> HolderId {
    testing::holder(&format!(
        "arn:aws:states:eu-west-1:1:execution:report:{name}"
    ))
}

fn evidence(execution: ExecutionObservation, tasks: WorkObservation) -> Evidence {
    Evidence {
        execution,
        task: TaskObservation::NotOne,
        work: tasks,
        replacer: ExecutionObservation::NotOne,
        gave_up: false,
        ownership: Ownership::NotAsked,
    }
}

fn ended(end: ExecutionEnd) -> ExecutionObservation {
    ExecutionObservation::Seen(ExecutionState::Ended(end).into())
}

fn hidden() -> ExecutionObservation {
    ExecutionObservation::Hidden("throttled".into())
}

/// The words of a recovery on `basis`.
#[track_caller]
fn recovered(action: Action, expected: RecoveryBasis) -> String {
    match action {
        Action::Recover {
            basis, evidence, ..
        } if basis == expected => evidence,
        other => panic!("not a recovery on {expected:?}: {other:?}"),
    }
}
