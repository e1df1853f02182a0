//! What a call reads and registers beside its writes.

use crate::state::{Answer, Seen, Stage, State};
use lockstep::domain::{
    Command, LockRecord, Outcome, Refusal, Run, RunId, Snapshot, Timestamp, refused_by_run,
};
use lockstep::store::Found;
use std::collections::BTreeMap;

/// As the stores do it: a registration that comes late does not replace a newer one.
pub(crate) fn register(state: &mut State, command: &Command, now: Timestamp) {
    let Some(waiter) = command.waits_already(now) else {
        return;
    };
    let known = state.table.waiters.get(&waiter.id());
    if known.is_none_or(|known| known.since <= waiter.since) {
        state.table.waiters.insert(waiter.id(), waiter);
    }
}

pub(crate) fn conflict(found: Found) -> Stage {
    match found.record {
        Some(record) => Stage::Look(Box::new(Seen {
            record,
            runs: found.runs,
        })),
        None => Stage::Load(found.runs),
    }
}

pub(crate) fn load(
    state: &State,
    command: &Command,
    runs: BTreeMap<RunId, Option<Run>>,
    now: Timestamp,
) -> Stage {
    let known = runs.iter();
    let seen = Snapshot {
        runs: known
            .filter_map(|(id, run)| Some((id.clone(), run.clone()?)))
            .collect(),
        ..Snapshot::default()
    };
    match refused_by_run(&seen, command, now) {
        Some(refusal) => answer(Err(refusal)),
        None => Stage::Look(Box::new(Seen {
            record: state.table.record.clone(),
            runs,
        })),
    }
}

/// Reads what the decision needs beside the record: later than the record was seen.
pub(crate) fn complete(state: &State, command: &Command, seen: Seen) -> Snapshot {
    let record: Option<&LockRecord> = seen.record.as_ref();
    let unknown = command
        .run_to_read(record)
        .filter(|id| !seen.runs.contains_key(id));
    let read = unknown.and_then(|id| Some((id.clone(), state.table.runs.get(&id)?.clone())));
    let waiter = command.waiter_to_read(record).map(|id| {
        let item = state.table.waiters.get(&id).cloned();
        (id, item)
    });
    let known = seen
        .runs
        .into_iter()
        .filter_map(|(id, run)| Some((id, run?)));
    Snapshot {
        runs: known.chain(read).collect(),
        waiter,
        record: seen.record,
    }
}

/// Whether a decision reads more than the record that it has.
pub(crate) fn reads(command: &Command, seen: &Seen) -> bool {
    let record = seen.record.as_ref();
    let run = command.run_to_read(record);
    run.is_some_and(|id| !seen.runs.contains_key(&id)) || command.waiter_to_read(record).is_some()
}

pub(crate) fn answer(result: Result<Outcome, Refusal>) -> Stage {
    let effects = Vec::new();
    Stage::Answer(Box::new(Answer { result, effects }))
}
