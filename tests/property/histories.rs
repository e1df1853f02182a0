//! Rules of whole histories: random commands at a clock that is up to a second slow.

use lockstep::clock::ManualClock;
use lockstep::domain::{
    Command, FencingToken, HolderId, LockKey, LockRecord, Outcome, Refusal, Release, RunKey,
    RunOutcome, Timestamp,
};
use lockstep::protocol::{Done, Protocol, ProtocolError};
use lockstep::store::LockStore;
use lockstep::store::memory::MemoryStore;
use lockstep_tests::generate::BASE;
use lockstep_tests::history::{Grants, history};
use lockstep_tests::seeds::check;
use proptest::prelude::prop_assert;
use proptest::test_runner::TestCaseError;
use std::cell::Cell;
use std::collections::BTreeMap;

/// By how much clocks may differ at most, in milliseconds.
const SKEW: u64 = 1000;

type Answer = Result<Done, ProtocolError>;

/// What an onlooker knows who sees every answer, and never the table.
#[derive(Default)]
struct Onlooker {
    last: Option<FencingToken>,
    /// Until when each holder that was granted a permit believes to have it.
    beliefs: BTreeMap<(HolderId, FencingToken), Timestamp>,
    succeeded: BTreeMap<RunKey, Timestamp>,
    grants: Grants,
}

#[test]
fn no_history_breaks_a_promise() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    let (granted, taken_over) = (Cell::new(0), Cell::new(0));

    check(1500, &history(60), |steps| {
        let store = MemoryStore::default();
        let protocol = Protocol::new(&store, ManualClock::at(Timestamp::from_millis(BASE)), 1);
        let lock = LockKey::new("history").expect("a valid lock");
        let mut onlooker = Onlooker::default();
        let mut true_time = BASE;
        let mut before: Option<LockRecord> = None;
        for (step, pause, slow) in steps {
            true_time += pause;
            let local = Timestamp::from_millis(true_time - slow);
            protocol.clock().set(local);
            let command = onlooker.grants.command(&step);

            let answer = runtime.block_on(protocol.execute(&lock, &command));
            let after = runtime.block_on(store.load(&lock)).expect("memory works");

            if let Ok(Done {
                outcome: Outcome::Granted { taken_from, .. },
                ..
            }) = &answer
            {
                granted.set(granted.get() + 1);
                taken_over.set(taken_over.get() + taken_from.len());
            }
            onlooker.watch(&command, &answer, local)?;
            onlooker.count_holders(after.as_ref(), true_time)?;
            check_record(before.as_ref(), after.as_ref())?;
            before = after;
        }
        Ok(())
    });

    println!("{} grants, {} takeovers", granted.get(), taken_over.get());
    assert!(granted.get() > 1000 && taken_over.get() > 100);
}

/// The record keeps its rules, and one command writes it once at most.
fn check_record(
    before: Option<&LockRecord>,
    after: Option<&LockRecord>,
) -> Result<(), TestCaseError> {
    let Some(after) = after else {
        prop_assert!(before.is_none(), "the record is gone");
        return Ok(());
    };
    prop_assert!(
        after.check_invariants().is_ok(),
        "{:?}",
        after.check_invariants()
    );
    let version = before.map_or(0, |record| record.version);
    let written = after.version == version + 1;
    prop_assert!(written || Some(after) == before, "{before:?} to {after:?}");
    Ok(())
}

impl Onlooker {
    fn watch(
        &mut self,
        command: &Command,
        answer: &Answer,
        now: Timestamp,
    ) -> Result<(), TestCaseError> {
        match (command, answer) {
            (_, Err(ProtocolError::Contended | ProtocolError::Store(_))) => {
                return Err(TestCaseError::fail(format!("{answer:?}")));
            }
            (Command::Acquire(acquire), Ok(done)) => {
                let (Outcome::Granted { lease, .. } | Outcome::AlreadyHeld { lease }) =
                    &done.outcome
                else {
                    return Err(TestCaseError::fail(format!("{done:?}")));
                };
                // Asked again within the millisecond of its grant, a holder hears of it as new.
                let again = (acquire.holder.clone(), lease.token);
                let granted = matches!(done.outcome, Outcome::Granted { .. });
                if granted && !self.beliefs.contains_key(&again) {
                    prop_assert!(Some(lease.token) > self.last, "a token went back");
                    self.last = Some(lease.token);
                    let key = lease.run_key.as_ref();
                    let done = key.and_then(|key| self.succeeded.get(key));
                    prop_assert!(done.is_none_or(|until| *until <= now), "a tick ran twice");
                }
                let (holder, token) = (acquire.holder.clone(), lease.token);
                self.grants
                    .add(holder.clone(), token, lease.run_key.clone());
                self.beliefs.insert((holder, token), lease.expires_at);
            }
            (Command::Renew(renew), Ok(done)) => {
                let grant = (renew.holder.clone(), renew.token);
                match done.outcome {
                    Outcome::Renewed { expires_at } => self.beliefs.insert(grant, expires_at),
                    _ => self.beliefs.remove(&grant),
                };
            }
            (Command::Renew(renew), Err(ProtocolError::Refused(Refusal::LeaseLost { .. }))) => {
                let belief = self.beliefs.remove(&(renew.holder.clone(), renew.token));
                prop_assert!(belief.is_none_or(|end| end <= now), "a live lease was lost");
            }
            (Command::Release(release), Ok(done)) => {
                let belief = self
                    .beliefs
                    .remove(&(release.holder.clone(), release.token));
                if let Outcome::Lost { .. } = done.outcome {
                    prop_assert!(belief.is_none_or(|end| end <= now), "a live lease was lost");
                }
                self.remember_success(release, belief.is_some(), &done.outcome);
            }
            (_, Err(ProtocolError::Refused(_))) => {}
        }
        Ok(())
    }

    /// The first release of a grant ends its run, where it names the run key of the grant.
    fn remember_success(&mut self, release: &Release, believed: bool, outcome: &Outcome) {
        let Outcome::Released {
            at, already: false, ..
        } = outcome
        else {
            return;
        };
        let own_key = self.grants.run_key(&release.holder, release.token);
        if let Some(key) = own_key.filter(|key| release.run_key.as_ref() == Some(key))
            && believed
            && release.outcome == RunOutcome::Succeeded
        {
            self.succeeded.insert(key, at.plus(release.retention));
        }
    }

    /// However slow its clock, no holder works beside more than the others that it may.
    fn count_holders(
        &self,
        record: Option<&LockRecord>,
        true_time: u64,
    ) -> Result<(), TestCaseError> {
        let working = self
            .beliefs
            .values()
            .filter(|end| true_time < end.millis() + SKEW);
        let most = record.map_or(0, |record| usize::from(record.permits.get()));
        let working = working.count();
        prop_assert!(working <= most, "{working} work under {most} permits");
        Ok(())
    }
}
