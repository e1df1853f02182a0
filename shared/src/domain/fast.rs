//! What each command can write without looking first.

use super::command::{Acquire, Command, Release, Renew};
use super::decide::{new_lease, start_run};
use super::guard::{Change, Clause, Guard, RunGuard};
use super::record::LockRecord;
use super::run::{Run, RunEnd, RunId, RunWrite};
use super::time::Timestamp;
use super::token::FencingToken;
use super::transition::Outcome;
use super::update::{Assign, Update};

/// A write that needs no look first: where its guard holds, it does what [`super::decide()`] does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fast {
    /// The write.
    pub change: Change,
    promise: Promise,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Promise {
    /// Known before the write.
    Known(Outcome),
    /// The lease of this renewal, as the store has it after the write.
    LeaseOf(Renew),
}

impl Fast {
    /// What the command came to, given the record after the write where it was asked for.
    #[must_use]
    pub fn outcome(&self, after: Option<&LockRecord>) -> Option<Outcome> {
        match &self.promise {
            Promise::Known(outcome) => Some(outcome.clone()),
            Promise::LeaseOf(renew) => {
                let lease = after?.lease(&renew.holder, renew.token)?;
                Some(Outcome::Renewed {
                    expires_at: lease.expires_at,
                })
            }
        }
    }
}

/// What `command` can write at `now` without looking first.
#[must_use]
pub fn fast(command: &Command, now: Timestamp) -> Fast {
    match command {
        Command::Acquire(acquire) => fast_acquire(acquire, now),
        Command::Renew(renew) => fast_renew(renew, now),
        Command::Release(release) => fast_release(release, now),
    }
}

/// The token is the time: known before the write. The guard sends a clock that stepped back to the
/// observed path, which counts on from the last token.
fn fast_acquire(acquire: &Acquire, now: Timestamp) -> Fast {
    let token = FencingToken::next(FencingToken::NONE, now);
    let lease = new_lease(acquire, token, now);
    let mut assigns = vec![
        Assign::LastToken(token),
        Assign::PutLease(acquire.holder.clone(), lease.clone()),
    ];
    assigns.extend(
        acquire
            .min_interval
            .map(|gap| Assign::NotBefore(now.plus(gap))),
    );
    let starts = acquire.run_key.iter();
    let change = Change {
        guard: Guard(vec![
            Clause::Readable,
            Clause::Open,
            Clause::PermitsAre(acquire.permits),
            Clause::BelowCapacity,
            Clause::NotHeldBy(acquire.holder.clone()),
            Clause::QueueEmpty,
            Clause::SpacingPassed(now),
            Clause::TokenNewer(token),
        ]),
        update: Update::Assign(assigns),
        runs: starts
            .map(|_| (RunGuard::NotTaken(now), start_run(acquire, token)))
            .collect(),
        read_back: false,
    };
    let outcome = Outcome::Granted {
        lease,
        taken_from: Vec::new(),
    };
    Fast {
        change,
        promise: Promise::Known(outcome),
    }
}

fn fast_renew(renew: &Renew, now: Timestamp) -> Fast {
    let change = Change {
        guard: Guard(vec![
            Clause::Readable,
            Clause::LeaseIs(renew.holder.clone(), renew.token),
            Clause::NotOverrun(renew.holder.clone(), now),
        ]),
        update: Update::Assign(vec![Assign::ExtendLease(
            renew.holder.clone(),
            now,
            renew.beat.clone(),
        )]),
        runs: Vec::new(),
        read_back: true,
    };
    Fast {
        change,
        promise: Promise::LeaseOf(renew.clone()),
    }
}

/// A release that has a heartbeat state to end cannot be fast: a transaction returns nothing, and
/// the task token stands in the record. Its guard fails, and the failure brings the record.
fn fast_release(release: &Release, now: Timestamp) -> Fast {
    let end = RunEnd {
        outcome: release.outcome,
        at: now,
        retain_until: now.plus(release.retention),
    };
    let run = Run {
        holder: release.holder.clone(),
        token: release.token,
        end: Some(end),
    };
    let id = RunId::of(release.run_key.as_ref(), release.token);
    let change = Change {
        guard: Guard(vec![
            Clause::Readable,
            Clause::LeaseIs(release.holder.clone(), release.token),
            Clause::RunKeyIs(release.holder.clone(), release.run_key.clone()),
            Clause::NoBeat(release.holder.clone()),
            Clause::QueueEmpty,
        ]),
        update: Update::Assign(vec![Assign::DropLease(release.holder.clone())]),
        runs: vec![(RunGuard::OpenFor(release.token), RunWrite { id, run })],
        read_back: false,
    };
    let since = release.token.granted_at();
    let outcome = Outcome::Released {
        since,
        at: now,
        already: false,
    };
    Fast {
        change,
        promise: Promise::Known(outcome),
    }
}
