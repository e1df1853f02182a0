//! One test for each rule of the table above [`judge`].

mod alive;
mod checks;
mod dead;
mod inside;
mod lag;
mod unclaimed;
mod unclear;

use super::judge::UNCONFIRMED_MAX;
use super::{
    Action, Commitment, Evidence, ExecutionSight, Ownership, TaskSight, TasksSight, judge,
};
use crate::domain::{
    Call, Container, Death, Ending, EndingCause, ExecutionDescription, ExecutionEnd,
    ExecutionState, FencingToken, HolderId, Lease, Permits, Seconds, StalePolicy, StopReason, Task,
    Terms, Timestamp, Work,
};

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
const RUNNING: ExecutionSight = ExecutionSight::Seen(ExecutionDescription {
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
    Terms {
        redrives: 0,
        parent: None,
        holder: holder(name),
        permits: Permits::ONE,
        lease: Seconds::of(60),
        heartbeat: Seconds::of(20),
        max_run: None,
        no_progress: None,
        stale: StalePolicy::Terminate,
        min_interval: None,
        run_key: None,
        work: None,
        retention: Seconds::of(86_400),
    }
}

/// The same lease, with the mark of a suspect from two seconds after its end on.
fn suspect(lease: Lease) -> Lease {
    let suspect = Some(lease.expires_at.plus(Seconds::of(2)));
    Lease { suspect, ..lease }
}

fn holder(name: &str) -> HolderId {
    HolderId::new(format!(
        "arn:aws:states:eu-west-1:1:execution:report:{name}"
    ))
    .unwrap()
}

fn task(name: &str, stopped: bool) -> Task {
    Task {
        arn: name.into(),
        version: 1,
        stopped,
        containers: vec![],
        stopped_reason: None,
        ended_by_itself: false,
        started_at: None,
        stopped_at: None,
    }
}

fn look(execution: ExecutionSight, tasks: TasksSight) -> Evidence {
    Evidence {
        execution,
        task: TaskSight::NotOne,
        tasks,
        replacer: ExecutionSight::NotOne,
        gave_up: false,
        ownership: Ownership::NotAsked,
    }
}

fn ended(end: ExecutionEnd) -> ExecutionSight {
    ExecutionSight::Seen(ExecutionState::Ended(end).into())
}

fn hidden() -> ExecutionSight {
    ExecutionSight::Hidden("throttled".into())
}

/// The words of a recovery on `death`.
#[track_caller]
fn recovered(action: Action, expected: Death) -> String {
    match action {
        Action::Recover {
            death, evidence, ..
        } if death == expected => evidence,
        other => panic!("not a recovery on {expected:?}: {other:?}"),
    }
}
