//! Items as records and runs, read strictly.
//!
//! Attributes that this version does not know are left alone: updates go by attribute, so a newer
//! version may add some under the same schema number.

use super::item::{
    Attributes, FAILED, FROZEN, LOST, OPEN, PAUSED, RECORD, SCHEMA, SUCCEEDED, run_name,
};
use super::reader::Reader;
use crate::domain::{
    FencingToken, HolderId, Invalid, Lease, LockKey, LockRecord, Mode, Permits, Run, RunEnd, RunId,
    RunKey, RunOutcome, Seconds, TaskToken,
};
use crate::store::StoreError;

/// The record of an item.
pub(super) fn record(lock: &LockKey, item: &Attributes) -> Result<LockRecord, StoreError> {
    let name = format!("{lock}/{RECORD}");
    let reader = Reader::new(&name, item);
    check_schema(&reader)?;
    let permits = i64::try_from(reader.number("permits")?).unwrap_or(i64::MAX);
    let permits = keep_rule(&reader, "permits", Permits::new(permits))?;
    let mut record = LockRecord::new(permits);
    record.version = reader.number("version")?;
    record.last_token = FencingToken::from_number(reader.number("lastToken")?);
    record.last_ticket = reader.number("lastTicket")?;
    record.not_before = reader.time("notBefore")?;
    record.mode = mode(&reader)?;
    let holders = reader.map("holders")?;
    for name in holders.names() {
        let holder = keep_rule(&holders, name, HolderId::new(name))?;
        let lease = lease(&holders.map(name)?)?;
        record.holders.insert(holder, lease);
    }
    let queue = reader.map("queue")?;
    for waiter in queue.names() {
        record.queue.insert(waiter.clone(), queue.number(waiter)?);
    }
    record
        .check_invariants()
        .map_err(|rule| reader.corrupt("(all)", format!("together break a rule: {rule}")))?;
    Ok(record)
}

/// The run of an item.
pub(super) fn run(lock: &LockKey, id: &RunId, item: &Attributes) -> Result<Run, StoreError> {
    let name = format!("{lock}/{}", run_name(id));
    let reader = Reader::new(&name, item);
    check_schema(&reader)?;
    let holder = keep_rule(&reader, "holder", HolderId::new(reader.text("holder")?))?;
    let token = FencingToken::from_number(reader.number("token")?);
    let end = run_end(&reader)?;
    Ok(Run { holder, token, end })
}

fn run_end(reader: &Reader<'_>) -> Result<Option<RunEnd>, StoreError> {
    let Some(outcome) = reader.text_if_any("outcome")? else {
        let stray = ["endedAt", "retainUntil"]
            .into_iter()
            .find(|name| reader.has(name));
        return stray.map_or(Ok(None), |name| {
            Err(reader.corrupt(name, "is there without an outcome"))
        });
    };
    let outcome = match outcome {
        SUCCEEDED => RunOutcome::Succeeded,
        FAILED => RunOutcome::Failed,
        LOST => RunOutcome::Lost,
        _ => return Err(reader.corrupt("outcome", "is not one of succeeded, failed, lost")),
    };
    Ok(Some(RunEnd {
        outcome,
        at: reader.time("endedAt")?,
        retain_until: reader.time("retainUntil")?,
    }))
}

fn lease(reader: &Reader<'_>) -> Result<Lease, StoreError> {
    let until = |name| reader.has(name).then(|| reader.time(name)).transpose();
    let key = reader.text_if_any("runKey")?.map(RunKey::new);
    let beat = reader.text_if_any("taskToken")?.map(TaskToken::new);
    Ok(Lease {
        token: FencingToken::from_number(reader.number("token")?),
        expires_at: reader.time("expiresAt")?,
        length: length(reader)?,
        run_until: until("runUntil")?,
        run_key: key
            .map(|key| keep_rule(reader, "runKey", key))
            .transpose()?,
        beat: beat
            .map(|beat| keep_rule(reader, "taskToken", beat))
            .transpose()?,
    })
}

fn length(reader: &Reader<'_>) -> Result<Seconds, StoreError> {
    let millis = reader.number("leaseMs")?;
    let seconds = u32::try_from(millis / 1000)
        .ok()
        .filter(|_| millis.is_multiple_of(1000));
    seconds
        .map(Seconds::of)
        .ok_or_else(|| reader.corrupt("leaseMs", "is not a number of whole seconds"))
}

fn mode(reader: &Reader<'_>) -> Result<Mode, StoreError> {
    // An operator may set the mode by hand and leave the note out.
    let note = reader.text_if_any("note")?.unwrap_or_default().to_owned();
    match reader.text("mode")? {
        OPEN => Ok(Mode::Open),
        PAUSED => Ok(Mode::Paused { note }),
        FROZEN => Ok(Mode::Frozen { note }),
        _ => Err(reader.corrupt("mode", "is not one of open, paused, frozen")),
    }
}

fn check_schema(reader: &Reader<'_>) -> Result<(), StoreError> {
    match reader.number("schema")? {
        SCHEMA => Ok(()),
        other => Err(reader.corrupt("schema", format!("is {other}; this version reads {SCHEMA}"))),
    }
}

fn keep_rule<T>(
    reader: &Reader<'_>,
    name: &str,
    value: Result<T, Invalid>,
) -> Result<T, StoreError> {
    value.map_err(|invalid| reader.corrupt(name, format!("must be {}", invalid.rule)))
}
