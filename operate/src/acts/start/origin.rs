//! Finds what a start starts, and its input: from the execution of an earlier run, or from a schedule.

use super::key::check_waiters;
use crate::acts::show::existing;
use crate::contract::CheckedStart;
use crate::schedules::{ScheduleName, Schedules, SchedulesError, Tick};
use lockstep::contract::{ErrorName, InvalidRequest, STARTED_BY};
use lockstep::error::Error;
use lockstep::executions::{Executions, Start};
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{
    ExecutionArn, FencingToken, HolderId, LockKey, LockRecord, Run, RunKey, Timestamp,
};
use lockstep_core::store::{LOCKS_PAGE, LockStore};
use serde_json::Value;

/// Maximum number of pages of the history that are searched for a run key.
const PAGES_MAX: usize = 10;

/// What is started, and where its input comes from.
pub(super) struct Origin {
    pub(super) start: Start,
    /// The ARN of the execution or of the schedule that the input comes from.
    pub(super) from: String,
    /// The scheduled time; `None` for an input that comes from an execution.
    pub(super) at: Option<Timestamp>,
    /// The run key that the run will ask for; `None` if it is not known.
    pub(super) run_key: Option<RunKey>,
    /// The record of the lock; `None` for a lock that has never run.
    pub(super) record: Option<LockRecord>,
}

impl Origin {
    /// Finds what `request` asks to start.
    ///
    /// # Errors
    /// See [`run`](super::run).
    pub(super) async fn of<P: Ports>(
        deps: &Deps<P>,
        schedules: &impl Schedules,
        request: &CheckedStart,
    ) -> Result<Self, Error> {
        match &request.schedule {
            Some((schedule, at)) => {
                let tick = Tick {
                    at: *at,
                    id: &request.name,
                };
                of_schedule(deps, schedules, request, schedule, tick).await
            }
            None => of_run(deps, &request.lock, request.again.as_ref()).await,
        }
    }
}

async fn of_run<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    again: Option<&RunKey>,
) -> Result<Origin, Error> {
    let record = existing(deps, lock).await?;
    if let Some(key) = again {
        check_waiters(deps, lock, &record, key).await?;
    }
    let (holder, run_key) = latest(deps, lock, &record, again).await?;
    let execution = whole_execution(lock, &holder)?;
    let Some(mut start) = deps.executions.start_of(&execution).await? else {
        let rule = format!(
            "a lock whose execution to start again still exists in Step Functions; {execution} does not"
        );
        return Err(InvalidRequest::new("lock", format!("\"{lock}\""), rule).into());
    };
    start.input = start.input.map(without_parent);
    Ok(Origin {
        start,
        from: execution.to_string(),
        at: None,
        run_key,
        record: Some(record),
    })
}

/// Removes from the input the execution that started the earlier run. This time an operator starts the run,
/// and with that execution in its input the run would count as a retry by that execution.
fn without_parent(input: String) -> String {
    let Ok(Value::Object(mut members)) = serde_json::from_str(&input) else {
        return input;
    };
    match members.remove(STARTED_BY) {
        Some(_) => Value::Object(members).to_string(),
        None => input,
    }
}

/// Finds the only target of the schedule that starts a state machine; of several, the only one whose input
/// names the lock. The run key is `runKey` in the input, as in an input of exclusive-run.
async fn of_schedule<P: Ports>(
    deps: &Deps<P>,
    schedules: &impl Schedules,
    request: &CheckedStart,
    name: &ScheduleName,
    tick: Tick<'_>,
) -> Result<Origin, Error> {
    let CheckedStart { lock, again, .. } = request;
    let wrong = |rule| InvalidRequest::new("schedule", format!("\"{name}\""), rule);
    let found = schedules.find(name).await.map_err(error)?;
    let schedule = found.ok_or_else(|| {
        wrong("a schedule of EventBridge Scheduler, or a rule of the default event bus".into())
    })?;
    let mut starts = schedule.starts(tick).map_err(wrong)?;
    if starts.iter().any(|start| start.names(lock)) {
        starts.retain(|start| start.names(lock));
    }
    let count = starts.len();
    let (Some(start), 1) = (starts.pop(), count) else {
        let rule = format!(
            "a schedule that starts exactly one state machine for lock {lock}; it starts {count}"
        );
        return Err(wrong(rule).into());
    };
    let input = start.input.as_deref().unwrap_or_default();
    let input: Value = serde_json::from_str(input).unwrap_or_default();
    let run_key = input["runKey"].as_str().map(RunKey::new);
    let run_key = run_key.and_then(Result::ok);
    if let Some(again) = again
        .as_ref()
        .filter(|again| run_key.as_ref() != Some(again))
    {
        let has = run_key.as_ref().map_or("none", RunKey::as_str);
        let rule = format!("the run key in the input of the schedule, which is {has}");
        return Err(InvalidRequest::new("again", format!("\"{}\"", again.as_str()), rule).into());
    }
    Ok(Origin {
        start,
        from: schedule.arn,
        at: Some(tick.at),
        run_key,
        record: deps.store().load(lock).await?,
    })
}

fn error(error: SchedulesError) -> Error {
    match error {
        SchedulesError::Unavailable(why) => Error::new(ErrorName::Unavailable, why),
        SchedulesError::Denied(why) => Error::new(ErrorName::Denied, why),
    }
}

/// Returns the holder and the run key of the run to start again: the latest run, or with `again` the latest
/// run with that run key.
async fn latest<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    record: &LockRecord,
    again: Option<&RunKey>,
) -> Result<(HolderId, Option<RunKey>), Error> {
    let fits = |key: Option<&RunKey>| again.is_none_or(|asked| key == Some(asked));
    let mut holders = record.oldest_first();
    holders.retain(|(_, lease)| fits(lease.run_key.as_ref()));
    if let Some((holder, lease)) = holders.pop() {
        return Ok((holder, lease.run_key));
    }
    let mut after: Option<FencingToken> = None;
    for _ in 0..PAGES_MAX {
        let page = deps.store().history(lock, after, LOCKS_PAGE).await?;
        if again.is_none() && page.unreadable > 0 {
            let text = format!(
                "lock {lock}: this version of operate cannot read {} of its latest runs; name the run to start by its run \
                 key, as `again`",
                page.unreadable
            );
            return Err(Error::new(ErrorName::Corrupt, text));
        }
        let found = page.runs.into_iter().find(|run| fits(run.run_key.as_ref()));
        match (found, page.next) {
            (
                Some(Run {
                    holder, run_key, ..
                }),
                _,
            ) => return Ok((holder, run_key)),
            (None, Some(next)) => after = Some(next),
            (None, None) => break,
        }
    }
    Err(match again {
        Some(key) => {
            let rule = format!("the run key of one of the latest runs of lock {lock}");
            InvalidRequest::new("again", format!("\"{}\"", key.as_str()), rule)
        }
        None => {
            let rule = "a lock with a run in its history";
            InvalidRequest::new("lock", format!("\"{lock}\""), rule)
        }
    }
    .into())
}

/// Returns the execution whose ARN is exactly the name of `holder`.
///
/// # Errors
/// [`InvalidRequest`] for a holder that cannot be started by itself:
/// - a process;
/// - one of several holders of one execution;
/// - a child execution of a Distributed Map, whose ARN has the map run after the state machine
///   (<https://docs.aws.amazon.com/step-functions/latest/dg/state-map-distributed.html>).
fn whole_execution(lock: &LockKey, holder: &HolderId) -> Result<ExecutionArn, InvalidRequest> {
    let execution = ExecutionArn::of_holder(holder)
        .filter(|arn| arn.as_str() == holder.as_str() && !arn.state_machine().contains('/'));
    execution.ok_or_else(|| {
        let rule = format!(
            "a lock whose run is an execution of Step Functions as a whole, and not {holder}"
        );
        InvalidRequest::new("lock", format!("\"{lock}\""), rule)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_drops_the_execution_that_started_the_earlier_run() {
        let by = format!(r#"{{"lock":"a","{STARTED_BY}":"arn:…:execution:caller:one"}}"#);
        assert_eq!(without_parent(by), r#"{"lock":"a"}"#);
        for other in [r#"{ "lock": "a", "size": 1.0 }"#, "[1]", "no JSON"] {
            assert_eq!(without_parent(other.to_owned()), other);
        }
    }
}
