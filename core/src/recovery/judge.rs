//! From evidence to action: a pure function.
//!
//! The table below is the whole policy of recovery. It is asked by the next acquire, by the events
//! of ECS and Step Functions, and by the sweep, so that they never judge the same evidence
//! differently.
//!
//! Two mistakes are possible, and only one of them is harmless. A dead holder that is left costs
//! time: a later check frees it. A living one that is freed has two runs at work. So an answer that
//! is missing is never taken for an end.

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

/// Returns what to do about the holder of `lease`.
///
/// ```text
///  execution   tasks      lease                    action
///  just ended  none seen                           mark it as ending
///  ended       cut off a moment ago                mark it as ending
///  ended       none run                            recover, as succeeded if their work had
///  ended       some run                            stop the tasks
///  ended       one may run that a failed RunTask   mark it as ending
///              of its states started
///  unknown                expired                  as if it had ended
///  runs        none run   ending                   recover
///  runs, and its states   ending, for 30 s         recover
///              were the work
///  runs                   its stop is committed    stop both
///  runs                   another replaces it      stop both; if that one is dead, drop it
///                         and has given up         as if no other replaced it
///                         and is hidden            as if no other replaced it
///  runs                   hand-over unconfirmed    wake it; after 8,000 s it counts as silent
///  runs                   a limit is exceeded      by stale policy: stop both, recover, freeze
///  runs                   expired                  mark it as a suspect
///  runs                   suspect for long enough  by stale policy, as above
///  runs, and is not shown to belong to the lock     instead of a stop: freeze, or leave it with an alert
///  hidden                 expired                  alert, once; after an hour freeze
///
///  not one, but a task:
///             stopped                             recover
///             unknown    expired                  recover
///             runs       expired                  recover: it has stopped its work by then
///             hidden     expired                  recover
///  neither               stopped, and not confirmed: recover
///  neither               expired                  recover
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
            // ECS lists a new task some moments late: an execution that ends right after RunTask
            // may have one that is not in the answer.
            ExecutionState::Ended(_) if evidence.is_unlisted() && is_recent(seen, now) => {
                let words = "the execution has just ended, and its work may not be listed yet";
                unsettled(lease, words)
            }
            // Step Functions counts an aborted execution as ended at once, and stops what that had
            // started on a best-effort basis.
            ExecutionState::Ended(_) if evidence.is_settling(now) => {
                let words = "its work was cut off, and what it started may still be stopping";
                unsettled(lease, words)
            }
            ExecutionState::Ended(end) => ended(lease, &evidence.work, &in_words(end), now),
            ExecutionState::Running => owned(lease, evidence, running(lease, evidence, now), now),
        },
        // A new execution may not be known yet: DescribeExecution is eventually consistent
        // (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html>).
        ExecutionObservation::Unknown if !lease.is_dead(now) => Action::Leave,
        ExecutionObservation::Unknown => {
            let words = "Step Functions does not know the execution any more";
            ended(lease, &evidence.work, words, now)
        }
        ExecutionObservation::Hidden(why) => hidden(lease, why, now),
        ExecutionObservation::NotOne if never_began(lease) => Action::Recover {
            basis: RecoveryBasis::Unconfirmed,
            succeeded: false,
            evidence: "its stop was committed before it asked for its turn again".into(),
        },
        ExecutionObservation::NotOne => not_an_execution(&evidence.task, lease.is_dead(now)),
    }
}

/// Returns whether the stop of a waiter that polls was committed before it learned of its grant. It asks
/// again, and would wait at the head of the queue for the end of its own lease, with the others behind
/// it.
fn never_began(lease: &Lease) -> bool {
    let polls = lease
        .call
        .as_ref()
        .is_some_and(|call| call.task_token.is_none());
    polls && lease.exit.is_committed()
}

/// A holder inside a container kills its own work before its lease ends. So the end of the lease is
/// enough to free its permit, and evidence of its task only frees it sooner.
fn not_an_execution(task: &TaskObservation, dead: bool) -> Action {
    let (basis, evidence) = match task {
        TaskObservation::Seen(task) if task.stopped => {
            let why = task.stopped_reason.as_ref();
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            (RecoveryBasis::Seen, format!("its task has stopped{why}"))
        }
        // ECS may not know a task yet that began a moment ago.
        _ if !dead => return Action::Leave,
        TaskObservation::Unknown => {
            let words = "the lease ran out, and ECS does not know the task any more";
            (RecoveryBasis::Seen, words.into())
        }
        TaskObservation::Seen(_) => {
            let words = "the lease ran out, though the task still runs";
            (RecoveryBasis::Expired, words.into())
        }
        TaskObservation::Hidden(why) => {
            let words = format!("the lease ran out, and the task could not be described: {why}");
            (RecoveryBasis::Expired, words)
        }
        TaskObservation::NotOne => {
            let words = "the lease ran out, and the holder is no execution that could be asked";
            (RecoveryBasis::Expired, words.into())
        }
    };
    Action::Recover {
        basis,
        succeeded: false,
        evidence,
    }
}

/// Returns whether the execution has ended so recently that ECS may not list its last task yet.
fn is_recent(seen: &ExecutionDescription, now: Timestamp) -> bool {
    seen.stopped_at.is_some_and(|at| now < at.plus(LIST_LAG))
}

/// The holder keeps its permit until a later check, by the next acquire or the sweep.
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

/// The evidence cannot be read: the holder is marked as a suspect with an alert, and after an hour its lock is
/// frozen. The mark stands for the alert, which is raised once.
///
/// An outage, a missing permission and a deleted cluster give the same failure. Freeing the permit
/// would start the next run beside one that may be alive; a freeze has an operator decide.
fn hidden(lease: &Lease, why: &str, now: Timestamp) -> Action {
    if !lease.is_dead(now) {
        return Action::Leave;
    }
    if now < lease.hidden_until() {
        return match lease.exit.suspect {
            None => Action::Alert {
                why: why.to_owned(),
            },
            Some(_) => Action::Leave,
        };
    }
    let stale = Staleness::Expired(lease.expires_at).to_string();
    Action::Freeze {
        why: format!("{stale}, and whether it is dead cannot be learnt: {why}"),
    }
}

/// Returns the action on a holder whose execution is over; `execution` says how, as evidence. Its permit
/// is free once its work has stopped, too: Step Functions stops that on a best-effort basis, and ECS
/// gives it its `stopTimeout`.
fn ended(lease: &Lease, work: &WorkObservation, execution: &str, now: Timestamp) -> Action {
    let alive = at_work(work);
    if matches!(work, WorkObservation::States(_)) && !alive.is_empty() {
        // Not stopped: its group and the time of its start fit, which a task of somebody else may do too.
        let words = "a task still runs that one of its states may have started";
        return unsettled(lease, words);
    }
    // No work is known beside the execution, so its end is all that there is to wait for.
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
        // The mark is requested even if it is set: this work is to be stopped only if the lease has
        // not been renewed since it was seen.
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

/// Returns the recovery of a holder whose work does not run.
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
