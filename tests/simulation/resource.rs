//! The guarded resource that the work writes to. It refuses tokens smaller than the largest that it
//! has seen.

use crate::engine::locked;
use crate::witness::Excuse;
use crate::world::{World, short};
use lockstep::domain::{ExecutionArn, FencingToken, HolderId, LockKey, LockRecord, Permits};

/// Writes once for the work of a grant. Returns whether the resource takes the write.
///
/// With more than one permit, several tokens are good at once, and nothing is refused.
pub(crate) fn write(world: &World, lock: &LockKey, token: FencingToken, who: &str) -> bool {
    let record = world.store.items(lock).record;
    let is = |what: &dyn Fn(&LockRecord) -> bool| record.as_ref().is_some_and(what);
    let held = is(&|record| record.holder_under(token).is_some());
    let mutex = is(&|record| record.permits == Permits::ONE);
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
        let what = format!("{lock}: {who} works under {token}, which no write granted");
        world.break_promise(what);
        return taken;
    };
    if held && !taken {
        let what = format!("{lock}: the resource refused {who}, the holder, {token}");
        world.break_promise(what);
    }
    if !held {
        match excuse(world, &holder) {
            Some(why) => {
                why.count(world, &holder);
                zombie(world, record.as_ref(), who, why.name(), taken);
            }
            None => {
                world.break_promise(format!("{lock}: {who} works under {token} after {over:?}"))
            }
        }
    }
    taken
}

/// How long a redriven execution may work before its first heartbeat has stopped it, in
/// milliseconds. Half of it is the time that a container takes to stop.
const REDRIVEN: u64 = 60_000;

/// How long the last call of a workflow's own states may go on after its end, in milliseconds.
const LAST_STEP: u64 = 15_000;

/// Returns why work may go on without its permit.
fn excuse(world: &World, holder: &HolderId) -> Option<Excuse> {
    let now = world.now();
    if locked(&world.audit).evictions.contains(holder) {
        return Some(Excuse::Evicted);
    }
    let cloud = locked(&world.cloud);
    let witness = locked(&world.witness);
    let run = witness.runs.get(holder)?;
    let Some(arn) = ExecutionArn::of_holder(holder) else {
        return (!run.has_lease(now)).then_some(Excuse::Process);
    };
    let row = cloud.executions.get(&arn)?;
    let ended = row.ended.map(|(at, _)| at);
    let cases = [
        (run.has_yielded(now), Excuse::Yielded),
        (
            row.redriven
                .is_some_and(|at| now < at + REDRIVEN || run.answered < at),
            Excuse::Redriven,
        ),
        (
            row.story.is_own() && ended.is_some_and(|at| now < at + LAST_STEP),
            Excuse::LastStep,
        ),
    ];
    let case = cases.into_iter().find(|(holds, _)| *holds);
    case.map(|(_, excuse)| excuse)
}

/// Counts and notes a write without a permit that has an excuse.
fn zombie(world: &World, record: Option<&LockRecord>, who: &str, why: &str, taken: bool) {
    if !taken {
        world.count("zombies refused");
    }
    let beside = record
        .filter(|record| record.permits == Permits::ONE)
        .and_then(|record| record.holders.keys().next());
    let beside = beside.map_or("no other", |holder| holder.as_str());
    if beside != "no other" {
        world.count("zombies beside a holder");
    }
    let (fate, beside) = (if taken { "taken" } else { "refused" }, short(beside));
    let what = format_args!("writes without a permit ({why}) beside {beside}: {fate}");
    world.note(who, what);
}
