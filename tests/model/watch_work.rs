//! Watches leases together with their work: whether the work goes on, and how it ended.

use crate::state::{Phase, State, Taken, Who, Work};
use crate::watch::Rule;
use crate::world::{World, at};
use lockstep::domain::{
    Command, FencingToken, HolderId, Lease, LockRecord, RecoveryBasis, RunId, RunOutcome,
    StalePolicy,
};
use lockstep::store::memory::LockItems;

impl World {
    /// Returns whether `command` may end the lease of `who`.
    pub(crate) fn may_end(
        &self,
        state: &State,
        command: &Command,
        who: Who,
        lease: &Lease,
    ) -> bool {
        let holder = self.holder(who);
        let own = |named: &HolderId, token: FencingToken| named == holder && token == lease.token;
        let phase = state.executions[who].phase;
        match command {
            Command::Release(release) => own(&release.holder, release.token),
            Command::Renew(renew) => {
                own(&renew.holder, renew.token) && lease.stale == StalePolicy::Yield
            }
            Command::Recover(recover) if own(&recover.holder, recover.token) => match recover.basis
            {
                RecoveryBasis::Evicted => true,
                // A redriven run is in the phase `Working` from its first heartbeat on.
                RecoveryBasis::Seen | RecoveryBasis::Unconfirmed => {
                    matches!(phase, Phase::Over(_) | Phase::Working(_) | Phase::Reporting)
                }
                RecoveryBasis::Expired => {
                    let silent = !self.plans[who].visible || lease.stale == StalePolicy::Yield;
                    silent && lease.is_dead(at(state.tick))
                }
            },
            _ => false,
        }
    }

    /// Returns who takes the permit of `who` while its work may go on: an operator, the end of a lease that
    /// is the only evidence, its stale policy `yield`, or the recovery of an unconfirmed hand-over.
    pub(crate) fn taken_by(&self, command: &Command, who: Who) -> Option<Taken> {
        let yields = self.plans[who].stale == StalePolicy::Yield;
        match command {
            Command::Recover(recover) if recover.basis == RecoveryBasis::Evicted => {
                Some(Taken::ByOperator)
            }
            Command::Renew(_) if yields => Some(Taken::Yielded),
            Command::Recover(recover) if recover.basis == RecoveryBasis::Unconfirmed => {
                Some(Taken::Unconfirmed)
            }
            Command::Recover(recover) if recover.basis == RecoveryBasis::Expired => {
                match self.plans[who].visible {
                    true => yields.then_some(Taken::Yielded),
                    false => Some(Taken::ByTime),
                }
            }
            _ => None,
        }
    }

    /// Watches the end of the lease of `who` by `command`.
    pub(crate) fn watch_end(&self, state: &mut State, command: &Command, who: Who, lease: &Lease) {
        if !self.may_end(state, command, who, lease) {
            state.broken.insert(Rule::LeaseTaken);
        }
        let by = self.taken_by(command, who);
        let execution = &mut state.executions[who];
        // A success that was not recorded before the eviction counts as a success of an evicted run.
        if by == Some(Taken::ByOperator) && execution.phase == Phase::Releasing(lease.token) {
            execution.done_evicted += std::mem::take(&mut execution.done);
        }
        let under_it = execution.had == Some(lease.token);
        if under_it && execution.works() {
            match by {
                None => state.broken.insert(Rule::FreedAtWork),
                Some(Taken::Unconfirmed) => state.broken.insert(Rule::PassedOnAtWork),
                Some(Taken::ByOperator | Taken::ByTime | Taken::Yielded) => false,
            };
        }
        let run = state.table.runs.get(&RunId::Token(lease.token));
        let recorded = run.and_then(|run| run.outcome());
        let seen =
            matches!(command, Command::Recover(recover) if recover.basis == RecoveryBasis::Seen);
        let succeeded = under_it && execution.work == Work::Succeeded;
        if seen && succeeded && recorded != Some(RunOutcome::Succeeded) {
            state.broken.insert(Rule::SuccessDropped);
        }
        execution.taken = by.map(|by| (lease.token, by)).or(execution.taken);
    }

    /// Watches that no run is recorded as succeeded unless its work has succeeded.
    pub(crate) fn watch_success(&self, state: &mut State, before: &LockItems) {
        for (id, run) in &state.table.runs {
            let news = before.runs.get(id) != Some(run);
            let succeeded = run.outcome() == Some(RunOutcome::Succeeded);
            let who = self.who(&run.holder).filter(|_| news && succeeded);
            if who.is_some_and(|who| !state.executions[who].succeeded()) {
                state.broken.insert(Rule::FalseSuccess);
            }
        }
    }

    /// Watches that the stop of a holder is committed only for a valid reason: its lease has ended, a run
    /// waits to replace it, or an operator evicts it. A run that died while it waited counts until it is
    /// dropped from the queue.
    pub(crate) fn watch_sentence(
        &self,
        state: &mut State,
        who: Who,
        old: &LockRecord,
        lease: &Lease,
    ) {
        let before = old.lease(self.holder(who), lease.token);
        let was_stopped = before.is_some_and(|lease| lease.exit.is_committed());
        if was_stopped || !lease.exit.is_committed() {
            return;
        }
        let by = lease.exit.replaced_by.as_ref().and_then(|by| self.who(by));
        let waits = by.is_some_and(|by| {
            matches!(state.executions[by].phase, Phase::Waiting | Phase::Over(_))
                && old.queue.contains_key(&self.names[by].1)
        });
        if waits || lease.exit.evicted().is_some() || !is_live(state, who, Some(lease)) {
            state.executions[who].sentenced = Some(lease.token);
        } else {
            state.broken.insert(Rule::LiveStopped);
        }
    }

    /// Watches a stop of the execution or the work of `who`: its stop has to be committed, or its lease has
    /// to have ended. The work of an execution that is over, and that of an earlier attempt, may be stopped
    /// at any time.
    pub(crate) fn watch_stop(&self, state: &mut State, who: Who) {
        let execution = &state.executions[who];
        if matches!(execution.phase, Phase::Over(_)) || execution.resuming {
            return;
        }
        let record = state.record();
        let lease = record.and_then(|record| record.holders.get(self.holder(who)));
        let token = lease.map(|lease| lease.token).or(execution.had);
        let committed = token.is_some() && execution.sentenced == token;
        if !committed && is_live(state, who, lease) {
            state.broken.insert(Rule::LiveStopped);
        }
    }
}

/// Returns whether the lease is live in the table or as far as the holder knows.
fn is_live(state: &State, who: Who, lease: Option<&Lease>) -> bool {
    let belief = state.executions[who].belief;
    let believed = belief.is_some_and(|(_, end)| at(state.tick) < end);
    believed || lease.is_some_and(|lease| lease.is_live(at(state.tick)))
}
