//! Records and runs as items: names, keys, values.

use crate::domain::{Lease, LockKey, LockRecord, Mode, RunId, RunOutcome, RunWrite};
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

pub(super) const RECORD: &str = "lock";

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

fn outcome_word(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Succeeded => SUCCEEDED,
        RunOutcome::Failed => FAILED,
        RunOutcome::Lost => LOST,
    }
}

/// The sort key of a run.
pub(super) fn run_name(id: &RunId) -> String {
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
