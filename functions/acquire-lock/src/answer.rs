//! From what the protocol says to what the caller reads.

use lockstep::contract::{
    AcquireResponse, CheckedAcquire, Duplicate, EnvironmentVariable, Grant, Granted, Overlap,
    Skipped, rfc3339,
};
use lockstep::domain::{HolderId, Lease, Outcome, Refusal, Run, RunKey, Timestamp};
use lockstep::error::{Error, held_by};
use lockstep::tasks::task_group;

/// The answer to a caller that holds a permit.
pub(crate) fn held(request: &CheckedAcquire, table: &str, outcome: Outcome) -> AcquireResponse {
    match outcome {
        Outcome::Granted { lease, taken_from } => {
            let from = taken_from
                .first()
                .map(|(holder, _)| holder.as_str().to_owned());
            AcquireResponse::Granted(granted(request, table, &lease, from))
        }
        Outcome::AlreadyHeld { lease } => {
            AcquireResponse::AlreadyHeld(granted(request, table, &lease, None))
        }
        other => unreachable!("an acquire never comes to {other:?}"),
    }
}

/// The answer to a caller that gets no permit: data where the request asked for data.
pub(crate) fn refused(
    request: &CheckedAcquire,
    refusal: Refusal,
) -> Result<AcquireResponse, Error> {
    match (refusal, request.overlap) {
        (Refusal::Duplicate { run_key, run }, _) => Ok(AcquireResponse::Duplicate(duplicate(
            request, &run_key, &run,
        ))),
        (Refusal::Held { holders, .. }, Overlap::Skip) => {
            Ok(AcquireResponse::Skipped(full(request, &holders)))
        }
        (Refusal::TooSoon { not_before }, Overlap::Skip) => {
            Ok(AcquireResponse::Skipped(resting(request, not_before)))
        }
        (refusal, _) => Err(Error::of_refusal(&request.lock, refusal)),
    }
}

fn granted(
    request: &CheckedAcquire,
    table: &str,
    lease: &Lease,
    taken_from: Option<String>,
) -> Granted {
    let holder = &request.acquire.holder;
    Granted {
        grant: Grant::of(&request.lock, holder, lease.token, lease.run_key.as_ref()),
        expires_at: rfc3339(lease.expires_at),
        heartbeat_seconds: request.heartbeat.get(),
        task_group: task_group(&request.lock, holder),
        environment: environment(request, table, lease),
        taken_from,
    }
}

fn environment(request: &CheckedAcquire, table: &str, lease: &Lease) -> Vec<EnvironmentVariable> {
    let values = [
        ("LOCKSTEP_LOCK", request.lock.to_string()),
        ("LOCKSTEP_HOLDER", request.acquire.holder.to_string()),
        ("LOCKSTEP_FENCING_TOKEN", lease.token.to_string()),
        ("LOCKSTEP_TABLE", table.to_owned()),
    ];
    values
        .map(|(name, value)| EnvironmentVariable {
            name: name.into(),
            value,
        })
        .into()
}

fn full(request: &CheckedAcquire, holders: &[(HolderId, Lease)]) -> Skipped {
    let oldest = holders.first();
    let clear = oldest.map_or_else(String::new, |(holder, _)| {
        let execution = holder.as_str().split('#').next().unwrap_or_default();
        format!(
            "; it frees itself when the run ends, or when its lease runs out; to end it now: aws \
             stepfunctions stop-execution --execution-arn {execution}"
        )
    });
    Skipped {
        lock: request.lock.to_string(),
        holder: oldest.map(|(holder, _)| holder.to_string()),
        since: oldest.map(|(_, lease)| rfc3339(lease.token.granted_at())),
        expires_at: oldest.map(|(_, lease)| rfc3339(lease.expires_at)),
        held: u32::try_from(holders.len()).unwrap_or(u32::MAX),
        not_before: None,
        message: format!("lock {} is {}{clear}", request.lock, held_by(holders)),
    }
}

fn resting(request: &CheckedAcquire, not_before: Timestamp) -> Skipped {
    let at = rfc3339(not_before);
    Skipped {
        lock: request.lock.to_string(),
        holder: None,
        since: None,
        expires_at: None,
        held: 0,
        message: format!(
            "lock {} is free, but rests until {at}: its last grant asked for that distance \
             (minIntervalSeconds)",
            request.lock
        ),
        not_before: Some(at),
    }
}

fn duplicate(request: &CheckedAcquire, run_key: &RunKey, run: &Run) -> Duplicate {
    let since = rfc3339(run.token.granted_at());
    let ended_at = run.end.map(|end| rfc3339(end.at));
    let state = ended_at.as_ref().map_or_else(
        || "runs it right now".to_owned(),
        |at| format!("ran it and succeeded at {at}"),
    );
    Duplicate {
        lock: request.lock.to_string(),
        run_key: run_key.as_str().to_owned(),
        holder: run.holder.to_string(),
        token: i64::try_from(run.token.number()).unwrap_or(i64::MAX),
        message: format!(
            "{} {state}; this trigger has nothing left to do",
            run.holder
        ),
        since,
        ended_at,
    }
}
