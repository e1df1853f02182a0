//! Rules of whole histories: random commands, with clocks that are up to a second slow.

use lockstep::clock::ManualClock;
use lockstep::domain::{
    Command, Effect, ExitStep, FencingToken, HolderId, Lease, LockKey, LockRecord, Outcome,
    RecoveryBasis, Refusal, Release, RunKey, RunOutcome, StopReason, Timestamp,
};
use lockstep::protocol::{Done, Protocol, ProtocolError};
use lockstep::store::LockStore;
use lockstep::store::memory::MemoryStore;
use lockstep_tests::generate::BASE;
use lockstep_tests::history::{Grants, history};
use lockstep_tests::seeds::check;
use proptest::prelude::{prop_assert, prop_assert_eq};
use proptest::test_runner::TestCaseError;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// The most by which two clocks differ, in milliseconds.
const SKEW: u64 = 1000;

type Answer = Result<Done, ProtocolError>;

type Judged = Result<(), TestCaseError>;

/// What an onlooker knows who sees every answer but never the table.
#[derive(Default)]
struct Onlooker {
    last: Option<FencingToken>,
    /// When each grant ends, as its holder knows it.
    beliefs: BTreeMap<(HolderId, FencingToken), Timestamp>,
    /// The earliest time at which each grant may exceed `maxRunSeconds` or `noProgressSeconds`.
    limits: BTreeMap<(HolderId, FencingToken), Timestamp>,
    /// The grants whose stop or eviction is committed.
    stopped: BTreeSet<(HolderId, FencingToken)>,
    /// The run keys that had their success, and the end of their retention.
    succeeded: BTreeMap<RunKey, Timestamp>,
    grants: Grants,
}

#[test]
fn no_history_breaks_leases_tokens_or_run_keys() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    let (granted, freed) = (Cell::new(0), Cell::new(0));

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
            let command = onlooker.grants.command(&step, before.as_ref());

            let answer = runtime.block_on(protocol.execute(&lock, &command));
            let after = runtime.block_on(store.load(&lock)).expect("memory works");

            count(&answer, &granted, &freed);
            onlooker.watch(&command, &answer, local)?;
            onlooker.count_holders(after.as_ref(), true_time)?;
            check_record(before.as_ref(), after.as_ref())?;
            before = after;
        }
        Ok(())
    });

    println!("{} grants, {} permits freed", granted.get(), freed.get());
    assert!(granted.get() > 1000 && freed.get() > 100);
}

/// Checks that the record keeps its invariants, and that one command writes it at most once.
fn check_record(before: Option<&LockRecord>, after: Option<&LockRecord>) -> Judged {
    let Some(after) = after else {
        prop_assert!(before.is_none(), "the record is gone");
        return Ok(());
    };
    prop_assert_eq!(after.check_invariants(), Ok(()));
    let version = before.map_or(0, |record| record.version);
    let written = after.version == version + 1;
    prop_assert!(written || Some(after) == before, "{before:?} to {after:?}");
    Ok(())
}

fn count(answer: &Answer, granted: &Cell<u32>, freed: &Cell<u32>) {
    let Ok(done) = answer else { return };
    let is_turn = |effect: &&Effect| matches!(effect, Effect::Wake(..));
    let turns = done.effects.iter().filter(is_turn).count();
    let own = usize::from(matches!(done.outcome, Outcome::Granted { .. }));
    granted.set(granted.get() + u32::try_from(turns + own).expect("a few"));
    let gone = matches!(done.outcome, Outcome::Freed { outcome: Some(_) });
    freed.set(freed.get() + u32::from(gone));
}

impl Onlooker {
    fn watch(&mut self, command: &Command, answer: &Answer, now: Timestamp) -> Judged {
        if let Err(ProtocolError::Contended | ProtocolError::Store(_)) = answer {
            return Err(TestCaseError::fail(format!("{answer:?}")));
        }
        self.watch_own(command, answer, now)?;
        let effects = answer.as_ref().map(|done| done.effects.as_slice());
        for effect in effects.unwrap_or_default() {
            if let Effect::Wake(holder, lease) = effect {
                self.learn(holder, lease, now)?;
            }
        }
        Ok(())
    }

    /// Learns what the answer says about the holder of the command.
    fn watch_own(&mut self, command: &Command, answer: &Answer, now: Timestamp) -> Judged {
        match (command, answer) {
            (Command::Acquire(acquire), Ok(done)) => match &done.outcome {
                Outcome::Granted { lease } | Outcome::AlreadyHeld { lease } => {
                    self.learn(&acquire.terms.holder, lease, now)?;
                }
                Outcome::Queued { .. } | Outcome::GaveUp { .. } => {}
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            },
            (Command::Renew(renew), Ok(done)) => {
                let grant = (renew.holder.clone(), renew.token);
                match done.outcome {
                    Outcome::Renewed { expires_at }
                    | Outcome::Reinstated { expires_at }
                    | Outcome::Frozen { expires_at, .. } => self.beliefs.insert(grant, expires_at),
                    _ => self.beliefs.remove(&grant),
                };
            }
            (Command::Renew(renew), Err(ProtocolError::Refused(Refusal::LeaseLost { .. }))) => {
                let grant = (renew.holder.clone(), renew.token);
                let belief = self.beliefs.remove(&grant);
                let stopped = self.stopped.contains(&grant);
                let lives = belief.is_some_and(|end| end > now) && !stopped;
                prop_assert!(!lives, "a live lease was lost");
            }
            // A stale holder is stopped only after its lease or one of its limits has ended. A replacement
            // and an eviction stop a holder at any time.
            (Command::Mark(mark), Ok(done)) if done.outcome == Outcome::Done => {
                let grant = (mark.holder.clone(), mark.token);
                let belief = self.beliefs.get(&grant);
                let lives = belief.is_some_and(|end| *end > now);
                let stale = mark.step == ExitStep::Stop(StopReason::Stale);
                let stopped = stale && !self.is_spent(&grant, now);
                prop_assert!(
                    !lives || !stopped,
                    "a live holder was stopped within its limits"
                );
                if matches!(mark.step, ExitStep::Stop(_) | ExitStep::Evict(_)) {
                    self.stopped.insert(grant);
                }
            }
            // After a `forget`, another run of the key may succeed.
            (Command::Forget(forget), Ok(done)) if done.outcome == Outcome::Done => {
                self.succeeded.remove(&forget.run_key);
            }
            (Command::Renew(renew), Err(_)) => {
                self.beliefs.remove(&(renew.holder.clone(), renew.token));
            }
            (Command::Release(release), Ok(done)) => {
                let grant = (release.holder.clone(), release.token);
                let belief = self.beliefs.remove(&grant);
                if let Outcome::Lost { .. } = done.outcome {
                    prop_assert!(belief.is_none_or(|end| end <= now), "a live lease was lost");
                }
                self.remember_success(release, belief.is_some(), &done.outcome);
            }
            // A holder that is seen to be dead, or that an operator frees, holds no permit any more. A lease
            // that expired is forgotten only if the holder is over a limit: otherwise its own clock has to
            // show the end.
            (Command::Recover(recover), Ok(_)) => {
                let grant = (recover.holder.clone(), recover.token);
                if recover.basis != RecoveryBasis::Expired || self.is_spent(&grant, now) {
                    self.beliefs.remove(&grant);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns whether a holder may be over one of its limits.
    fn is_spent(&self, grant: &(HolderId, FencingToken), now: Timestamp) -> bool {
        self.limits.get(grant).is_some_and(|limit| *limit <= now)
    }

    /// Records the grant that a holder learns of.
    fn learn(&mut self, holder: &HolderId, lease: &Lease, now: Timestamp) -> Judged {
        let key = lease.run_key.clone();
        if self.grants.add(holder.clone(), lease.token, key.clone()) {
            prop_assert!(Some(lease.token) > self.last, "a token went back");
            self.last = Some(lease.token);
            let done = key.and_then(|key| self.succeeded.get(&key));
            prop_assert!(done.is_none_or(|until| *until <= now), "a tick ran twice");
        }
        let grant = (holder.clone(), lease.token);
        let limits = [lease.run_until, lease.stalls_at].into_iter().flatten();
        if let Some(limit) = limits.min() {
            self.limits.entry(grant.clone()).or_insert(limit);
        }
        self.beliefs.insert(grant, lease.expires_at);
        Ok(())
    }

    /// Records a success of a run key: the first release of a grant that its holder still believes in, if it
    /// reports a success and names the run key of the grant.
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
            let until = at.plus(release.retention.run_keys);
            self.succeeded.insert(key, until);
        }
    }

    /// Checks that at most as many holders work as the lock has permits, even if their clocks are slow by
    /// [`SKEW`].
    fn count_holders(&self, record: Option<&LockRecord>, true_time: u64) -> Judged {
        let works = |end: &&Timestamp| true_time < end.millis() + SKEW;
        let working = self.beliefs.values().filter(works).count();
        let most = record.map_or(0, |record| usize::from(record.permits.get()));
        prop_assert!(
            working <= most,
            "{working} holders work under {most} permits"
        );
        Ok(())
    }
}
