//! Sample values for tests of all levels, so that a test names only the fields that matter to it.

use crate::domain::{
    Acquire, AuditNote, Command, DropWaiter, ExitStep, FencingToken, HolderId, LeaseVersion,
    LockRecord, Mark, Pace, Permits, Recover, RecoveryBasis, Release, Renew, Retention, RunKey,
    RunOutcome, Seconds, Task, TaskEnd, TaskSet, TaskToken, Terms, Ticket, WhenFull, WhenPaused,
};

/// The retention that the commands of this module carry: 2 days for the history, 1 day for run keys.
pub const RETENTION: Retention = Retention {
    history: Seconds::of(172_800),
    run_keys: Seconds::of(86_400),
};

/// Returns the name of the enum variant of `value`, read from its `Debug` output.
pub fn variant(value: &impl std::fmt::Debug) -> String {
    let mut shown = format!("{value:?}");
    let end = shown.find(|c: char| !c.is_alphanumeric());
    shown.truncate(end.unwrap_or(shown.len()));
    shown
}

/// Returns a fencing token.
pub fn token(number: u64) -> FencingToken {
    FencingToken::from_number(number)
}

/// Returns a ticket.
pub fn ticket(number: i64) -> Ticket {
    Ticket::from_number(number)
}

/// Returns a capacity.
pub fn permits(count: i64) -> Permits {
    Permits::new(count).expect("a valid capacity")
}

/// Returns the holder of this name.
pub fn holder(name: &str) -> HolderId {
    HolderId::new(name).expect("a valid holder")
}

/// Returns a run key.
pub fn run_key(key: &str) -> RunKey {
    RunKey::new(key).expect("a valid run key")
}

/// Returns a task token of Step Functions.
pub fn task_token(token: &str) -> TaskToken {
    TaskToken::new(token).expect("a valid task token")
}

/// Returns terms for one permit: a lease of 60 s, a heartbeat every 20 s, and no optional field.
pub fn terms(holder: HolderId) -> Terms {
    Terms::new(holder, RETENTION)
}

/// Returns an acquire with these terms that does not wait.
pub fn acquire(terms: Terms) -> Acquire {
    Acquire::new(terms)
}

/// Returns the default behaviour of a request at a paused lock: it waits if `when_full` waits in the
/// queue, and is refused otherwise.
pub fn when_paused(when_full: WhenFull) -> WhenPaused {
    match when_full {
        WhenFull::Queue { most } => WhenPaused::Queue { most },
        WhenFull::Refuse | WhenFull::Replace => WhenPaused::Refuse,
    }
}

/// Returns a heartbeat that sets a lease of 60 s with 20 s to the next heartbeat, without a heartbeat
/// state, progress or count of redrives.
pub fn renew(holder: HolderId, token: FencingToken) -> Renew {
    let pace = Pace {
        length: Seconds::of(60),
        heartbeat: Seconds::of(20),
    };
    Renew {
        redrives: None,
        resumes: false,
        holder,
        token,
        beat: None,
        pace: Some(pace),
        progress: None,
        no_progress: None,
        retention: RETENTION,
    }
}

/// Returns the release of a successful run without a run key.
pub fn release(holder: HolderId, token: FencingToken) -> Release {
    Release {
        holder,
        token,
        run_key: None,
        outcome: RunOutcome::Succeeded,
        expect_every: None,
        retention: RETENTION,
    }
}

/// Returns the recovery of a holder whose execution was described as ABORTED while its lease had the
/// version `seen`.
pub fn recover(holder: HolderId, token: FencingToken, seen: LeaseVersion) -> Recover {
    Recover {
        succeeded: false,
        holder,
        token,
        seen,
        basis: RecoveryBasis::Seen,
        evidence: "the execution is ABORTED".into(),
        retention: RETENTION,
    }
}

/// Returns a mark of `step` on a holder that applies to any version of its lease.
pub fn mark(holder: HolderId, token: FencingToken, step: ExitStep) -> Mark {
    Mark {
        holder,
        token,
        seen: None,
        step,
    }
}

/// Returns the eviction of `holder` from `record`: a recovery if it holds a permit, and a [`DropWaiter`]
/// otherwise.
pub fn evict(record: &LockRecord, holder: HolderId, audit: AuditNote) -> Command {
    match record.holders.get(&holder) {
        Some(lease) => Command::Recover(Recover {
            basis: RecoveryBasis::Evicted,
            evidence: audit.signed(),
            retention: audit.retention,
            ..recover(holder, lease.token, lease.version())
        }),
        None => Command::DropWaiter(DropWaiter::of(holder, audit)),
    }
}

/// Returns the audit note of an operator's act.
pub fn audit_note(actor: HolderId, note: &str) -> AuditNote {
    AuditNote {
        actor,
        note: note.into(),
        retention: RETENTION,
    }
}

/// Returns the set of all tasks in `cluster`, of any family and container.
pub fn work(cluster: &str) -> TaskSet {
    TaskSet {
        cluster: cluster.into(),
        family: None,
        container: None,
    }
}

/// Returns the end of a task that was killed for lack of memory, as the history entry of a run contains
/// it.
pub fn task_end(version: u64) -> TaskEnd {
    TaskEnd {
        arn: "arn:aws:ecs:eu-west-1:1:task/batches/4f".into(),
        version,
        runtime_id: Some("4f-1".into()),
        exit_code: Some(137),
        reason: Some("OutOfMemoryError: container killed".into()),
    }
}

/// Returns a task at version 1 without containers or times.
pub fn task(arn: &str, stopped: bool) -> Task {
    Task {
        arn: arn.into(),
        version: 1,
        stopped,
        containers: vec![],
        ended_by_itself: false,
        stopped_reason: None,
        created_at: None,
        started_at: None,
        stopped_at: None,
    }
}

/// Returns the output of `answer`, which is ready at its first poll.
///
/// # Panics
/// If `answer` is pending at its first poll.
pub fn now<T>(answer: impl Future<Output = T>) -> T {
    use std::task::{Context, Poll, Waker};
    match std::pin::pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a future in memory is ready at its first poll"),
    }
}
