//! Values that the cases share.

use crate::domain::{
    Act, ActKind, Assign, Call, Change, Clause, Ending, EndingCause, Exit, Guard, Lease,
    LockRecord, Retention, Run, RunEnd, RunId, RunOutcome, RunWrite, Seconds, StalePolicy,
    StateMachineArn, TaskSet, Terms, Timestamp, Update, Waiter, WaiterId, Work,
};
use crate::store::{Commit, Found};
use crate::testing;
pub(super) use crate::testing::{
    holder, permits, run_key, task_end as task, task_token, ticket, token,
};

/// The time of the cases for runs, in milliseconds.
pub(super) const NOW: u64 = 50_000;

pub(super) fn create(record: &LockRecord) -> Change {
    change(vec![Clause::Absent], Update::Create(record.clone()))
}

pub(super) fn change(guard: Vec<Clause>, update: Update) -> Change {
    Change {
        guard: Guard(guard),
        update,
        runs: Vec::new(),
        act: None,
        waiter: None,
        read_back: false,
    }
}

pub(super) fn assign(guard: Vec<Clause>, assigns: Vec<Assign>) -> Change {
    change(guard, Update::Assign(assigns))
}

/// Returns `change` with a request for the record after the write.
pub(super) fn read_back(change: Change) -> Change {
    Change {
        read_back: true,
        ..change
    }
}

/// Returns the conflict of a failed guard on the record.
pub(super) fn conflict(record: Option<LockRecord>) -> Commit {
    run_conflict(Some(record), &[])
}

/// Returns the conflict of failed guards on `runs`, and on the record if one is given.
pub(super) fn run_conflict(
    record: Option<Option<LockRecord>>,
    runs: &[(&RunId, Option<Run>)],
) -> Commit {
    let runs = runs.iter().map(|(id, run)| ((*id).clone(), run.clone()));
    let runs = runs.collect();
    Commit::Conflict(Found {
        record,
        runs,
        new_lock: None,
    })
}

pub(super) fn waiter_id(name: &str) -> WaiterId {
    WaiterId::of(&holder(name))
}

pub(super) fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Returns terms without optional fields.
pub(crate) fn terms(name: &str) -> Terms {
    Terms {
        permits: permits(2),
        retention: Retention::both(Seconds::of(86_400)),
        ..testing::terms(holder(name))
    }
}

/// Returns terms with every optional field that a waiter's side item keeps.
pub(super) fn full_terms(name: &str) -> Terms {
    Terms {
        max_run: Some(Seconds::of(3600)),
        no_progress: Some(Seconds::of(600)),
        stale: StalePolicy::Hold,
        min_interval: Some(Seconds::of(5)),
        run_key: Some(run_key("tick")),
        work: Some(Work::Tasks(TaskSet {
            cluster: "batches".into(),
            family: Some("report".into()),
            container: Some("app".into()),
        })),
        parent: Some(holder("parent")),
        redrives: 1,
        ..terms(name)
    }
}

/// Returns work that is the execution of a state machine.
pub(super) fn workflow() -> Work {
    let machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:etl";
    Work::Workflow(StateMachineArn::new(machine).expect("the ARN of a state machine"))
}

/// Returns a lease of 60 seconds under a token, granted at the token's time.
pub(super) fn lease(number: u64) -> Lease {
    terms("a").lease(token(number), at(number))
}

/// Returns a lease with every attribute set.
pub(super) fn full_lease(number: u64) -> Lease {
    Lease {
        progress: Some("chapter 2 of 9".into()),
        beat: Some(task_token("beat")),
        call: Some(Call {
            task_token: Some(task_token("call")),
            since: at(2500),
        }),
        exit: Exit {
            suspect: Some(at(3000)),
            replaced_by: Some(holder("z")),
            ending: Some(Ending {
                since: at(3500),
                cause: EndingCause::Evicted("broken (by ops)".into()),
            }),
        },
        redrives: 2,
        ..full_terms("b").lease(token(number), at(number))
    }
}

pub(super) fn waiter(name: &str, since: u64) -> Waiter {
    Waiter {
        terms: terms(name),
        task_token: Some(task_token("waiting")),
        wait_until: None,
        since: at(since),
        queued_at: at(since),
    }
}

/// Returns a lock of two permits with one holder, `a`, under token 1000.
pub(crate) fn held() -> LockRecord {
    let mut record = LockRecord::new(permits(2));
    record.version = 7;
    record.last_token = token(1000);
    record.gate.not_before = at(5000);
    record.due = Some(at(61_000));
    record.holders.insert(holder("a"), lease(1000));
    record
}

/// Returns [`held`] with two waiters: `w` at the end of the queue, and `front`, which joined the front.
pub(super) fn waited() -> LockRecord {
    let mut record = held();
    record.last_ticket = ticket(4);
    record.front_ticket = ticket(0);
    record.queue.insert(waiter_id("w"), ticket(4));
    record.queue.insert(waiter_id("front"), ticket(0));
    record
}

pub(crate) fn running(number: u64) -> Run {
    Run::started(holder("a"), token(number), None)
}

pub(super) fn ended(outcome: RunOutcome, retain_until: u64) -> Run {
    let end = RunEnd {
        outcome,
        at: at(40_000),
        retain_until: at(retain_until),
        evidence: None,
    };
    Run {
        end: Some(end),
        ..running(1000)
    }
}

/// Returns the act of a pause that wrote `version` of the record.
pub(super) fn paused(version: u64) -> Act {
    Act {
        version,
        kind: ActKind::Paused,
        actor: holder(&format!("ops-{version}")),
        token: token(1000),
        at: at(40_000),
        retain_until: at(90_000),
        note: Some("upgrade".into()),
    }
}

pub(super) fn write(id: &RunId, run: Run) -> RunWrite {
    RunWrite {
        id: id.clone(),
        run,
    }
}
