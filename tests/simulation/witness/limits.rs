//! What takes no longer than it may: an exceeded limit, the end of an execution after its release,
//! a freeze without evidence, and the alerts about missing evidence.

use super::excuse::Excuse;
use super::ledger::RunFacts;
use super::waiting::{BOUND, SETTLED};
use crate::engine::locked;
use crate::trial::Trial;
use crate::world::{World, short};
use lockstep::domain::{Assign, Change, FencingToken, HolderId, LockKey, LockRecord, Mode, Update};

/// How long after the end of its lease a holder may be left without evidence, in milliseconds.
const HIDDEN: u64 = 3_600_000;

/// How long a run has to end by itself after its limit, in milliseconds.
const SLACK: u64 = 60_000;

/// Checks all runs.
pub(super) fn check(world: &World) {
    let settled = world.now() >= world.last_fault() + SETTLED;
    let overdue = match settled {
        true => over_its_limit(world).or_else(|| hangs(world)),
        false => None,
    };
    if let Some(what) = overdue {
        world.break_promise(what);
    }
}

/// Returns a run that exceeded its limit longer ago than the sweep and its calls take, and whose
/// record does not show that.
fn over_its_limit(world: &World) -> Option<String> {
    if !world.tries(Trial::Limits) {
        return None;
    }
    let now = world.now();
    let cloud = locked(&world.cloud);
    let witness = locked(&world.witness);
    let found = |(holder, run): &(&HolderId, &RunFacts)| {
        let row = cloud.execution_of(holder).filter(|row| row.ended.is_none());
        let limits = [run.terms.max_run, run.terms.no_progress];
        let limit = limits.into_iter().flatten().min();
        let begun = run
            .learned
            .filter(|_| run.grant.is_some() && !run.gone && !run.releasing);
        let (Some(row), Some(limit), Some(begun)) = (row, limit, begun) else {
            return false;
        };
        // The limit begins again with a redrive, with a resume, and with the heartbeat that
        // confirms the grant.
        let resumed = witness.resumed.get(&run.terms.lock).copied();
        let again = [row.redriven, resumed, run.confirmed_late];
        let begun = again.into_iter().flatten().fold(begun, u64::max);
        let record = world.store.items(&run.terms.lock).record;
        now > begun + limit + SLACK + BOUND
            && record.is_some_and(|record| !shows(&record, holder, run))
    };
    let (holder, run) = witness.runs.iter().find(found)?;
    let name = short(holder.as_str());
    let policy = &run.terms.policy;
    let record = world.store.items(&run.terms.lock).record;
    let table = record.map(|record| (record.due, record.holders.get(holder).cloned()));
    Some(format!(
        "the limit of {name} is over, and nothing comes of that under {policy}: {:?}; the table has {table:?}",
        run.terms
    ))
}

/// Returns whether the record shows that a run has exceeded its limit, by the policy of the run.
fn shows(record: &LockRecord, holder: &HolderId, run: &RunFacts) -> bool {
    let lease = record.holders.get(holder);
    match (lease, run.terms.policy.as_str()) {
        (None, _) => true,
        (Some(_), "hold") => record.gate.mode != Mode::Open,
        (Some(_), "yield") => false,
        (Some(lease), _) => lease.exit.ending.is_some(),
    }
}

/// Returns an execution that goes on although its release was answered.
fn hangs(world: &World) -> Option<String> {
    if !world.tries(Trial::EndsAfterRelease) {
        return None;
    }
    let now = world.now();
    let cloud = locked(&world.cloud);
    let witness = locked(&world.witness);
    let late = |(holder, run): &(&HolderId, &RunFacts)| {
        let runs = cloud.runs(holder) == Some(true);
        let row = cloud.execution_of(holder);
        let redriven = row.and_then(|row| row.redriven).unwrap_or(0);
        // The function that took its permit under `yield` may have failed before it ended the heartbeat state.
        let waits = if run.has_yielded(now) { run.lease } else { 0 };
        runs && run
            .released_at
            .is_some_and(|at| redriven < at && now > at.max(run.waits_until) + waits + BOUND)
    };
    let (holder, run) = witness.runs.iter().find(late)?;
    let ago = (now - run.released_at?) / 1000;
    Some(format!(
        "{} still runs, {ago} s after its release",
        short(holder.as_str())
    ))
}

/// Checks that the lock of a dead or silent holder without evidence is closed an hour after its
/// lease.
pub(super) fn check_hidden(world: &World, lock: &LockKey) {
    let now = world.now();
    // From this time on, nothing else goes wrong.
    if now < world.calm_from + SETTLED || !world.tries(Trial::HiddenForHours) {
        return;
    }
    let Some(since) = world.weather.hidden_since(now) else {
        return;
    };
    let record = world.store.items(lock).record;
    let Some(record) = record.filter(|record| record.gate.mode == Mode::Open) else {
        return;
    };
    let frozen = locked(&world.witness)
        .frozen
        .get(lock)
        .copied()
        .unwrap_or(0);
    let late = record.holders.iter().find(|(holder, lease)| {
        let by = (lease.expires_at.millis() + HIDDEN).max(since) + BOUND;
        let ended = locked(&world.cloud).runs(holder).is_some();
        ended && now > by && frozen < by - BOUND
    });
    if let Some((holder, lease)) = late {
        let ago = (now - lease.expires_at.millis()) / 1000;
        world.break_promise(format!(
            "{lock}: nothing can be learnt of {holder}, whose lease ended {ago} s ago, and the lock is not frozen"
        ));
    } else if !record.holders.is_empty() {
        world.count("locks watched while evidence is hidden");
    }
}

/// Checks an alert that evidence about a holder is missing. One silence of a holder may cause one
/// alert: the reason names the end of the lease, which no heartbeat has moved.
pub(crate) fn alerts(world: &World, holder: &HolderId, reason: &str) {
    let silence = reason.split(", ").next().unwrap_or_default();
    let silence = (holder.clone(), silence.to_owned());
    let mut witness = locked(&world.witness);
    let again = !witness.alerts.insert(silence);
    let beats_late = witness.late_beats.contains(holder);
    drop(witness);
    if again && beats_late {
        return Excuse::LateHeartbeat.count(world, holder);
    }
    if again && world.tries(Trial::QuietAlerts) {
        world.break_promise(format!(
            "two alerts say of one silence of {holder} that nothing can be learnt: {reason}"
        ));
    }
}

/// Notes a heartbeat that was written late.
pub(crate) fn beats_late(world: &World, change: &Change) {
    let Update::Assign(assigns) = &change.update else {
        return;
    };
    for assign in assigns {
        if let Assign::ExtendLease(holder, ..) = assign {
            locked(&world.witness).late_beats.insert(holder.clone());
        }
    }
}

/// Notes a change of a lock's mode.
pub(crate) fn turns(world: &World, lock: &LockKey, mode: &Mode) {
    let now = world.now();
    let mut witness = locked(&world.witness);
    match mode {
        Mode::Frozen { .. } => drop(witness.frozen.insert(lock.clone(), now)),
        Mode::Open => drop(witness.resumed.insert(lock.clone(), now)),
        Mode::Paused { .. } => {}
    }
}

impl RunFacts {
    /// Notes that the run learned of its grant by a request of the time `at`. Of two requests that
    /// are under way, the later one may be answered first.
    pub(super) fn learns(&mut self, token: FencingToken, at: u64) {
        let is_known = self.grant.is_some_and(|(known, _)| known == token);
        let before = self.learned.filter(|_| is_known);
        self.learned = Some(before.map_or(at, |before| before.min(at)));
    }
}
