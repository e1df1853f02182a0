//! Values for tests of all levels: a test names only the fields that it is about.

use crate::domain::{
    Acquire, AuditNote, Command, DropWaiter, ExitStep, FencingToken, HolderId, LeaseVersion,
    LockRecord, Mark, Pace, Permits, Recover, RecoveryBasis, Release, Renew, Retention, RunKey,
    RunOutcome, Seconds, Task, TaskEnd, TaskSet, TaskToken, Terms, Ticket, WhenFull, WhenPaused,
};

/// How long the commands below keep the history of a run.
pub const RETENTION: Retention = Retention {
    history: Seconds::of(172_800),
    run_keys: Seconds::of(86_400),
};

/// The name of the variant that `value` is.
pub fn variant(value: &impl std::fmt::Debug) -> String {
    let mut shown = format!("{value:?}");
    let end = shown.find(|c: char| !c.is_alphanumeric());
    shown.truncate(end.unwrap_or(shown.len()));
    shown
}

/// A fencing token.
pub fn token(number: u64) -> FencingToken {
    FencingToken::from_number(number)
}

/// A ticket.
pub fn ticket(number: i64) -> Ticket {
    Ticket::from_number(number)
}

/// A capacity.
pub fn permits(count: i64) -> Permits {
    Permits::new(count).expect("a valid capacity")
}

/// The holder of this name.
pub fn holder(name: &str) -> HolderId {
    HolderId::new(name).expect("a valid holder")
}

/// A run key.
pub fn run_key(key: &str) -> RunKey {
    RunKey::new(key).expect("a valid run key")
}

/// A task token of Step Functions.
pub fn task_token(token: &str) -> TaskToken {
    TaskToken::new(token).expect("a valid task token")
}

/// One permit for a minute, with a heartbeat every 20 s and no optional field.
pub fn terms(holder: HolderId) -> Terms {
    Terms::new(holder, RETENTION)
}

/// A request on these terms that does not wait.
pub fn acquire(terms: Terms) -> Acquire {
    Acquire::new(terms)
}

/// What a request does at a paused lock by default: it waits there if it waits at a full one.
pub fn when_paused(when_full: WhenFull) -> WhenPaused {
    match when_full {
        WhenFull::Queue { most } => WhenPaused::Queue { most },
        WhenFull::Refuse | WhenFull::Replace => WhenPaused::Refuse,
    }
}

/// A heartbeat each 20 s of a lease of 60 s, without a heartbeat state, progress or count of redrives.
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

/// The release of a run without a run key that has succeeded.
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

/// The recovery of a holder whose execution was described as ABORTED while its lease was as `seen`.
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

/// A mark of `step` on a holder, whatever its lease is.
pub fn mark(holder: HolderId, token: FencingToken, step: ExitStep) -> Mark {
    Mark {
        holder,
        token,
        seen: None,
        step,
    }
}

/// The eviction of `holder` from `record`, by what it has there: a permit, or a place in the queue.
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

/// An operator's order.
pub fn audit_note(actor: HolderId, note: &str) -> AuditNote {
    AuditNote {
        actor,
        note: note.into(),
        retention: RETENTION,
    }
}

/// Tasks of any family and container in `cluster`.
pub fn work(cluster: &str) -> TaskSet {
    TaskSet {
        cluster: cluster.into(),
        family: None,
        container: None,
    }
}

/// The end of a task that was killed, as a run's entry in the history keeps it.
pub fn task_end(version: u64) -> TaskEnd {
    TaskEnd {
        arn: "arn:aws:ecs:eu-west-1:1:task/batches/4f".into(),
        version,
        runtime_id: Some("4f-1".into()),
        exit_code: Some(137),
        reason: Some("OutOfMemoryError: container killed".into()),
    }
}

/// The first version of a task without containers or times.
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
/// If it waits.
pub fn now<T>(answer: impl Future<Output = T>) -> T {
    use std::task::{Context, Poll, Waker};
    match std::pin::pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a service in memory never waits"),
    }
}
