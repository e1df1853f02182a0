//! Watches every write of the table: what each step may do to leases, tickets and numbers.

use crate::state::{Phase, State, Taken, Who};
use crate::world::{World, at};
use lockstep::domain::{
    CLOCK_SKEW, Change, Command, Death, FencingToken, HolderId, Lease, LockRecord, RunId,
    RunOutcome, StalePolicy,
};
use lockstep::store::Commit;
use lockstep::store::memory::LockItems;

/// A rule that a write can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Rule {
    TokensGrow,
    LeaseTaken,
    TicketLost,
    OutOfTurn,
    TicketTwice,
    Record,
    NotDue,
    SuccessTwice,
}

impl World {
    /// Does `change` to the table and watches it.
    pub(crate) fn commit(&self, state: &mut State, command: &Command, change: &Change) -> Commit {
        let before = state.table.clone();
        let commit = state.table.commit(change);
        if let (Commit::Committed(_), Some(after)) = (&commit, state.table.record.clone()) {
            let empty = LockRecord::new(after.permits);
            let old = before.record.as_ref().unwrap_or(&empty);
            self.watch_leases(state, command, old, &after);
            self.watch_queue(state, command, &before, old, &after);
            self.watch_record(state, &before, &after);
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
                if !self.may_end(state, command, who, lease) {
                    state.broken.insert(Rule::LeaseTaken);
                }
                let by = match command {
                    Command::Evict(_) => Some(Taken::ByOperator),
                    Command::Renew(_) => Some(Taken::ByTime),
                    Command::Recover(recover) if recover.death == Death::Expired => {
                        Some(Taken::ByTime)
                    }
                    _ => None,
                };
                let execution = &mut state.executions[who];
                execution.taken = by.map(|by| (lease.token, by)).or(execution.taken);
            }
        }
        for (holder, lease) in &new.holders {
            if old.lease(holder, lease.token).is_none() {
                watch_grant(state, command, holder, lease.token);
            }
        }
    }

    /// Whether `command` may end the lease of `who`.
    fn may_end(&self, state: &State, command: &Command, who: Who, lease: &Lease) -> bool {
        let holder = self.holder(who);
        let own = |named: &HolderId, token: FencingToken| named == holder && token == lease.token;
        let execution = &state.executions[who];
        match command {
            Command::Release(release) => own(&release.holder, release.token),
            Command::Renew(renew) => {
                own(&renew.holder, renew.token) && lease.stale == StalePolicy::Yield
            }
            Command::Recover(recover) if own(&recover.holder, recover.token) => match recover.death
            {
                // A redriven run counts as at work from its first heartbeat on.
                Death::Seen => {
                    !execution.works
                        && matches!(execution.phase, Phase::Over(_) | Phase::Working(_))
                }
                Death::Expired => {
                    let silent = !self.plans[who].visible || lease.stale == StalePolicy::Yield;
                    silent && lease.is_dead(at(state.tick))
                }
            },
            Command::Evict(evict) => evict.holder == *holder,
            _ => false,
        }
    }

    fn watch_record(&self, state: &mut State, before: &LockItems, new: &LockRecord) {
        if new.check_invariants().is_err() {
            state.broken.insert(Rule::Record);
        }
        let first_end = new.holders.values().map(|lease| lease.expires_at).min();
        let looked_past = self.budget.looks > 0;
        let late = new
            .due
            .zip(first_end)
            .is_some_and(|(due, end)| due > end.plus(CLOCK_SKEW) && !looked_past);
        if new.is_idle() != new.due.is_none() || late {
            state.broken.insert(Rule::NotDue);
        }
        if successes(&state.table) > successes(before) && successes(before) > 0 {
            state.broken.insert(Rule::SuccessTwice);
        }
    }
}

fn watch_grant(state: &mut State, command: &Command, holder: &HolderId, token: FencingToken) {
    let grant = Some((holder.clone(), token));
    // A heartbeat may put back the very last grant, and nothing else.
    let put_back = matches!(command, Command::Renew(_)) && state.last_grant == grant;
    let grows = state
        .last_grant
        .as_ref()
        .is_none_or(|(_, last)| *last < token);
    if !grows && !put_back {
        state.broken.insert(Rule::TokensGrow);
    }
    state.last_grant = grant;
}

/// How many runs of a run key have succeeded. One configuration has one run key.
pub(crate) fn successes(table: &LockItems) -> usize {
    let runs = table.runs.iter();
    let of_key = runs.filter(|(id, run)| matches!(id, RunId::Token(_)) && run.run_key.is_some());
    of_key
        .filter(|(_, run)| run.outcome() == Some(RunOutcome::Succeeded))
        .count()
}
