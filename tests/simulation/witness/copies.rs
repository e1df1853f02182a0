//! Never two copies of work at once for one permit or under one token. No permit is passed on while
//! the work of the run that had it still runs.

use super::excuse::Excuse;
use super::ledger::Witness;
use crate::cloud::{Cloud, TaskRow, TaskStatus};
use crate::engine::locked;
use crate::world::World;
use lockstep::domain::{CLOCK_SKEW, FencingToken, HolderId, LockKey};
use std::collections::BTreeSet;

/// Work that runs.
struct Work {
    holder: HolderId,
    name: String,
    redriven: bool,
}

/// Checks a grant of `lock` to `holder`: the permit is free of other work.
pub(crate) fn granted(
    world: &World,
    cloud: &Cloud,
    evictions: &BTreeSet<HolderId>,
    lock: &LockKey,
    holder: &HolderId,
) -> Result<(), String> {
    let mut witness = locked(&world.witness);
    let Some(run) = witness.runs.get(holder) else {
        return Ok(());
    };
    let others = others(world, cloud, &witness, evictions, lock, holder);
    let rest = run.terms.min_interval + CLOCK_SKEW.millis();
    let fits = others.len() < run.terms.permits;
    witness.rested_at.insert(lock.clone(), world.now() + rest);
    if fits {
        return Ok(());
    }
    let others = others.join(", ");
    Err(format!(
        "a permit goes to {holder} while {others} still runs"
    ))
}

/// Checks that a task that begins is no second copy.
pub(crate) fn task_begins(world: &World, arn: &str) {
    let cloud = locked(&world.cloud);
    let audit = locked(&world.audit);
    let witness = locked(&world.witness);
    let Some(row) = cloud.tasks.get(arn) else {
        return;
    };
    let same_token = |(other, task): &(&String, &TaskRow)| {
        other.as_str() != arn
            && task.now.status.is_live()
            && (&task.lock, task.token) == (&row.lock, row.token)
    };
    let twin = cloud.tasks.iter().find(same_token);
    let twin = twin.map(|(other, _)| format!("{arn} begins beside {other} under {}", row.token));
    let permits = witness.runs.get(&row.holder);
    let permits = permits.map_or(1, |run| run.terms.permits);
    let evictions = &audit.evictions;
    let others = others(world, &cloud, &witness, evictions, &row.lock, &row.holder);
    let crowded = others.len() >= permits;
    let excuse = excuse(world, &witness, evictions, &row.holder).filter(|_| crowded);
    if let Some(excuse) = excuse {
        excuse.count(world, &row.holder);
    }
    let crowd = (crowded && excuse.is_none()).then(|| {
        let others = others.join(", ");
        format!("{arn} begins for {} beside {others}", row.holder)
    });
    let no_token = (row.token == FencingToken::NONE).then(|| format!("{arn} has no fencing token"));
    drop((cloud, audit));
    drop(witness);
    for broken in [no_token, twin, crowd].into_iter().flatten() {
        world.break_promise(broken);
    }
}

/// Returns the work of other runs of `lock` that takes up permits. Work that is excused is counted.
fn others(
    world: &World,
    cloud: &Cloud,
    witness: &Witness,
    evictions: &BTreeSet<HolderId>,
    lock: &LockKey,
    holder: &HolderId,
) -> Vec<String> {
    let others = at_work(cloud, witness, lock).into_iter();
    let mut names = Vec::new();
    for work in others.filter(|work| work.holder != *holder) {
        let redriven = work.redriven.then_some(Excuse::Redriven);
        let excuse = excuse(world, witness, evictions, &work.holder).or(redriven);
        match excuse {
            Some(excuse) => excuse.count(world, &work.holder),
            None => names.push(work.name),
        }
    }
    names
}

/// Returns why work of `holder` may go on beside that of others.
fn excuse(
    world: &World,
    witness: &Witness,
    evictions: &BTreeSet<HolderId>,
    holder: &HolderId,
) -> Option<Excuse> {
    if evictions.contains(holder) {
        return Some(Excuse::Evicted);
    }
    let run = witness.runs.get(holder)?;
    run.has_yielded(world.now()).then_some(Excuse::Yielded)
}

/// Returns what runs under the lock: tasks that have not stopped, and the states of user's
/// workflows.
fn at_work(cloud: &Cloud, witness: &Witness, lock: &LockKey) -> Vec<Work> {
    // A task runs until ECS says STOPPED, whatever its container has reported.
    let live = |row: &TaskRow| row.lock == *lock && row.now.status != TaskStatus::Stopped;
    let tasks = cloud.tasks.iter().filter(|(_, row)| live(row));
    let tasks = tasks.map(|(arn, row)| Work {
        holder: row.holder.clone(),
        name: format!("{arn} of {}", row.holder),
        redriven: false,
    });
    let states = witness.runs.iter().filter_map(|(holder, run)| {
        let row = cloud.execution_of(holder)?;
        let at_work = row.ended.is_none() && row.story.is_own() && run.terms.lock == *lock;
        let at_work = at_work && run.in_parallel && run.grant.is_some() && !run.gone && !run.done;
        at_work.then(|| Work {
            holder: holder.clone(),
            name: format!("the states of {holder}"),
            redriven: row.redriven.is_some_and(|at| run.answered < at),
        })
    });
    tasks.chain(states).collect()
}
