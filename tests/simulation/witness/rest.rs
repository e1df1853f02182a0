//! After everything has come to its end, nothing is left that nothing will use.

use super::excuse::Excuse;
use crate::engine::locked;
use crate::world::World;
use lockstep::domain::LockKey;

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
