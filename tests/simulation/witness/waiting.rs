//! No run waits while a permit is free, and no lease of a run that is well lapses while nothing
//! goes wrong.
//!
//! After everything has come to its end, nothing is left that nothing will use.

use super::excuse::Excuse;
use super::ledger::{RunFacts, Witness};
use super::limits;
use crate::cloud::{Cloud, TaskStatus};
use crate::engine::locked;
use crate::world::World;
use lockstep::domain::{CLOCK_SKEW, DEAD_AFTER, HolderId, LockKey, Mode};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How long a permit may be free while a run waits, in milliseconds: the sweep starts every minute,
/// and what it begins takes some calls.
pub(crate) const BOUND: u64 = 60_000 + 30_000;

/// How long after the last fault the bound holds, in milliseconds: an event may be that late, and
/// an asynchronous invocation that failed is repeated after one and two minutes.
pub(super) const SETTLED: u64 = 90_000 + 60_000 + 120_000;

/// Time between two checks by the witness, in milliseconds.
const CHECK_EVERY: u64 = 10_000;

/// The claims to a lock at one moment.
#[derive(Debug)]
struct Claims {
    /// Runs that hold or may still hold a permit.
    users: Vec<HolderId>,
    /// Runs that have a place in the queue.
    waiters: Vec<HolderId>,
    /// The fewest permits that a waiter asks for; the number of users, if a waiter asks for other
    /// permits than they do.
    permits: usize,
    /// When the rest of the lock after its last grant ends, in epoch milliseconds.
    rested_at: u64,
    /// A waiter whose run key a process holds. Until the lease of the process is over, it is
    /// unknown whether the key becomes free.
    of_held_key: Option<HolderId>,
}

/// Checks the locks until the world ends.
pub(crate) async fn watch(world: Arc<World>, locks: Vec<LockKey>) {
    loop {
        world.sleep(CHECK_EVERY).await;
        for lock in &locks {
            check(&world, lock);
            limits::check_hidden(&world, lock);
        }
        check_leases(&world);
        limits::check(&world);
    }
}

fn check_leases(world: &World) {
    let now = world.now();
    if now < world.last_fault() + SETTLED {
        return;
    }
    let cloud = locked(&world.cloud);
    let witness = locked(&world.witness);
    let lapsed = lapsed(&cloud, &witness, now, world.last_fault() + SETTLED);
    let lapsed = lapsed.map(|(holder, ago)| format!("the lease of {holder} lapsed {ago} ms ago"));
    drop((cloud, witness));
    if let Some(what) = lapsed {
        world.break_promise(what);
    }
}

fn check(world: &World, lock: &LockKey) {
    let now = world.now();
    let cloud = locked(&world.cloud);
    let mut witness = locked(&world.witness);
    let found = claims(&cloud, &witness, lock, now, world.last_fault());
    drop(cloud);
    let rests = now < found.rested_at;
    let idle = found.users.len() < found.permits && !found.waiters.is_empty() && !rests;
    let settled = now >= world.last_fault() + SETTLED;
    if settled && !found.waiters.is_empty() {
        world.count("queues checked");
    }
    if !idle || !settled || is_closed(world, lock) {
        witness.idle_since.remove(lock);
        return;
    }
    if let Some(holder) = &found.of_held_key {
        Excuse::BehindRunKey.count(world, holder);
        witness.idle_since.remove(lock);
        return;
    }
    let since = *witness.idle_since.entry(lock.clone()).or_insert(now);
    drop(witness);
    // A grant between two checks has let one waiter in, and the next had to wait for the rest after
    // it.
    let since = since.max(found.rested_at);
    if now - since > BOUND {
        let seconds = (now - since) / 1000;
        let record = world.store.items(lock).record;
        let table = record.map(|record| (record.oldest_first(), record.queue));
        let what = format!("{lock} was free for {seconds} s: {found:?}; the table has {table:?}");
        world.break_promise(what);
    }
}

/// Returns whether an operator has closed the lock, or has to check it.
fn is_closed(world: &World, lock: &LockKey) -> bool {
    let record = world.store.items(lock).record;
    record.is_some_and(|record| record.gate.mode != Mode::Open)
}

/// Returns the users and the waiters of `lock`.
fn claims(cloud: &Cloud, witness: &Witness, lock: &LockKey, now: u64, last_fault: u64) -> Claims {
    let of_lock = |(_, run): &(&HolderId, &RunFacts)| run.terms.lock == *lock;
    let runs = || witness.runs.iter().filter(of_lock);
    let waits = |(holder, run): &(&HolderId, &RunFacts)| {
        run.queued.is_some() && cloud.runs(holder) == Some(true)
    };
    let waiters: Vec<_> = runs().filter(waits).collect();
    let users = runs().filter(|(holder, run)| uses(cloud, holder, run, now, last_fault));
    let users: Vec<_> = users.collect();
    let processes = users
        .iter()
        .filter(|(holder, _)| cloud.execution_of(holder).is_none());
    let held: Vec<_> = processes
        .filter_map(|(_, run)| run.terms.run_key.as_ref())
        .collect();
    let is_held = |run: &RunFacts| {
        run.terms
            .run_key
            .as_ref()
            .is_some_and(|key| held.contains(&key))
    };
    // A process that waits does not count as a waiter here, and neither does an execution that has
    // ended and whose event may be lost. Others wait behind both.
    let has_place = |(_, run): &(&HolderId, &RunFacts)| run.queued.is_some() || run.died_waiting;
    let of_held_key = runs().filter(has_place).find(|(_, run)| is_held(run));
    // A run that asks for other permits than a holder waits until no run holds the lock, and others
    // wait behind it. Among users with different permits, it is unknown which of them hold the
    // lock.
    let of = |runs: &[(&HolderId, &RunFacts)]| -> BTreeSet<_> {
        runs.iter().map(|(_, run)| run.terms.permits).collect()
    };
    let (asked, used) = (of(&waiters), of(&users));
    let alike = used.is_empty() || (used.len() == 1 && asked == used);
    let most = asked.first().copied().unwrap_or_default();
    let name = |(holder, _): (&HolderId, _)| holder.clone();
    Claims {
        permits: if alike { most } else { users.len() },
        of_held_key: of_held_key.map(name),
        users: users.into_iter().map(name).collect(),
        waiters: waiters.into_iter().map(name).collect(),
        rested_at: witness.rested_at.get(lock).copied().unwrap_or_default(),
    }
}

/// Returns whether a run holds a permit, or did until a moment ago as far as anybody could know.
fn uses(cloud: &Cloud, holder: &HolderId, run: &RunFacts, now: u64, last_fault: u64) -> bool {
    if run.grant.is_none() {
        return false;
    }
    let mut tasks = cloud.tasks.values();
    let ends = tasks.any(|row| row.holder == *holder && row.now.status != TaskStatus::Stopped);
    let in_lease = now < run.promised + DEAD_AFTER.millis() + CLOCK_SKEW.millis();
    match cloud.execution_of(holder) {
        // The events of an end may be lost: then its lease has to be over.
        Some(row) => {
            let unseen = row.ended.is_some_and(|(at, _)| at <= last_fault) && in_lease;
            ends || (!run.gone && (row.ended.is_none() || unseen))
        }
        // A process that dies, or exceeds its time, keeps its permit until its lease is over.
        None => !run.released && in_lease,
    }
}

/// Returns a run whose execution works under a grant, and whose lease is over by the answers that
/// it got.
pub(super) fn lapsed<'a>(
    cloud: &Cloud,
    witness: &'a Witness,
    now: u64,
    settled: u64,
) -> Option<(&'a HolderId, u64)> {
    let lapsed = |(holder, run): &(&HolderId, &RunFacts)| {
        let row = cloud.execution_of(holder);
        // A redriven execution has its lease again when its first heartbeat is answered.
        let works = row.is_some_and(|row| {
            row.ended.is_none() && row.redriven.is_none_or(|at| run.answered > at)
        });
        let has_grant = run.grant.is_some() && !run.gone && !waits_again(run);
        // Its heartbeat state has ended together with its permit, while something went wrong.
        let yielded = run.terms.policy == "yield" && run.lease_until < settled;
        works && has_grant && !yielded && !run.has_lease(now) && !run.is_over_time(now)
    };
    let (holder, run) = witness.runs.iter().find(lapsed)?;
    Some((holder, now - run.lease_until))
}

/// Returns whether the run has a place in the queue that it asked for after its grant: it was
/// evicted before it had confirmed the grant.
fn waits_again(run: &RunFacts) -> bool {
    let since = run.grant.map(|(_, granted)| granted);
    run.queued.is_some() && run.asked_last > since
}

/// Checks a lock in a world at rest: no side item of a waiter, no task token, no open state.
pub(crate) fn at_rest(world: &World, lock: &LockKey) -> Result<(), String> {
    let items = world.store.items(lock);
    for (id, waiter) in &items.waiters {
        let holder = &waiter.terms.holder;
        if !locked(&world.audit).late_registrations.contains(holder) {
            return Err(format!("the side item {id} of {holder} is left"));
        }
        Excuse::LateRegistration.count(world, holder);
    }
    let leases = items.record.iter().flat_map(|record| &record.holders);
    let mut tokens = leases.filter(|(_, lease)| lease.beat.is_some() || lease.call.is_some());
    if let Some((holder, _)) = tokens.next() {
        return Err(format!("a task token of {holder} is left in the record"));
    }
    let cloud = locked(&world.cloud);
    match cloud.states.iter().next() {
        Some((_, state)) => Err(format!("a state of {} is still open", state.execution)),
        None => Ok(()),
    }
}
