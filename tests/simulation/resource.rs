//! What the work writes to: a resource that refuses tokens smaller than the largest it has seen.

use crate::engine::locked;
use crate::world::World;
use lockstep::domain::{FencingToken, HolderId, LockKey, LockRecord, Permits, RunOutcome};
use lockstep::executions::ExecutionArn;

/// One write of the work of a grant; whether the resource takes it.
///
/// Under more than one permit several tokens are good at once, and nothing is refused.
pub(crate) fn write(world: &World, lock: &LockKey, token: FencingToken, who: &str) -> bool {
    let record = world.store.items(lock).record;
    let held = record
        .as_ref()
        .is_some_and(|record| record.holder_under(token).is_some());
    let mutex = record
        .as_ref()
        .is_some_and(|record| record.permits == Permits::ONE);
    let mut audit = locked(&world.audit);
    let book = audit.books.entry(lock.clone()).or_default();
    let taken = !mutex || book.highest.is_none_or(|highest| highest <= token);
    if taken {
        book.highest = book.highest.max(Some(token));
    }
    let entry = book.grants.get(&token);
    let grant = entry.map(|entry| (entry.holder.clone(), entry.over.map(|(_, how)| how)));
    drop(audit);
    let Some((holder, over)) = grant else {
        world.break_promise(format!(
            "{lock}: {who} works under {token}, which nobody granted"
        ));
        return taken;
    };
    if held && !taken {
        world.break_promise(format!(
            "{lock}: the resource refused {who}, the holder, {token}"
        ));
    }
    if !held {
        match excuse(world, &holder, over) {
            Some(why) => zombie(world, record.as_ref(), who, why, taken),
            None => {
                world.break_promise(format!("{lock}: {who} works under {token} after {over:?}"))
            }
        }
    }
    taken
}

/// Why work may go on without its permit.
fn excuse(world: &World, holder: &HolderId, over: Option<RunOutcome>) -> Option<&'static str> {
    let arn = ExecutionArn::of_holder(holder);
    let cloud = locked(&world.cloud);
    let row = arn.and_then(|arn| cloud.executions.get(&arn));
    let redriven = row.is_some_and(|row| row.redriven.is_some());
    match over? {
        // The lease ran out under a policy that lets it work on, or nobody could be asked.
        RunOutcome::Lost => Some("zombies: lost"),
        RunOutcome::Evicted => Some("zombies: evicted"),
        // Its task was started in the very moment in which its execution died.
        RunOutcome::Recovered | RunOutcome::Replaced if !redriven => Some("zombies: unseen start"),
        // It does not know yet that its grant is gone.
        RunOutcome::Failed | RunOutcome::Recovered | RunOutcome::Replaced if redriven => {
            Some("zombies: redriven")
        }
        _ => None,
    }
}

/// Work without a permit: explained, counted, and refused once somebody else has written.
fn zombie(world: &World, record: Option<&LockRecord>, who: &str, why: &'static str, taken: bool) {
    world.count(why);
    if !taken {
        world.count("zombies refused");
    }
    let beside = record
        .filter(|record| record.permits == Permits::ONE)
        .and_then(|record| record.holders.keys().next());
    let beside = beside.map_or("nobody", |holder| holder.as_str());
    if beside != "nobody" {
        world.count("zombies beside a holder");
    }
    let fate = if taken { "taken" } else { "refused" };
    let beside = beside.rsplit(':').next().unwrap_or_default();
    world.note(
        who,
        format_args!("writes without a permit ({why}) beside {beside}: {fate}"),
    );
}
