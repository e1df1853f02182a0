//! Reads items as records, runs and waiters, strictly.
//!
//! Attributes that this version does not know are ignored and kept: an update writes single attributes, so a
//! newer version may add attributes under the same schema number.
//!
//! A value that breaks its rule is [`StoreError::Corrupt`], with the item, the attribute and the rule. A
//! default in its place could grant a permit that is held. An operator repairs the item by hand. Until then
//! every request to the lock fails, and nothing overwrites the item.
//!
//! An attribute may be missing only where its absence has a meaning, or where an older version did not write
//! it.

use super::item::{
    ACT, Attributes, EXPECT_EVERY, EXPECT_FROM, FROZEN, KEY_RETENTION, LAST_FAILURE, LAST_SUCCESS,
    MISSED_AT, OPEN, OVER, PAUSED, PAUSED_UNTIL, QUEUED_AT, RECORD, SCHEMA, STALE, STATES, STOPPED,
    run_name, waiter_name,
};
use super::reader::Reader;
use lockstep_core::domain::{
    Act, ActKind, Call, Ending, EndingCause, Exit, Expectation, FencingToken, HolderId, Invalid,
    Lease, LockKey, LockRecord, Mode, Pace, Permits, Retention, Run, RunEnd, RunId, RunKey,
    RunOutcome, StalePolicy, StateMachineArn, TaskEnd, TaskSet, TaskToken, Terms, Ticket, Waiter,
    WaiterId, Work,
};
use lockstep_core::store::StoreError;

/// Reads a record.
pub(super) fn record(lock: &LockKey, item: &Attributes) -> Result<LockRecord, StoreError> {
    let name = format!("{lock}/{RECORD}");
    let reader = Reader::new(&name, item);
    check_schema(&reader)?;
    let mut record = LockRecord::new(permits(&reader)?);
    record.version = reader.number("version")?;
    record.last_token = FencingToken::from_number(reader.number("lastToken")?);
    record.last_ticket = Ticket::from_number(reader.integer("lastTicket")?);
    record.front_ticket = Ticket::from_number(reader.integer("frontTicket")?);
    record.gate.not_before = reader.time("notBefore")?;
    record.due = reader.time_if_any("dueAt")?;
    record.gate.mode = mode(&reader)?;
    record.last_success = reader.time_if_any(LAST_SUCCESS)?;
    record.last_failure = reader.time_if_any(LAST_FAILURE)?;
    record.expectation = expectation(&reader)?;
    let holders = reader.map("holders")?;
    for name in holders.names() {
        let holder = valid_or_corrupt(&holders, name, HolderId::new(name))?;
        let lease = lease(&holders.map(name)?)?;
        record.holders.insert(holder, lease);
    }
    let queue = reader.map("queue")?;
    for name in queue.names() {
        let waiter = valid_or_corrupt(&queue, name, WaiterId::new(name))?;
        let ticket = Ticket::from_number(queue.integer(name)?);
        record.queue.insert(waiter, ticket);
    }
    // The record may have been written by another version, or by hand, so its invariants are checked.
    record
        .check_invariants()
        .map_err(|broken| reader.corrupt(broken.attribute, format!("breaks a rule: {broken}")))?;
    Ok(record)
}

fn expectation(reader: &Reader<'_>) -> Result<Option<Expectation>, StoreError> {
    let Some(every) = reader.length_if_any(EXPECT_EVERY)? else {
        return Ok(None);
    };
    Ok(Some(Expectation {
        every,
        from: reader.time(EXPECT_FROM)?,
        missed_at: reader.time_if_any(MISSED_AT)?,
    }))
}

/// Reads a run.
pub(super) fn run(lock: &LockKey, id: &RunId, item: &Attributes) -> Result<Run, StoreError> {
    let name = format!("{lock}/{}", run_name(id));
    let reader = Reader::new(&name, item);
    check_schema(&reader)?;
    let lease = reader.has("lease").then(|| lease(&reader.map("lease")?));
    Ok(Run {
        holder: holder(&reader, "holder")?,
        token: FencingToken::from_number(reader.number("token")?),
        run_key: key(&reader)?,
        end: run_end(&reader)?,
        task: task(&reader)?,
        lease: lease.transpose()?.map(Box::new),
        beat: task_token(&reader)?,
    })
}

/// Reads the act that wrote `version` of the record.
pub(super) fn act(lock: &LockKey, version: u64, item: &Attributes) -> Result<Act, StoreError> {
    let name = format!("{lock}/{ACT}{version}");
    let reader = Reader::new(&name, item);
    check_schema(&reader)?;
    Ok(Act {
        version,
        kind: of_words(&reader, ActKind::ALL, ActKind::as_str)?,
        actor: holder(&reader, "holder")?,
        token: FencingToken::from_number(reader.number("token")?),
        at: reader.time("endedAt")?,
        retain_until: reader.time("retainUntil")?,
        note: reader.text_if_any("evidence")?.map(str::to_owned),
    })
}

/// Reads the attribute `outcome`: one of `all`, by its word.
fn of_words<T: Copy, const N: usize>(
    reader: &Reader<'_>,
    all: [T; N],
    word: fn(T) -> &'static str,
) -> Result<T, StoreError> {
    let outcome = reader.text("outcome")?;
    let mut known = all.into_iter();
    known.find(|known| word(*known) == outcome).ok_or_else(|| {
        let words = all.map(word).join(", ");
        reader.corrupt("outcome", format!("is not one of {words}"))
    })
}

/// Reads the side item of a waiter.
pub(super) fn waiter(
    lock: &LockKey,
    id: &WaiterId,
    item: &Attributes,
) -> Result<Waiter, StoreError> {
    let name = format!("{lock}/{}", waiter_name(id));
    let reader = Reader::new(&name, item);
    check_schema(&reader)?;
    let history = reader.length("retentionMs")?;
    let run_keys = reader.length_if_any(KEY_RETENTION)?;
    let terms = Terms {
        holder: holder(&reader, "holder")?,
        permits: permits(&reader)?,
        lease: reader.length("leaseMs")?,
        heartbeat: reader.length("beatMs")?,
        max_run: reader.length_if_any("maxRunMs")?,
        no_progress: reader.length_if_any("noProgressMs")?,
        stale: stale(&reader)?,
        min_interval: reader.length_if_any("minIntervalMs")?,
        expect_every: reader.length_if_any(EXPECT_EVERY)?,
        run_key: key(&reader)?,
        work: work(&reader)?,
        retention: Retention {
            history,
            // Written only if it differs from the retention of the history.
            run_keys: run_keys.unwrap_or(history),
        },
        parent: holder_if_any(&reader, "parent")?,
        redrives: redrives(&reader)?,
    };
    let since = reader.time("since")?;
    Ok(Waiter {
        terms,
        task_token: task_token(&reader)?,
        wait_until: reader.time_if_any("waitUntil")?,
        since,
        // An item written by an earlier version has only the time of the latest registration.
        queued_at: reader.time_if_any(QUEUED_AT)?.unwrap_or(since),
    })
}

/// Reads the end of a run. Returns `None` for a run that has not ended.
///
/// Attributes of an end without an outcome are an error: otherwise the run would count as one that has not
/// ended.
fn run_end(reader: &Reader<'_>) -> Result<Option<RunEnd>, StoreError> {
    if !reader.has("outcome") {
        let stray = ["endedAt", "retainUntil", "evidence"]
            .into_iter()
            .find(|name| reader.has(name));
        return stray.map_or(Ok(None), |name| {
            Err(reader.corrupt(name, "is there without an outcome"))
        });
    }
    Ok(Some(RunEnd {
        outcome: of_words(reader, RunOutcome::ALL, RunOutcome::as_str)?,
        at: reader.time("endedAt")?,
        retain_until: reader.time("retainUntil")?,
        evidence: reader.text_if_any("evidence")?.map(str::to_owned),
    }))
}

fn task(reader: &Reader<'_>) -> Result<Option<TaskEnd>, StoreError> {
    let Some(arn) = reader.text_if_any("taskArn")? else {
        return Ok(None);
    };
    Ok(Some(TaskEnd {
        arn: arn.to_owned(),
        version: reader.number("taskVersion")?,
        runtime_id: reader.text_if_any("runtimeId")?.map(str::to_owned),
        exit_code: reader.integer_if_any("exitCode")?,
        reason: reader.text_if_any("taskReason")?.map(str::to_owned),
    }))
}

fn lease(reader: &Reader<'_>) -> Result<Lease, StoreError> {
    let call = reader.has("call").then(|| {
        let call = reader.map("call")?;
        Ok(Call {
            task_token: task_token(&call)?,
            since: call.time_if_any("since")?.unwrap_or_default(),
        })
    });
    Ok(Lease {
        token: FencingToken::from_number(reader.number("token")?),
        expires_at: reader.time("expiresAt")?,
        pace: Pace {
            length: reader.length("leaseMs")?,
            heartbeat: reader.length("beatMs")?,
        },
        run_until: reader.time_if_any("runUntil")?,
        max_run: reader.length_if_any("maxRunMs")?,
        no_progress: reader.length_if_any("noProgressMs")?,
        stalls_at: reader.time_if_any("stallsAt")?,
        expect_every: reader.length_if_any(EXPECT_EVERY)?,
        progress: reader.text_if_any("progress")?.map(str::to_owned),
        stale: stale(reader)?,
        run_key: key(reader)?,
        work: work(reader)?,
        beat: task_token(reader)?,
        call: call.transpose()?,
        exit: Exit {
            suspect: reader.time_if_any("suspectAt")?,
            replaced_by: holder_if_any(reader, "replacedBy")?,
            ending: ending(reader)?,
        },
        redrives: redrives(reader)?,
        parent: holder_if_any(reader, "parent")?,
    })
}

/// Reads why and since when a holder is ending.
///
/// An eviction without its stop is an error: otherwise heartbeats would renew the lease of an evicted holder.
fn ending(reader: &Reader<'_>) -> Result<Option<Ending>, StoreError> {
    let evicted = reader.text_if_any("evicted")?.map(str::to_owned);
    let cause = match (reader.text_if_any("ending")?, evicted) {
        (None, None) => return Ok(None),
        (Some(OVER), None) => EndingCause::Over,
        (Some(STOPPED), None) => EndingCause::Stopped,
        (Some(STOPPED), Some(why)) => EndingCause::Evicted(why),
        (None | Some(OVER), Some(_)) => {
            return Err(reader.corrupt("evicted", "is there without the ending stopped"));
        }
        _ => return Err(reader.corrupt("ending", "is not one of over, stopped")),
    };
    let since = reader.time("endingAt")?;
    Ok(Some(Ending { since, cause }))
}

/// Reads the number of redrives. A missing attribute is 0, because most runs are never redriven.
fn redrives(reader: &Reader<'_>) -> Result<u32, StoreError> {
    if !reader.has("redrives") {
        return Ok(0);
    }
    let count = u32::try_from(reader.number("redrives")?);
    count.map_err(|_| reader.corrupt("redrives", "is above 4294967295"))
}

pub(super) fn mode(reader: &Reader<'_>) -> Result<Mode, StoreError> {
    // An operator may set the mode by hand and leave the note out.
    let note = reader.text_if_any("note")?.unwrap_or_default().to_owned();
    let until = reader.time_if_any(PAUSED_UNTIL)?;
    match reader.text("mode")? {
        OPEN => Ok(Mode::Open),
        PAUSED => Ok(Mode::Paused { note, until }),
        FROZEN => Ok(Mode::Frozen { note }),
        _ => Err(reader.corrupt("mode", "is not one of open, paused, frozen")),
    }
}

/// Reads the stale policy. A missing attribute is the default policy.
fn stale(reader: &Reader<'_>) -> Result<StalePolicy, StoreError> {
    let Some(word) = reader.text_if_any("stale")? else {
        return Ok(StalePolicy::default());
    };
    let known = STALE.iter().find(|(_, known)| *known == word);
    known
        .map(|(stale, _)| *stale)
        .ok_or_else(|| reader.corrupt("stale", "is not one of terminate, yield, hold"))
}

/// Reads the work of a run. The attributes that exist tell its kind.
fn work(reader: &Reader<'_>) -> Result<Option<Work>, StoreError> {
    let family = reader.text_if_any("family")?.map(str::to_owned);
    let cluster = reader.text_if_any("cluster")?.map(str::to_owned);
    let container = reader.text_if_any("container")?.map(str::to_owned);
    if let Some(cluster) = cluster {
        return Ok(Some(Work::Tasks(TaskSet {
            cluster,
            family,
            container,
        })));
    }
    match reader.text_if_any("work")? {
        Some(STATES) => return Ok(Some(Work::States)),
        Some(_) => return Err(reader.corrupt("work", "is not states")),
        None => {}
    }
    let machine = reader.text_if_any("stateMachine")?;
    let machine =
        machine.map(|arn| valid_or_corrupt(reader, "stateMachine", StateMachineArn::new(arn)));
    Ok(machine.transpose()?.map(Work::Workflow))
}

fn permits(reader: &Reader<'_>) -> Result<Permits, StoreError> {
    let permits = i64::try_from(reader.number("permits")?).unwrap_or(i64::MAX);
    valid_or_corrupt(reader, "permits", Permits::new(permits))
}

fn holder(reader: &Reader<'_>, name: &str) -> Result<HolderId, StoreError> {
    valid_or_corrupt(reader, name, HolderId::new(reader.text(name)?))
}

fn holder_if_any(reader: &Reader<'_>, name: &str) -> Result<Option<HolderId>, StoreError> {
    let there = reader.has(name);
    there.then(|| holder(reader, name)).transpose()
}

fn key(reader: &Reader<'_>) -> Result<Option<RunKey>, StoreError> {
    let key = reader.text_if_any("runKey")?.map(RunKey::new);
    key.map(|key| valid_or_corrupt(reader, "runKey", key))
        .transpose()
}

fn task_token(reader: &Reader<'_>) -> Result<Option<TaskToken>, StoreError> {
    let token = reader.text_if_any("taskToken")?.map(TaskToken::of_record);
    token
        .map(|token| valid_or_corrupt(reader, "taskToken", token))
        .transpose()
}

/// Rejects every schema number but [`SCHEMA`]: it is of a layout that this version does not know. Such items
/// may exist after a rollback.
pub(super) fn check_schema(reader: &Reader<'_>) -> Result<(), StoreError> {
    match reader.number("schema")? {
        SCHEMA => Ok(()),
        other => Err(reader.corrupt("schema", format!("is {other}; this version reads {SCHEMA}"))),
    }
}

/// Converts the error of a value that breaks the rule of its type to the error of the attribute `name`.
fn valid_or_corrupt<T>(
    reader: &Reader<'_>,
    name: &str,
    value: Result<T, Invalid>,
) -> Result<T, StoreError> {
    value.map_err(|invalid| reader.corrupt(name, format!("must be {}", invalid.rule)))
}
