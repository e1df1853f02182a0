//! Watches every write to the table: what it may do to leases, tokens and the record, who may leave the
//! queue, and whose turn it is.

use crate::state::{Phase, State, Who};
use crate::world::{World, at};
use lockstep::domain::{
    ActKind, CLOCK_SKEW, Change, Command, FencingToken, HolderId, LockRecord, RunId, RunOutcome,
    WaiterId,
};
use lockstep::store::Commit;
use lockstep::store::memory::LockItems;

/// A rule that a write can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Rule {
    TokensGrow,
    LeaseTaken,
    EndMovedBack,
    TicketLost,
    OutOfTurn,
    TicketTwice,
    Record,
    NotDue,
    SuccessTwice,
    Failed,
    GrantDenied,
    LiveStopped,
    FreedAtWork,
    PassedOnAtWork,
    FalseSuccess,
    SuccessDropped,
}

impl World {
    /// Writes `change` to the table, and watches it.
    pub(crate) fn commit(&self, state: &mut State, command: &Command, change: &Change) -> Commit {
        let before = state.table.clone();
        let commit = state.table.commit(change);
        // No decision reads when runs ended. Without these times, states that differ in nothing else are one.
        if let Some(record) = &mut state.table.record {
            (record.last_success, record.last_failure) = (None, None);
        }
        if let (Commit::Committed(_), Some(after)) = (&commit, state.table.record.clone()) {
            let empty = LockRecord::new(after.permits);
            let old = before.record.as_ref().unwrap_or(&empty);
            self.watch_leases(state, command, old, &after);
            self.watch_queue(state, command, &before, old, &after);
            self.watch_record(state, &before, &after);
            self.watch_success(state, &before);
        }
        commit
    }

    fn watch_leases(
        &self,
        state: &mut State,
        command: &Command,
        old: &LockRecord,
        new: &LockRecord,
    ) {
        for (holder, lease) in &old.holders {
            if new.lease(holder, lease.token).is_none() {
                let who = self.who(holder).expect("a known holder");
                self.watch_end(state, command, who, lease);
            }
        }
        for (holder, lease) in &new.holders {
            let before = old.lease(holder, lease.token);
            let shorter = before.is_some_and(|before| lease.expires_at < before.expires_at);
            if shorter && self.travels() {
                state.broken.insert(Rule::EndMovedBack);
            }
            if old.lease(holder, lease.token).is_none() {
                watch_grant(state, command, holder, lease.token);
            }
            let who = self.who(holder).expect("a known holder");
            self.watch_sentence(state, who, old, lease);
        }
    }

    fn watch_record(&self, state: &mut State, before: &LockItems, new: &LockRecord) {
        if new.check_invariants().is_err() {
            state.broken.insert(Rule::Record);
        }
        let first_end = new.holders.values().map(|lease| lease.expires_at).min();
        let is_swept_idle = self.budget.idle_sweeps > 0;
        let ends = new.due.zip(first_end);
        let late = ends.is_some_and(|(due, end)| due > end.plus(CLOCK_SKEW) && !is_swept_idle);
        let done = new.is_idle() && new.gate.mode.pause_end().is_none();
        if done != new.due.is_none() || late {
            state.broken.insert(Rule::NotDue);
        }
        if successes(&state.table) > successes(before) && successes(before) > 0 {
            state.broken.insert(Rule::SuccessTwice);
        }
    }
}

fn watch_grant(state: &mut State, command: &Command, holder: &HolderId, token: FencingToken) {
    let grant = Some((holder.clone(), token));
    // Only a heartbeat may put a grant back, and only the latest one.
    let put_back = matches!(command, Command::Renew(_)) && state.last_grant == grant;
    let last = state.last_grant.as_ref();
    let grows = last.is_none_or(|(_, last)| *last < token);
    if !grows && !put_back {
        state.broken.insert(Rule::TokensGrow);
    }
    state.last_grant = grant;
}

/// Returns the number of successes of the run key, without those that were forgotten. A configuration has one
/// run key.
pub(crate) fn successes(table: &LockItems) -> usize {
    let runs = table.runs.iter();
    let of_key = runs.filter(|(id, run)| matches!(id, RunId::Token(_)) && run.run_key.is_some());
    let all = of_key.filter(|(_, run)| run.outcome() == Some(RunOutcome::Succeeded));
    all.count() - forgotten(table)
}

/// Returns how often an operator has forgotten the run key.
pub(crate) fn forgotten(table: &LockItems) -> usize {
    let acts = table.acts.values();
    acts.filter(|act| act.kind == ActKind::Forgotten).count()
}

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
                // A redriven run gets its grant back, but only if no run waits.
                Command::Renew(renew) if renew.holder == *holder => old.queue.is_empty(),
                Command::Acquire(_) => first.as_ref().is_none_or(|first| first == id),
                _ => first.as_ref() == Some(id),
            };
            if came && (!own_turn || new.queue.contains_key(id)) {
                state.broken.insert(Rule::OutOfTurn);
            }
            match (old.queue.get(id), new.queue.get(id)) {
                (Some(_), None) if !came => {
                    let waiter = before.waiters.get(id);
                    let gave_up = waiter.is_some_and(|waiter| waiter.has_given_up(now));
                    let key = self.plans[who].run_key;
                    let duplicate = key.is_some_and(|_| self.is_taken(state, old, who));
                    let evicted =
                        matches!(command, Command::DropWaiter(drop) if drop.waiter == *id);
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

    /// Returns whether a holder has the run key of `who`, or the key has had its success.
    fn is_taken(&self, state: &State, old: &LockRecord, who: Who) -> bool {
        let holds = old.holders.keys().filter_map(|holder| self.who(holder));
        let key = self.plans[who].run_key;
        let mut keys = holds.map(|other| self.plans[other].run_key);
        keys.any(|other| other == key) || successes(&state.table) > 0
    }
}

/// Returns whether `id` is in the queue.
pub(crate) fn queued(state: &State, id: &WaiterId) -> bool {
    let record = state.record();
    record.is_some_and(|record| record.queue.contains_key(id))
}
