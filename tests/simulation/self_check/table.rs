//! Records that are written by hand, for the auditor to check.

use crate::audit;
use crate::trial::Trials;
use crate::world::{START, World};
use lockstep::domain::{
    Change, FencingToken, Guard, HolderId, Lease, LockKey, LockRecord, Permits, Run, RunEnd,
    RunGuard, RunId, RunOutcome, RunWrite, Seconds, Terms, Timestamp, Update, Waiter,
};
use lockstep::testing;

/// A world in which records are written by hand.
pub(super) struct Table {
    pub(super) world: World,
    pub(super) lock: LockKey,
    pub(super) record: LockRecord,
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            world: World::trying(0, 0, Trials::ALL),
            lock: LockKey::new("by-hand").unwrap(),
            record: LockRecord::new(Permits::ONE),
        }
    }

    /// Writes the record as `change` leaves it. Returns the promise that the write breaks, or an
    /// empty text.
    pub(super) fn write(
        &mut self,
        runs: Vec<RunWrite>,
        change: impl FnOnce(&mut LockRecord),
    ) -> String {
        let before = self.record.clone();
        change(&mut self.record);
        self.record.version += 1;
        let runs = runs.into_iter();
        let runs = runs.map(|run| (RunGuard::EndedUnder(run.run.token), run));
        let change = Change {
            guard: Guard(Vec::new()),
            update: Update::Keep,
            runs: runs.collect(),
            act: None,
            waiter: None,
            read_back: false,
        };
        let (before, after) = (Some(&before), Some(&self.record));
        audit::committed(&self.world, &self.lock, &change, before, after);
        self.world.broken().unwrap_or_default()
    }

    pub(super) fn grant(&mut self, holder: &HolderId, token: u64) -> String {
        let (holder, lease) = (holder.clone(), lease(&holder.clone(), token));
        self.write(Vec::new(), |record| {
            record.last_token = lease.token;
            record.holders.insert(holder, lease);
        })
    }

    pub(super) fn end(&mut self, holder: &HolderId, token: u64, outcome: RunOutcome) -> String {
        let run = ended(holder, token, outcome);
        self.write(vec![run], |record| drop(record.holders.remove(holder)))
    }
}

pub(super) fn holder(name: &str) -> HolderId {
    testing::holder(&format!(
        "arn:aws:states:eu-west-1:1:execution:report:{name}"
    ))
}

/// Returns a waiter that registered when the world began.
pub(super) fn waiter(holder: &HolderId) -> Waiter {
    Waiter {
        terms: terms(holder),
        task_token: None,
        wait_until: None,
        since: Timestamp::from_millis(START),
        queued_at: Timestamp::from_millis(START),
    }
}

fn lease(holder: &HolderId, token: u64) -> Lease {
    let token = FencingToken::from_number(token);
    terms(holder).lease(token, token.granted_at())
}

fn terms(holder: &HolderId) -> Terms {
    Terms {
        lease: Seconds::of(30),
        heartbeat: Seconds::of(10),
        run_key: Some(testing::run_key("tick")),
        ..testing::terms(holder.clone())
    }
}

fn ended(holder: &HolderId, token: u64, outcome: RunOutcome) -> RunWrite {
    let lease = lease(holder, token);
    let mut run = Run::started(holder.clone(), lease.token, lease.run_key);
    run.end = Some(RunEnd {
        outcome,
        at: lease.expires_at,
        retain_until: lease.expires_at,
        evidence: None,
    });
    RunWrite {
        id: RunId::Token(lease.token),
        run,
    }
}
