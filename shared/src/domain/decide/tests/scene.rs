//! A lock, and callers that speak one after the other at seconds of their choice.

use crate::domain::{
    Acquire, AuditNote, Command, Evict, FencingToken, HolderId, Lease, LeaseVersion, LockRecord,
    Outcome, Permits, Recover, RecoveryBasis, Refusal, Release, Renew, Run, RunId, RunKey,
    RunOutcome, Snapshot, TaskToken, Terms, Timestamp, Transition, WhenFull, decide,
};
use crate::store::Commit;
use crate::store::memory::LockItems;
use crate::testing;
pub(super) use crate::testing::{RETENTION, holder};

pub(super) type Decision = Result<Transition, Refusal>;

/// A lock of `permits`.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) items: LockItems,
    permits: Permits,
}

pub(super) fn at(second: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + second * 1000)
}

pub(super) fn beat(name: &str) -> TaskToken {
    TaskToken::new(name).unwrap()
}

impl Scene {
    pub(super) fn new(permits: i64) -> Self {
        Self {
            items: LockItems::default(),
            permits: Permits::new(permits).unwrap(),
        }
    }

    /// A lock with these grants, each `(holder, second)`.
    pub(super) fn held_by(permits: i64, grants: &[(&str, u64)]) -> Self {
        let mut scene = Self::new(permits);
        for (name, second) in grants {
            let done = scene.acquire(name, WhenFull::Refuse, *second).unwrap();
            assert!(matches!(done.outcome, Outcome::Granted { .. }), "{done:?}");
        }
        scene
    }

    pub(super) fn terms(&self, name: &str) -> Terms {
        Terms {
            permits: self.permits,
            ..testing::terms(holder(name))
        }
    }

    pub(super) fn acquire(&mut self, name: &str, when_full: WhenFull, second: u64) -> Decision {
        self.ask(self.terms(name), when_full, second)
    }

    pub(super) fn queue(&mut self, name: &str, second: u64) -> Decision {
        self.acquire(name, WhenFull::Queue { most: 100 }, second)
    }

    pub(super) fn ask(&mut self, terms: Terms, when_full: WhenFull, second: u64) -> Decision {
        let task_token = TaskToken::new(format!("{}-waits", terms.holder)).ok();
        let acquire = Acquire {
            terms,
            task_token: task_token.filter(|_| when_full != WhenFull::Refuse),
            when_full,
            when_paused: testing::when_paused(when_full),
            wait_until: None,
        };
        self.carry_out(&Command::Acquire(acquire), second)
    }

    pub(super) fn release(&mut self, name: &str, outcome: RunOutcome, second: u64) -> Decision {
        let release = Release {
            run_key: self.run_key(name),
            outcome,
            ..testing::release(holder(name), self.token(name))
        };
        self.carry_out(&Command::Release(release), second)
    }

    pub(super) fn renew(&mut self, name: &str, token: FencingToken, second: u64) -> Decision {
        let renew = Renew {
            beat: Some(beat("beat")),
            ..testing::renew(holder(name), token)
        };
        self.carry_out(&Command::Renew(renew), second)
    }

    pub(super) fn recover(&mut self, name: &str, basis: RecoveryBasis, second: u64) -> Decision {
        let recover = Recover {
            basis,
            ..testing::recover(holder(name), self.token(name), self.seen(name))
        };
        self.carry_out(&Command::Recover(recover), second)
    }

    pub(super) fn evict(&mut self, name: &str, second: u64) -> Decision {
        let evict = Evict {
            holder: holder(name),
            audit: audit_note("broken"),
        };
        self.carry_out(&Command::Evict(evict), second)
    }

    /// Decides as the protocol does, writes what was decided, and answers with it.
    pub(super) fn carry_out(&mut self, command: &Command, second: u64) -> Decision {
        let now = at(second);
        if let Some(waiter) = command.waits_already(now) {
            self.items.waiters.insert(waiter.id(), waiter);
        }
        let record = self.items.record.clone();
        let waiter = command.waiter_to_read(record.as_ref()).map(|id| {
            let item = self.items.waiters.get(&id).cloned();
            (id, item)
        });
        let runs = self.items.runs.clone();
        let seen = Snapshot {
            record,
            runs,
            waiter,
        };
        let decided = decide(&seen, command, now)?;
        if let Some(change) = decided.change(seen.record.as_ref()) {
            let done = self.items.commit(&change);
            assert!(matches!(done, Commit::Committed(_)), "{done:?}");
        }
        if let Some(record) = &self.items.record {
            assert_eq!(record.check_invariants(), Ok(()));
            let rests = record.is_idle() && record.next_due().is_none();
            assert_eq!(record.due.is_none(), rests, "{record:?}");
        }
        Ok(decided)
    }

    pub(super) fn record(&self) -> &LockRecord {
        self.items.record.as_ref().unwrap()
    }

    pub(super) fn holders(&self) -> Vec<&str> {
        self.record().holders.keys().map(HolderId::as_str).collect()
    }

    /// The names of those who wait, first in the queue first.
    pub(super) fn line(&self) -> Vec<&str> {
        let mut waiting: Vec<_> = self.record().queue.iter().collect();
        waiting.sort_by_key(|(_, ticket)| **ticket);
        let names = waiting.iter().map(|(id, _)| &self.items.waiters[*id]);
        names.map(|waiter| waiter.terms.holder.as_str()).collect()
    }

    pub(super) fn token(&self, name: &str) -> FencingToken {
        let lease = self.record().holders.get(&holder(name));
        lease.map_or(FencingToken::NONE, |lease| lease.token)
    }

    /// The version of the lease of `name`.
    pub(super) fn seen(&self, name: &str) -> LeaseVersion {
        let lease = self.record().holders.get(&holder(name));
        lease.map(Lease::version).unwrap_or_default()
    }

    fn run_key(&self, name: &str) -> Option<RunKey> {
        self.record().holders.get(&holder(name))?.run_key.clone()
    }

    /// How the run of `token` ended.
    pub(super) fn ended(&self, token: FencingToken) -> Option<RunOutcome> {
        self.history(token)?.outcome()
    }

    pub(super) fn history(&self, token: FencingToken) -> Option<&Run> {
        self.items.runs.get(&RunId::Token(token))
    }

    pub(super) fn marker(&self, key: &str) -> Option<&Run> {
        self.items.runs.get(&RunId::Key(RunKey::new(key).unwrap()))
    }
}

pub(super) fn audit_note(note: &str) -> AuditNote {
    testing::audit_note(holder("arn:aws:iam::1:user/op"), note)
}

pub(super) fn with_key(mut terms: Terms, key: &str) -> Terms {
    terms.run_key = RunKey::new(key).ok();
    terms
}
