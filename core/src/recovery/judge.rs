//! Judges the evidence about a holder: a pure function from evidence to an action.
//!
//! The table at [`judge`] is the whole policy of recovery. The next acquire, the reaper on events of ECS
//! and Step Functions, and the sweep all use this function, so they never judge the same evidence
//! differently.
//!
//! Two mistakes are possible, and only one is harmless. If the permit of a dead holder is not freed, the
//! lock stays held until a later check. If the permit of a living holder is freed, two runs are at work.
//! So a missing answer never counts as the end of a run.

mod running;

use self::running::{owned, running};
use super::evidence::at_work;
use super::{
    Action, Commitment, Evidence, ExecutionObservation, LIST_LAG, TaskObservation, WorkObservation,
    tasks_succeeded,
};
use crate::domain::{
    ExecutionDescription, ExecutionEnd, ExecutionState, Lease, RecoveryBasis, Staleness, Timestamp,
};

/// Returns what to do about the holder of `lease`. A lease is *dead* two seconds after its end
/// ([`Lease::is_dead`]).
///
/// ```text
///  execution   tasks      lease                    action
///  just ended  none seen                           mark it as ending
///  ended       failed less than 31 s ago           mark it as ending
///  ended       none run                            recover, as succeeded if their work had
///  ended       some run                            stop the tasks
///  ended       a task runs that a failed RunTask   mark it as ending
///              of its states may have started
///  unknown                dead                     as if it had ended
///  runs        none run   ending; after a redrive  recover
///                         for 10 s
///  runs, and its states   ending, for 31 s         recover
///              were the work
///  runs                   its stop is committed    stop both
///  runs                   another replaces it      stop both; if that one is dead, drop it
///                         that one has given up    as if no other replaced it
///                         that one is hidden       as if no other replaced it
///  runs                   hand-over unconfirmed    wake it; after 8,000 s it counts as silent
///  runs                   over a limit for 60 s    by stale policy: stop both, recover, freeze
///  runs                   dead                     mark it as a suspect
///  runs                   suspect for long enough  by stale policy, as above
///  runs, and nothing proves that it belongs         instead of a stop: freeze, or leave it with an alert
///              to the lock
///  hidden                 dead                     alert, once; after an hour freeze
///
///  the holder is a task:
///             stopped                             recover
///             unknown    dead                     recover
///             runs       dead                     recover: it has stopped its work by then
///             hidden     dead                     recover
///  the holder is no execution:
///                        its stop is committed,   recover
///                        and its hand-over
///                        is not confirmed
///  the holder is neither an execution nor a task:
///                        dead                     recover
///
///  anything else                                   leave it
/// ```
///
/// # Examples
/// ```
/// use lockstep_core::domain::{FencingToken, HolderId, Retention, Seconds, Terms, Timestamp};
/// use lockstep_core::recovery::{
///     Action, Evidence, ExecutionObservation, Ownership, TaskObservation, WorkObservation, judge,
/// };
///
/// let granted = Timestamp::from_millis(1_800_000_000_000);
/// let retention = Retention { history: Seconds::of(172_800), run_keys: Seconds::of(86_400) };
/// let terms = Terms::new(HolderId::new("worker-1")?, retention);
/// let lease = terms.lease(FencingToken::next(FencingToken::NONE, granted), granted);
///
/// // A holder that is neither an execution nor a task: only its lease tells whether it is alive.
/// let evidence = Evidence {
///     execution: ExecutionObservation::NotOne,
///     task: TaskObservation::NotOne,
///     work: WorkObservation::NotNamed,
///     replacer: ExecutionObservation::NotOne,
///     gave_up: false,
///     ownership: Ownership::NotAsked,
/// };
/// assert_eq!(judge(&lease, &evidence, granted.plus(Seconds::of(30))), Action::Leave);
/// let after = granted.plus(Seconds::of(63));
/// assert!(matches!(judge(&lease, &evidence, after), Action::Recover { .. }));
/// # Ok::<(), lockstep_core::domain::Invalid>(())
/// ```
#[must_use]
pub fn judge(lease: &Lease, evidence: &Evidence, now: Timestamp) -> Action {
    match &evidence.execution {
        ExecutionObservation::Seen(seen) => match seen.state {
            // ListTasks shows a new task up to 10 s late. An execution that ended right after RunTask
            // may have a task that is not in the answer.
            ExecutionState::Ended(_) if evidence.is_unlisted() && is_recent(seen, now) => {
                let words =
                    "the execution ended less than 10 s ago, and its work may not be listed yet";
                unsettled(lease, words)
            }
            // After an abort, Step Functions counts the execution as ended at once, and stops its tasks
            // on a best-effort basis.
            ExecutionState::Ended(_) if evidence.is_settling(now) => {
                let words =
                    "its work failed less than 31 s ago, and its tasks may still be stopping";
                unsettled(lease, words)
            }
            ExecutionState::Ended(end) => ended(lease, &evidence.work, &in_words(end), now),
            ExecutionState::Running => owned(lease, evidence, running(lease, evidence, now), now),
        },
        // A new execution may be unknown: DescribeExecution is eventually consistent
        // (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html>).
        ExecutionObservation::Unknown if !lease.is_dead(now) => Action::Leave,
        ExecutionObservation::Unknown => {
            let words = "Step Functions does not know the execution any more";
            ended(lease, &evidence.work, words, now)
        }
        ExecutionObservation::Hidden(why) | ExecutionObservation::Unanswered(why) => {
            hidden(lease, why, now)
        }
        ExecutionObservation::NotOne if is_stopped_before_confirmation(lease) => Action::Recover {
            basis: RecoveryBasis::Unconfirmed,
            succeeded: false,
            evidence: "its stop was committed before it confirmed its grant".into(),
        },
        ExecutionObservation::NotOne => not_an_execution(&evidence.task, lease.is_dead(now)),
    }
}

/// Returns whether the stop of a waiter that polls was committed before it confirmed its grant. Such a
/// waiter asks again: it would wait at the head of the queue for the end of its own lease, and block the
/// others.
fn is_stopped_before_confirmation(lease: &Lease) -> bool {
    let polls = lease
        .call
        .as_ref()
        .is_some_and(|call| call.task_token.is_none());
    polls && lease.exit.is_committed()
}

/// Returns the action on a holder that is not an execution. A holder inside a container kills its own
/// work before its lease ends, so a dead lease is enough to free its permit. Evidence about its task
/// only frees the permit sooner.
fn not_an_execution(task: &TaskObservation, dead: bool) -> Action {
    let (basis, evidence) = match task {
        TaskObservation::Seen(task) if task.stopped => {
            let why = task.stopped_reason.as_ref();
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            (RecoveryBasis::Seen, format!("its task has stopped{why}"))
        }
        // ECS may not show a new task yet.
        _ if !dead => return Action::Leave,
        TaskObservation::Unknown => {
            let words = "the lease expired, and ECS does not know the task any more";
            (RecoveryBasis::Seen, words.into())
        }
        TaskObservation::Seen(_) => {
            let words = "the lease expired, although the task is still running";
            (RecoveryBasis::Expired, words.into())
        }
        TaskObservation::Hidden(why) => {
            let words = format!("the lease expired, and the task could not be described: {why}");
            (RecoveryBasis::Expired, words)
        }
        TaskObservation::NotOne => {
            let words = "the lease expired, and the holder is neither an execution nor a task";
            (RecoveryBasis::Expired, words.into())
        }
    };
    Action::Recover {
        basis,
        succeeded: false,
        evidence,
    }
}

/// Returns whether the execution ended less than [`LIST_LAG`] ago, so that ECS may not list its last
/// task yet.
fn is_recent(seen: &ExecutionDescription, now: Timestamp) -> bool {
    seen.stopped_at.is_some_and(|at| now < at.plus(LIST_LAG))
}

/// Marks the holder as ending, if it is not. It keeps its permit until a later check by the next acquire
/// or the sweep.
fn unsettled(lease: &Lease, why: &str) -> Action {
    if lease.exit.ending.is_some() {
        return Action::Leave;
    }
    Action::Stop {
        commit: Commitment::Ending,
        execution: false,
        work: Vec::new(),
        why: why.into(),
    }
}

/// Returns the action on a holder whose evidence cannot be read. Once its lease is dead, the holder is
/// marked as a suspect with an alert, and an hour after the end of its lease the lock is frozen. The
/// mark shows that the alert was raised, so it is raised once.
///
/// An outage, a missing permission and a deleted cluster cannot be told apart. If the permit were freed,
/// the next run might start beside a live one. After a freeze an operator decides.
fn hidden(lease: &Lease, why: &str, now: Timestamp) -> Action {
    if !lease.is_dead(now) {
        return Action::Leave;
    }
    if now < lease.freezes_without_evidence_at() {
        return match lease.exit.suspect {
            None => Action::Alert {
                why: why.to_owned(),
            },
            Some(_) => Action::Leave,
        };
    }
    let stale = Staleness::Expired(lease.expires_at).to_string();
    Action::Freeze {
        why: format!("{stale}, and Lockstep cannot find out whether it is dead: {why}"),
    }
}

/// Returns the action on a holder whose execution has ended; `execution` says in words how it ended. The
/// permit is freed once the work has stopped too, because Step Functions stops tasks on a best-effort
/// basis, and ECS gives each its `stopTimeout`.
fn ended(lease: &Lease, work: &WorkObservation, execution: &str, now: Timestamp) -> Action {
    let alive = at_work(work);
    if matches!(work, WorkObservation::States(_)) && !alive.is_empty() {
        // The task is not stopped: its group and its time of creation fit the call, but it may belong to
        // another run.
        let words = "a task is still running that one of its states may have started";
        return unsettled(lease, words);
    }
    // Lockstep knows no other work than the execution, so the end of the execution is enough.
    if matches!(work, WorkObservation::NotNamed | WorkObservation::States(_)) {
        return Action::Recover {
            basis: RecoveryBasis::Seen,
            succeeded: false,
            evidence: execution.to_owned(),
        };
    }
    if let WorkObservation::Hidden(why) = work {
        return hidden(lease, why, now);
    }
    if alive.is_empty() {
        return stopped(lease, work, execution);
    }
    Action::Stop {
        // The command is executed even if the mark is set: it fails if the lease was renewed since it
        // was read, and then the work must not be stopped.
        commit: match lease.exit.is_committed() {
            true => Commitment::Done,
            false => Commitment::Ending,
        },
        execution: false,
        work: alive,
        why: match work {
            WorkObservation::Execution(_) => format!("{execution}, but its work still runs"),
            _ => format!("{execution}, but its task still runs"),
        },
    }
}

/// Returns the recovery of a holder of whose work nothing runs.
fn stopped(lease: &Lease, work: &WorkObservation, execution: &str) -> Action {
    let (succeeded, end) = match work {
        WorkObservation::Tasks(tasks) => (
            tasks_succeeded(lease, tasks),
            match tasks.len() {
                0 => "none of its tasks runs".into(),
                count => format!("{count} task(s) stopped"),
            },
        ),
        WorkObservation::Execution(Some((
            _,
            ExecutionDescription {
                state: ExecutionState::Ended(end),
                ..
            },
        ))) => (
            *end == ExecutionEnd::Succeeded,
            format!("its work is {}", end.as_str()),
        ),
        _ => (false, "its work was not started".into()),
    };
    let end = match succeeded {
        true => "its work had succeeded".into(),
        false => end,
    };
    Action::Recover {
        basis: RecoveryBasis::Seen,
        succeeded,
        evidence: format!("{execution}; {end}"),
    }
}

fn in_words(end: ExecutionEnd) -> String {
    format!("the execution is {}", end.as_str())
}
