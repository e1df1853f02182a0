//! Records and runs as items, and back.
//!
//! Attributes that this version does not know are left alone: updates go by attribute, so a newer
//! version may add some under the same schema number.

use super::reader::Reader;
use crate::domain::{
    FencingToken, HolderId, Invalid, Lease, LockKey, LockRecord, Mode, Permits, Run, RunEnd, RunId,
    RunKey, RunOutcome, RunWrite, Seconds, TaskToken,
};
use crate::store::StoreError;
use aws_sdk_dynamodb::types::AttributeValue;
use std::collections::HashMap;

/// The attributes of one item.
pub(super) type Attributes = HashMap<String, AttributeValue>;

/// The layout that this version writes, and the only one it reads.
pub(super) const SCHEMA: u64 = 1;
pub(super) const OPEN: &str = "open";
pub(super) const PAUSED: &str = "paused";
pub(super) const FROZEN: &str = "frozen";
pub(super) const SUCCEEDED: &str = "succeeded";
pub(super) const FAILED: &str = "failed";
pub(super) const LOST: &str = "lost";

const RECORD: &str = "lock";

pub(super) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(super) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// The key of the record.
pub(super) fn record_key(lock: &LockKey) -> Attributes {
    key(lock, RECORD)
}

/// The key of a run.
pub(super) fn run_key(lock: &LockKey, id: &RunId) -> Attributes {
    key(lock, &run_name(id))
}

/// The record as an item.
pub(super) fn record_item(lock: &LockKey, record: &LockRecord) -> Attributes {
    let leases = record.holders.iter();
    let holders = leases.map(|(holder, lease)| (holder.to_string(), lease_value(lease)));
    let tickets = record.queue.iter();
    let queue = tickets.map(|(waiter, ticket)| (waiter.clone(), number(*ticket)));
    let (mode, note) = mode_words(&record.mode);
    let mut item = record_key(lock);
    item.extend(named([
        ("schema", number(SCHEMA)),
        ("version", number(record.version)),
        ("lastToken", number(record.last_token.number())),
        ("lastTicket", number(record.last_ticket)),
        ("permits", number(record.permits.get().into())),
        ("holders", AttributeValue::M(holders.collect())),
        ("queue", AttributeValue::M(queue.collect())),
        ("notBefore", number(record.not_before.millis())),
        ("mode", text(mode)),
    ]));
    item.extend(note.map(|note| ("note".to_owned(), text(note))));
    item
}

/// A lease as it stands in the record's `holders`. Its length is in milliseconds because DynamoDB
/// adds numbers but does not multiply them: a renewal is `expiresAt = now + leaseMs`.
pub(super) fn lease_value(lease: &Lease) -> AttributeValue {
    let mut map = named([
        ("token", number(lease.token.number())),
        ("expiresAt", number(lease.expires_at.millis())),
        ("leaseMs", number(lease.length.millis())),
    ]);
    let until = lease.run_until.map(|until| number(until.millis()));
    let key = lease.run_key.as_ref().map(|key| text(key.as_str()));
    let beat = lease.beat.as_ref().map(|beat| text(beat.reveal()));
    for (name, value) in [("runUntil", until), ("runKey", key), ("taskToken", beat)] {
        map.extend(value.map(|value| (name.to_owned(), value)));
    }
    AttributeValue::M(map)
}

/// The mode's word, and the note that goes with it.
pub(super) fn mode_words(mode: &Mode) -> (&'static str, Option<&str>) {
    match mode {
        Mode::Open => (OPEN, None),
        Mode::Paused { note } => (PAUSED, Some(note)),
        Mode::Frozen { note } => (FROZEN, Some(note)),
    }
}

/// The run as an item. `ttl` only cleans up: no decision looks at it.
pub(super) fn run_item(lock: &LockKey, write: &RunWrite) -> Attributes {
    let mut item = run_key(lock, &write.id);
    item.extend(named([
        ("schema", number(SCHEMA)),
        ("holder", text(write.run.holder.as_str())),
        ("token", number(write.run.token.number())),
    ]));
    if let Some(end) = write.run.end {
        let retain_until = end.retain_until.millis();
        item.extend(named([
            ("outcome", text(outcome_word(end.outcome))),
            ("endedAt", number(end.at.millis())),
            ("retainUntil", number(retain_until)),
            ("ttl", number(retain_until.div_ceil(1000))),
        ]));
    }
    item
}

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

fn outcome_word(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Succeeded => SUCCEEDED,
        RunOutcome::Failed => FAILED,
        RunOutcome::Lost => LOST,
    }
}

fn run_name(id: &RunId) -> String {
    match id {
        RunId::Key(key) => format!("run#key/{}", key.as_str()),
        RunId::Token(token) => format!("run#token/{token}"),
    }
}

fn key(lock: &LockKey, sort: &str) -> Attributes {
    named([("pk", text(lock.as_str())), ("sk", text(sort))])
}

fn named<const N: usize>(pairs: [(&str, AttributeValue); N]) -> Attributes {
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}
