//! Writes records, runs and waiters as items: their names, keys and values.
//!
//! Points in time are milliseconds since 1970, and lengths of time are milliseconds. Both are numbers, so
//! that conditions can compare them and updates can add them. An attribute that a version adds is optional:
//! items written by earlier versions lack it, and functions of earlier versions keep it, because they update
//! single attributes. So every item is readable after a rollback.

mod waiter;

pub(super) use waiter::waiter_values;

use aws_sdk_dynamodb::types::AttributeValue;
use lockstep_core::domain::{
    Act, EndingCause, Expectation, Lease, LockKey, LockRecord, Mode, Run, RunId, Seconds,
    StalePolicy, Timestamp, WaiterId, Work,
};
use lockstep_core::store::shard;
use std::collections::HashMap;

/// The attributes of one item.
pub(super) type Attributes = HashMap<String, AttributeValue>;

/// The schema number that this version writes, and the only one that it reads.
pub(super) const SCHEMA: u64 = 1;
/// The sweep's index. Only records that the sweep has to check have its two attributes, `shard` and `dueAt`.
pub(super) const INDEX: &str = "due";
/// The index of all locks, by shard and name.
pub(super) const LOCKS_INDEX: &str = "locks";
/// The partition key of [`LOCKS_INDEX`]: the lock's shard. Only records have it. Every write sets it, and its
/// value never changes, so only the first write of a record writes to the index.
pub(super) const LOCK_SHARD: &str = "lockShard";
/// When a pause ends, in milliseconds since 1970. Only a paused lock has it.
pub(super) const PAUSED_UNTIL: &str = "pausedUntil";
/// When a run last succeeded, and when a run last failed, in milliseconds since 1970.
pub(super) const LAST_SUCCESS: &str = "lastSuccessAt";
pub(super) const LAST_FAILURE: &str = "lastFailureAt";
/// How often a run is expected to succeed, in milliseconds. Records, leases and waiters have it.
pub(super) const EXPECT_EVERY: &str = "expectMs";
/// When a waiter first registered.
pub(super) const QUEUED_AT: &str = "queuedAt";
/// How long the run key of a waiter is kept, if that differs from the retention of the history.
pub(super) const KEY_RETENTION: &str = "keyRetentionMs";
/// Since when a success is expected, and when one was found missing, in milliseconds since 1970.
pub(super) const EXPECT_FROM: &str = "expectFrom";
pub(super) const MISSED_AT: &str = "missedAt";
pub(super) const OPEN: &str = "open";
pub(super) const PAUSED: &str = "paused";
pub(super) const FROZEN: &str = "frozen";
pub(super) const RECORD: &str = "lock";
/// Prefix of the sort key of a run, which its fencing token follows.
pub(super) const RUN_OF_TOKEN: &str = "run#token/";
/// Prefix of the sort key of an act, which the version of the record that the act wrote follows.
pub(super) const ACT: &str = "run#act/";

/// The words of the stale policies. A missing attribute stands for the first one.
pub(super) const STALE: [(StalePolicy, &str); 3] = [
    (StalePolicy::Terminate, "terminate"),
    (StalePolicy::Yield, "yield"),
    (StalePolicy::Hold, "hold"),
];

/// The words for why a holder is ending.
pub(super) const OVER: &str = "over";
pub(super) const STOPPED: &str = "stopped";

pub(super) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(super) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// Returns the key of the record.
pub(super) fn record_key(lock: &LockKey) -> Attributes {
    key(lock, RECORD)
}

/// Returns the key of a run.
pub(super) fn run_key(lock: &LockKey, id: &RunId) -> Attributes {
    key(lock, &run_name(id))
}

/// Returns the key of a waiter's side item.
pub(super) fn waiter_key(lock: &LockKey, id: &WaiterId) -> Attributes {
    key(lock, &waiter_name(id))
}

/// Returns the value of a lock's shard in the indexes.
pub(super) fn shard_value(number: u8) -> AttributeValue {
    text(&number.to_string())
}

/// Returns the record as an item. ARCHITECTURE has this list:
///
/// - `pk`, `sk`: the lock's name, and `lock`
/// - `schema`: 1; another number is refused as `Lockstep.Corrupt` and never overwritten
/// - `version`: grows by one with every write
/// - `lastToken`: fencing token of the latest grant
/// - `permits`: capacity
/// - `holders`: map from the holder to its lease
/// - `queue`: map from the waiter, 16 hex digits of a SHA-256, to its ticket
/// - `lastTicket`, `frontTicket`: arrivals count up from 1; runs that replace go first and count down from 0
/// - `notBefore`: earliest time of the next grant
/// - `mode`, `note`, `pausedUntil`: `open`, `paused` or `frozen`, why, and when a pause ends by itself
/// - `dueAt`, `shard`: when the sweep has to check the lock; only while the lock has a holder, a waiter, a
///   pause with an end or an expectation
/// - `lockShard`: the lock's shard, which never changes: with `pk` the key of the index of all locks
/// - `lastSuccessAt`, `lastFailureAt`: when a run last succeeded, and when one last failed, was found dead or
///   lost its permit
/// - `expectMs`, `expectFrom`, `missedAt`: how often a success is expected, since when, and when one was found
///   missing
pub(super) fn record_item(lock: &LockKey, record: &LockRecord) -> Attributes {
    let leases = record.holders.iter();
    let holders = leases.map(|(holder, lease)| (holder.to_string(), lease_value(lease)));
    let tickets = record.queue.iter();
    let queue = tickets.map(|(id, ticket)| (id.to_string(), integer(ticket.number())));
    let (mode, note) = mode_words(&record.gate.mode);
    let until = record.gate.mode.pause_end().map(|end| number(end.millis()));
    let due = record.due.map(|due| number(due.millis()));
    // A record is always in the index of all locks, and in the sweep's index only while the sweep has to
    // check it.
    let of_shard = shard_value(shard(lock));
    let shard = record.due.map(|_| of_shard.clone());
    let mut item = record_key(lock);
    item.extend(named([
        ("schema", number(SCHEMA)),
        ("version", number(record.version)),
        ("lastToken", number(record.last_token.number())),
        ("lastTicket", integer(record.last_ticket.number())),
        ("frontTicket", integer(record.front_ticket.number())),
        ("permits", number(record.permits.get().into())),
        ("holders", AttributeValue::M(holders.collect())),
        ("queue", AttributeValue::M(queue.collect())),
        ("notBefore", number(record.gate.not_before.millis())),
        ("mode", text(mode)),
        (LOCK_SHARD, of_shard),
    ]));
    item.extend(given([
        ("note", note.map(text)),
        (PAUSED_UNTIL, until),
        ("dueAt", due),
        ("shard", shard),
        (LAST_SUCCESS, millis(record.last_success)),
        (LAST_FAILURE, millis(record.last_failure)),
    ]));
    item.extend(given(expectation_values(record.expectation.as_ref())));
    item
}

/// Returns the attributes of an expectation, with `None` for those that the record must not have.
pub(super) fn expectation_values(
    expectation: Option<&Expectation>,
) -> [(&'static str, Option<AttributeValue>); 3] {
    let missed_at = expectation.and_then(|known| known.missed_at);
    [
        (EXPECT_EVERY, expectation.map(|known| length(known.every))),
        (EXPECT_FROM, millis(expectation.map(|known| known.from))),
        (MISSED_AT, millis(missed_at)),
    ]
}

fn millis(time: Option<Timestamp>) -> Option<AttributeValue> {
    time.map(|time| number(time.millis()))
}

pub(super) fn integer(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// Returns a lease as a value in the record's `holders`.
pub(super) fn lease_value(lease: &Lease) -> AttributeValue {
    AttributeValue::M(given(lease_values(lease)).collect())
}

/// Returns the attributes of a lease, with `None` for those that it must not have. Lengths are in
/// milliseconds, because an update expression can add numbers but not multiply them: a renewal is
/// `expiresAt = now + leaseMs`. ARCHITECTURE has this list:
///
/// - `token`: fencing token of the grant
/// - `expiresAt`, `leaseMs`, `beatMs`: when the lease ends unless it is renewed, its length, and the time
///   between heartbeats
/// - `runUntil`, `maxRunMs`: when the run exceeds its `maxRunSeconds`, and that limit in milliseconds. A redrive
///   and the confirmation of a hand-over set `runUntil` again
/// - `stallsAt`, `noProgressMs`, `progress`: when the run is stale unless its progress changes, the limit, and
///   the latest progress
/// - `stale`: stale policy, if it is not `terminate`
/// - `expectMs`: how often a success is expected
/// - `runKey`: run key
/// - `taskToken`: sealed task token of the heartbeat state, which the release ends
/// - `call`: hand-over that the holder has not confirmed yet
/// - `cluster`, `family`, `container`: ECS tasks that are the work
/// - `stateMachine`: workflow that is the work
/// - `work`: `states`, if states of the holder's own execution are the work
/// - `replacedBy`: run that waits to replace the holder
/// - `evicted`: why an operator evicts the holder, and who the operator is
/// - `suspectAt`: when the holder became a suspect: silent while its execution runs
/// - `ending`, `endingAt`: `over` if its execution has ended or has reported that its work is stopping, `stopped`
///   if a stop is committed, and since when
/// - `redrives`: redrives of its execution
/// - `parent`: execution that started its execution
pub(super) fn lease_values(lease: &Lease) -> [(&'static str, Option<AttributeValue>); 26] {
    let call = lease.call.as_ref().map(|call| {
        let token = call.task_token.as_ref().map(|token| text(token.reveal()));
        // A lease written by an earlier version does not have this attribute, and stays without it.
        let since = (call.since != Timestamp::default()).then(|| number(call.since.millis()));
        AttributeValue::M(given([("taskToken", token), ("since", since)]).collect())
    });
    let run_key = lease.run_key.as_ref().map(|key| text(key.as_str()));
    let beat = lease.beat.as_ref().map(|token| text(token.reveal()));
    let replaced_by = lease.exit.replaced_by.as_ref().map(|by| text(by.as_str()));
    let ending = lease.exit.ending.as_ref();
    let [cluster, family, container, machine, states] = work_values(lease.work.as_ref());
    [
        ("token", Some(number(lease.token.number()))),
        ("expiresAt", Some(number(lease.expires_at.millis()))),
        ("leaseMs", Some(length(lease.pace.length))),
        ("beatMs", Some(length(lease.pace.heartbeat))),
        ("runUntil", millis(lease.run_until)),
        ("maxRunMs", lease.max_run.map(length)),
        ("noProgressMs", lease.no_progress.map(length)),
        ("stallsAt", millis(lease.stalls_at)),
        ("progress", lease.progress.as_deref().map(text)),
        ("stale", stale_word(lease.stale).map(text)),
        (EXPECT_EVERY, lease.expect_every.map(length)),
        ("runKey", run_key),
        ("taskToken", beat),
        ("call", call),
        ("replacedBy", replaced_by),
        ("evicted", lease.exit.evicted().map(text)),
        ("suspectAt", millis(lease.exit.suspect)),
        ("endingAt", millis(ending.map(|ending| ending.since))),
        ("ending", ending.map(|ending| ending_word(&ending.cause))),
        ("redrives", redrives(lease.redrives)),
        ("parent", lease.parent.as_ref().map(|by| text(by.as_str()))),
        cluster,
        family,
        container,
        machine,
        states,
    ]
}

/// Returns the number of redrives, or `None` for 0, which is not written.
fn redrives(count: u32) -> Option<AttributeValue> {
    (count > 0).then(|| number(count.into()))
}

/// Returns the word of a mode, and its note.
pub(super) fn mode_words(mode: &Mode) -> (&'static str, Option<&str>) {
    match mode {
        Mode::Open => (OPEN, None),
        Mode::Paused { note, .. } => (PAUSED, Some(note)),
        Mode::Frozen { note } => (FROZEN, Some(note)),
    }
}

/// Returns the attributes of a run: those that it has, and those that it must not have. If the run has no
/// task, neither list has the attributes of a task, so the item keeps them. `ttl` only removes old items, and
/// no decision reads it.
pub(super) fn run_values(run: &Run) -> (Vec<(&'static str, AttributeValue)>, Vec<&'static str>) {
    let end = run.end.as_ref();
    let retain_until = end.map(|end| end.retain_until.millis());
    let task = run.task.as_ref();
    let all = [
        ("schema", Some(number(SCHEMA))),
        ("holder", Some(text(run.holder.as_str()))),
        ("token", Some(number(run.token.number()))),
        ("runKey", run.run_key.as_ref().map(|key| text(key.as_str()))),
        ("outcome", end.map(|end| text(end.outcome.as_str()))),
        ("endedAt", end.map(|end| number(end.at.millis()))),
        ("retainUntil", retain_until.map(number)),
        ("ttl", retain_until.map(|time| number(time.div_ceil(1000)))),
        (
            "evidence",
            end.and_then(|end| end.evidence.as_deref()).map(text),
        ),
        ("lease", run.lease.as_deref().map(lease_value)),
        (
            "taskToken",
            run.beat.as_ref().map(|token| text(token.reveal())),
        ),
    ];
    let noted = [
        ("taskArn", task.map(|task| text(&task.arn))),
        ("taskVersion", task.map(|task| number(task.version))),
        (
            "runtimeId",
            task.and_then(|task| task.runtime_id.as_deref()).map(text),
        ),
        (
            "exitCode",
            task.and_then(|task| task.exit_code).map(integer),
        ),
        (
            "taskReason",
            task.and_then(|task| task.reason.as_deref()).map(text),
        ),
    ];
    let noted = noted.into_iter().filter(|_| task.is_some());
    let mut has = Vec::new();
    let mut has_not = Vec::new();
    for (name, value) in all.into_iter().chain(noted) {
        match value {
            Some(value) => has.push((name, value)),
            None => has_not.push(name),
        }
    }
    (has, has_not)
}

/// Returns the attributes of an act, in the layout of an ended run. `ttl` only removes old items.
pub(super) fn act_values(act: &Act) -> Vec<(&'static str, AttributeValue)> {
    let retain_until = act.retain_until.millis();
    let note = act.note.as_deref().map(text);
    let values = [
        ("schema", number(SCHEMA)),
        ("holder", text(act.actor.as_str())),
        ("token", number(act.token.number())),
        ("outcome", text(act.kind.as_str())),
        ("endedAt", number(act.at.millis())),
        ("retainUntil", number(retain_until)),
        ("ttl", number(retain_until.div_ceil(1000))),
    ];
    let note = note.map(|note| ("evidence", note));
    values.into_iter().chain(note).collect()
}

/// Returns the word of a cause. An eviction is a stop with the attribute `evicted`.
fn ending_word(cause: &EndingCause) -> AttributeValue {
    text(match cause {
        EndingCause::Over => OVER,
        EndingCause::Stopped | EndingCause::Evicted(_) => STOPPED,
    })
}

/// Returns the word of a policy, or `None` for the default policy, which is not written.
fn stale_word(stale: StalePolicy) -> Option<&'static str> {
    let word = STALE.iter().skip(1).find(|(known, _)| *known == stale);
    word.map(|(_, word)| *word)
}

/// The value of `work` if the work is the states of the holder's own execution.
pub(super) const STATES: &str = "states";

/// Returns the attributes of all kinds of work, with `None` for those of other kinds, which have to be absent
/// also after an update.
fn work_values(work: Option<&Work>) -> [(&'static str, Option<AttributeValue>); 5] {
    let (tasks, machine) = match work {
        Some(Work::Tasks(tasks)) => (Some(tasks), None),
        Some(Work::Workflow(machine)) => (None, Some(machine)),
        Some(Work::States) | None => (None, None),
    };
    let states = (work == Some(&Work::States)).then(|| text(STATES));
    let family = tasks.and_then(|tasks| tasks.family.as_deref());
    let container = tasks.and_then(|tasks| tasks.container.as_deref());
    [
        ("cluster", tasks.map(|tasks| text(&tasks.cluster))),
        ("family", family.map(text)),
        ("container", container.map(text)),
        (
            "stateMachine",
            machine.map(|machine| text(machine.as_str())),
        ),
        ("work", states),
    ]
}

pub(super) fn length(length: Seconds) -> AttributeValue {
    number(length.millis())
}

/// Returns the sort key of a run.
pub(super) fn run_name(id: &RunId) -> String {
    match id {
        RunId::Key(key) => format!("run#key/{}", key.as_str()),
        RunId::Token(token) => format!("{RUN_OF_TOKEN}{token}"),
    }
}

/// Returns the key of an act.
pub(super) fn act_key(lock: &LockKey, version: u64) -> Attributes {
    key(lock, &format!("{ACT}{version}"))
}

/// Returns the sort key of a waiter's side item.
pub(super) fn waiter_name(id: &WaiterId) -> String {
    format!("waiter#{id}")
}

fn key(lock: &LockKey, sort: &str) -> Attributes {
    named([("pk", text(lock.as_str())), ("sk", text(sort))])
}

/// Returns attributes that are always written.
fn named<const N: usize>(pairs: [(&str, AttributeValue); N]) -> Attributes {
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Returns the attributes that have a value. An attribute without a value is not written; DynamoDB's NULL is
/// never used.
fn given<const N: usize>(
    pairs: [(&'static str, Option<AttributeValue>); N],
) -> impl Iterator<Item = (String, AttributeValue)> + use<N> {
    let pairs = pairs.into_iter();
    pairs.filter_map(|(name, value)| Some((name.to_owned(), value?)))
}
