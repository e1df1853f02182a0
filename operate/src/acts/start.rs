//! Starts a run of a lock: an execution of its workflow, with the input of an earlier execution or of a
//! schedule.
//!
//! ```text
//!  the latest run, that of a run key, or a schedule ─▶ what is started ─▶ does it name the lock?
//!    ─▶ was it started under this id before? ─▶ is its run key free? ─▶ may it be started?
//!    ─▶ the success of the run key is forgotten ─▶ StartExecution ─▶ an entry in the history
//! ```
//!
//! The new execution acquires the lock by itself, so its overlap policy and a pause of the lock apply.
//!
//! The input comes from an execution of this lock or from a schedule that is deployed for this lock, and
//! never from the caller. So a caller who may start a run cannot start anything else.
//!
//! The success of the run key is forgotten last, when only StartExecution itself can still fail. Once the
//! success is forgotten, any delivery of the trigger can run under the key.

mod key;
mod origin;

use self::key::taken_key;
use self::origin::Origin;
use super::clear;
use crate::contract::{CheckedForget, CheckedStart, StartResponse, StartStatus};
use crate::schedules::Schedules;
use lockstep::contract::{ErrorName, InvalidRequest};
use lockstep::error::Error;
use lockstep::executions::{Executions, Start};
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{AuditNote, Command, ExecutionArn, Forget, RunKey, rfc3339};
use lockstep_core::store::LockIndex;

/// Longest input of an execution, in bytes
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html>).
const INPUT_MAX: usize = 262_144;

/// Starts the run. With `dryRun`, checks everything and returns what would be started.
///
/// # Errors
/// `Lockstep.InvalidRequest` for:
/// - a lock whose latest run is not a whole execution;
/// - a run key that none of the latest 1,000 runs has;
/// - a schedule that starts nothing for the lock;
/// - a run key that has had its success, without `again`: the new run would be a duplicate;
/// - an `id` that belongs to another start.
///
/// `LockHeld` if a holder, a waiter or a run that continues without its permit has the run key. `Unavailable`
/// and `Denied` if a call to Step Functions or EventBridge failed.
pub(super) async fn run<P: Ports>(
    deps: &Deps<P>,
    schedules: &impl Schedules,
    request: CheckedStart,
) -> Result<StartResponse, Error>
where
    P::Store: LockIndex,
{
    let CheckedStart {
        lock, again, name, ..
    } = &request;
    if let Some(started) = noted(deps, &request).await? {
        return Ok(started_earlier(&request, &started));
    }
    let origin = Origin::of(deps, schedules, &request).await?;
    if let Some(started) = started_before(deps, &request, &origin.start).await? {
        if !request.dry_run {
            note(deps, &request, &started).await?;
        }
        return Ok(started_earlier(&request, &started));
    }
    let response = would_start(&request, &origin);
    check_length(&request, &origin)?;
    let taken = match &origin.run_key {
        Some(key) => taken_key(deps, lock, origin.record.as_ref(), key, again.is_some()).await?,
        None => None,
    };
    // A caller of acquire-lock chooses the name of its holder, so the history may name an execution of
    // another workflow. A request may also name any schedule. So the input or the definition has to name the
    // lock.
    if !deps.executions.check_start(&origin.start, lock).await? {
        let (from, machine) = (&origin.from, &origin.start.state_machine);
        let rule = format!(
            "a lock that is named in the input of {from} or in the definition of {machine}"
        );
        return Err(InvalidRequest::new("lock", format!("\"{lock}\""), rule).into());
    }
    if request.dry_run {
        return Ok(response);
    }
    let started = start(deps, &request, &origin.start, name, taken).await?;
    let message = response.message.replacen("would start", "started", 1);
    Ok(StartResponse {
        status: StartStatus::Started,
        message: format!("{message}: {started}"),
        execution_arn: Some(started.to_string()),
        ..response
    })
}

/// Checks the length of the input before the success of the run key is forgotten.
///
/// # Errors
/// `Lockstep.InvalidRequest` for an input of a schedule that is too long for StartExecution.
fn check_length(request: &CheckedStart, origin: &Origin) -> Result<(), InvalidRequest> {
    let length = origin.start.input.as_ref().map_or(0, String::len);
    match &request.schedule {
        Some((name, _)) if length > INPUT_MAX => {
            let rule =
                format!("a schedule whose input has at most {INPUT_MAX} bytes; it has {length}");
            Err(InvalidRequest::new("schedule", format!("\"{name}\""), rule))
        }
        _ => Ok(()),
    }
}

fn would_start(request: &CheckedStart, origin: &Origin) -> StartResponse {
    let (machine, time) = (&origin.start.state_machine, origin.at.map(rfc3339));
    let at = time
        .as_ref()
        .map_or_else(String::new, |time| format!(" at {time}"));
    StartResponse {
        lock: request.lock.to_string(),
        status: StartStatus::WouldStart,
        state_machine_arn: machine.to_string(),
        message: format!(
            "would start {machine} with the input of {}{at}",
            origin.from
        ),
        from: Some(origin.from.clone()),
        scheduled_time: time,
        execution_arn: None,
        run_key: origin.run_key.as_ref().map(|key| key.as_str().to_owned()),
    }
}

/// Forgets the success of the run key `taken`, if there is one, and starts the execution under `name`.
async fn start<P: Ports>(
    deps: &Deps<P>,
    request: &CheckedStart,
    start: &Start,
    name: &str,
    taken: Option<RunKey>,
) -> Result<ExecutionArn, Error>
where
    P::Store: LockIndex,
{
    let CheckedStart { lock, audit, .. } = request;
    if let Some(run_key) = taken {
        let (lock, audit) = (lock.clone(), audit.clone());
        let key = run_key.as_str().to_owned();
        let forget = Forget { run_key, audit };
        let freed = clear::forget(deps, CheckedForget { lock, forget }).await;
        if freed
            .as_ref()
            .is_err_and(|error| error.name() == ErrorName::InvalidRequest)
        {
            let text = format!(
                "another request is starting run key {key} again; repeat this request: it starts nothing twice"
            );
            return Err(Error::new(ErrorName::Contended, text));
        }
        freed?;
    }
    let started = deps.executions.start(start, name).await?;
    note(deps, request, &started).await?;
    Ok(started)
}

/// Writes the start to the history.
async fn note<P: Ports>(
    deps: &Deps<P>,
    request: &CheckedStart,
    started: &ExecutionArn,
) -> Result<(), Error> {
    let CheckedStart { lock, audit, .. } = request;
    let noted = AuditNote {
        note: format!("{started}: {}", audit.note),
        ..audit.clone()
    };
    deps.carry_out(lock, &Command::NoteStart(noted)).await?;
    Ok(())
}

/// Returns the response to a repetition of a request. It does not look up the schedule again, because the
/// schedule may have changed since the first request.
fn started_earlier(request: &CheckedStart, started: &ExecutionArn) -> StartResponse {
    StartResponse {
        lock: request.lock.to_string(),
        status: StartStatus::Started,
        state_machine_arn: started.state_machine(),
        from: None,
        scheduled_time: None,
        message: format!("{started} was started by an earlier request with this id"),
        execution_arn: Some(started.to_string()),
        run_key: None,
    }
}

/// Returns the execution that the history names as started by an earlier request with the same id.
async fn noted<P: Ports>(
    deps: &Deps<P>,
    request: &CheckedStart,
) -> Result<Option<ExecutionArn>, Error>
where
    P::Store: LockIndex,
{
    let acts = deps.store().acts(&request.lock).await?;
    let of_start = format!(":{}: ", request.name);
    let mut notes = acts.iter().filter_map(|act| act.note.as_deref());
    let arn = notes.find_map(|note| note.split_once(&of_start));
    Ok(arn.and_then(|(arn, _)| ExecutionArn::new(format!("{arn}:{}", request.name)).ok()))
}

/// Returns the execution that an earlier request with the same id started, as Step Functions shows it. Its
/// run may have succeeded since, and the repetition must not forget that success.
///
/// # Errors
/// `Lockstep.InvalidRequest` if the execution with that name does not belong to the lock.
async fn started_before<P: Ports>(
    deps: &Deps<P>,
    request: &CheckedStart,
    start: &Start,
) -> Result<Option<ExecutionArn>, Error> {
    let earlier = start.execution(&request.name)?;
    if deps.executions.describe(&earlier).await?.is_none() {
        return Ok(None);
    }
    if deps.executions.names_lock(&earlier, &request.lock).await? {
        return Ok(Some(earlier));
    }
    let rule = format!("new: {earlier} exists already and does not belong to this lock");
    Err(InvalidRequest::new("id", format!("of \"{}\"", request.name), rule).into())
}
