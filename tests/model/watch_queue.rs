//! Watches the queue: who may leave it, and whose turn it is.

use crate::state::{Phase, State, Who};
use crate::watch::{Rule, successes};
use crate::world::{World, at};
use lockstep::domain::{Command, LockRecord, WaiterId};
use lockstep::store::memory::LockItems;

impl World {
    pub(crate) fn watch_queue(
        &self,
        state: &mut State,
        command: &Command,
        before: &LockItems,
        old: &LockRecord,
        new: &LockRecord,
    ) {
        let (now, first) = (at(state.tick), old.first_waiter().map(|(id, _)| id.clone()));
        for who in 0..self.names.len() {
            let (holder, id) = &self.names[who];
            let came = new.holders.contains_key(holder) && !old.holders.contains_key(holder);
            let own_turn = match command {
                // The last grant goes on.
                Command::Renew(renew) if renew.holder == *holder => old.queue.is_empty(),
                Command::Acquire(_) => first.as_ref().is_none_or(|first| first == id),
                _ => first.as_ref() == Some(id),
            };
            if came && (!own_turn || new.queue.contains_key(id)) {
                state.broken.insert(Rule::OutOfTurn);
            }
            match (old.queue.get(id), new.queue.get(id)) {
                (Some(_), None) if !came => {
                    let gave_up = before
                        .waiters
                        .get(id)
                        .is_some_and(|waiter| waiter.has_given_up(now));
                    let duplicate = self.plans[who]
                        .run_key
                        .is_some_and(|_| self.is_taken(state, old, who));
                    let evicted =
                        matches!(command, Command::Evict(evict) if evict.holder == *holder);
                    let waits = state.executions[who].phase == Phase::Waiting;
                    if waits && !gave_up && !duplicate && !evicted {
                        state.broken.insert(Rule::TicketLost);
                    }
                }
                (Some(had), Some(has)) if had != has => {
                    state.broken.insert(Rule::TicketLost);
                }
                (None, Some(ticket))
                    if *ticket <= old.last_ticket && *ticket >= old.front_ticket =>
                {
                    state.broken.insert(Rule::TicketTwice);
                }
                _ => {}
            }
        }
    }

    /// Whether the run key of `who` runs now or has had its success.
    fn is_taken(&self, state: &State, old: &LockRecord, who: Who) -> bool {
        let holds = old.holders.keys().filter_map(|holder| self.who(holder));
        let key = self.plans[who].run_key;
        let runs = holds
            .into_iter()
            .any(|other| self.plans[other].run_key == key);
        runs || successes(&state.table) > 0
    }
}

/// Whether `id` waits.
pub(crate) fn queued(state: &State, id: &WaiterId) -> bool {
    state
        .record()
        .is_some_and(|record| record.queue.contains_key(id))
}
