//! The only loop that turns a command into a write: fast path, observed path, bounded retry.
//!
//! ```text
//!  command ─▶ register, if a state waits already
//!                 ▼
//!             fast(command, now) ─▶ commit ── committed ───────────────▶ outcome
//!                                     │ conflict: the record comes with the answer
//!                                     ▼
//!                      decide(record, command, now) ── refusal ────────▶ refusal
//!                                     │ transition
//!                                     ▼
//!                                   commit ── committed ───────────────▶ outcome
//!                                     │ conflict: decide again, at most RETRIES_MAX times
//!                                     └──────────────────────────────────▶ contended
//! ```
//!
//! May depend on: domain, store, clock, backoff.

use crate::backoff::Backoff;
use crate::clock::Clock;
use crate::domain::{
    Command, Effect, Fast, FencingToken, LockKey, LockRecord, Outcome, Refusal, Snapshot,
    Transition, decide, fast, refused_by_run,
};
use crate::store::{Commit, Found, LockStore, StoreError};
use std::collections::BTreeSet;
use std::time::Duration;

/// Most conflicts and busy answers that one command rides out before it gives up.
pub const RETRIES_MAX: u32 = 8;

/// The protocol on one table.
#[derive(Debug)]
pub struct Protocol<S, C> {
    store: S,
    clock: C,
    backoff: Backoff,
}

/// What a command came to, and what is left to do now that it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// What it came to.
    pub outcome: Outcome,
    /// What is left to do.
    pub effects: Vec<Effect>,
}

impl Done {
    fn quietly(outcome: Outcome) -> Self {
        Self {
            outcome,
            effects: Vec::new(),
        }
    }
}

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The protocol says no.
    #[error("refused: {0:?}")]
    Refused(Refusal),
    /// Others wrote in between, again and again.
    #[error("{RETRIES_MAX} conflicts in a row")]
    Contended,
    /// The table did not do its part.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What one try has come to.
enum Step {
    Settled(Done),
    Again(Found),
}

impl<S: LockStore, C: Clock> Protocol<S, C> {
    /// The protocol on `store`. The `seed` spreads the waits of clients that meet.
    pub fn new(store: S, clock: C, seed: u64) -> Self {
        let backoff = Backoff::new(Duration::from_millis(20), Duration::from_millis(400), seed);
        Self {
            store,
            clock,
            backoff,
        }
    }

    /// The clock that decisions are made by.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// The table that it works on.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Carries out `command` on `lock`.
    ///
    /// # Errors
    /// [`ProtocolError`]. After `Store` the command may or may not have been carried out: sending
    /// it again is safe and finds out.
    pub async fn execute(&self, lock: &LockKey, command: &Command) -> Result<Done, ProtocolError> {
        let waiting = command.waits_already(self.clock.now());
        if let Some(waiter) = &waiting {
            self.store.register(lock, waiter).await?;
        }
        let mut retries = 0;
        let (proposed, mut found) = loop {
            let Some(fast) = fast(command, self.clock.now()) else {
                break (None, Found::default());
            };
            match self.store.commit(lock, &fast.change).await? {
                Commit::Committed(after) => match fast.outcome(after.as_ref()) {
                    Some(outcome) => return Ok(Done::quietly(outcome)),
                    None => break (None, Found::default()),
                },
                Commit::Conflict(found) => break (proposed_token(&fast), found),
                Commit::Busy => self.wait(&mut retries).await?,
            }
        };
        loop {
            let step = self.step(lock, command, found, waiting.is_some()).await?;
            match step {
                Step::Settled(done) => return Ok(recognise(done, proposed)),
                Step::Again(newer) => found = newer,
            }
            self.wait(&mut retries).await?;
        }
    }

    /// Decides on what was found and writes the decision.
    async fn step(
        &self,
        lock: &LockKey,
        command: &Command,
        found: Found,
        registered: bool,
    ) -> Result<Step, ProtocolError> {
        let seen = self.complete(lock, command, found).await?;
        let transition =
            decide(&seen, command, self.clock.now()).map_err(ProtocolError::Refused)?;
        check(&transition)?;
        let Some(change) = transition.change(seen.record.as_ref()) else {
            return Ok(Step::Settled(done(transition)));
        };
        if let (Command::Acquire(acquire), Outcome::Queued { .. }, false) =
            (command, &transition.outcome, registered)
        {
            self.store
                .register(lock, &acquire.waiter(self.clock.now()))
                .await?;
        }
        match self.store.commit(lock, &change).await? {
            Commit::Committed(after) => Ok(Step::Settled(written(transition, after.as_ref()))),
            Commit::Conflict(newer) => Ok(Step::Again(newer)),
            // What was seen may be old by now: start from what the table has.
            Commit::Busy => Ok(Step::Again(Found::default())),
        }
    }

    /// Reads what a decision needs and the failed guard did not bring.
    async fn complete(
        &self,
        lock: &LockKey,
        command: &Command,
        found: Found,
    ) -> Result<Snapshot, ProtocolError> {
        let known = found.runs.keys().cloned().collect::<BTreeSet<_>>();
        let runs = found.runs.into_iter();
        let mut seen = Snapshot {
            runs: runs.filter_map(|(id, run)| Some((id, run?))).collect(),
            ..Snapshot::default()
        };
        seen.record = match found.record {
            Some(record) => record,
            None => {
                let refusal = refused_by_run(&seen, command, self.clock.now());
                refusal.map_or(Ok(()), |refusal| Err(ProtocolError::Refused(refusal)))?;
                self.store.load(lock).await?
            }
        };
        let unknown = command.run_to_read(seen.record.as_ref());
        if let Some(id) = unknown.filter(|id| !known.contains(id)) {
            let run = self.store.load_run(lock, &id).await?;
            seen.runs.extend(run.map(|run| (id, run)));
        }
        if let Some(id) = command.waiter_to_read(seen.record.as_ref()) {
            let waiter = self.store.load_waiter(lock, &id).await?;
            seen.waiter = Some((id, waiter));
        }
        Ok(seen)
    }

    async fn wait(&self, retries: &mut u32) -> Result<(), ProtocolError> {
        if *retries == RETRIES_MAX {
            return Err(ProtocolError::Contended);
        }
        self.clock.sleep(self.backoff.wait(*retries)).await;
        *retries += 1;
        Ok(())
    }
}

/// The token that a fast acquire tried to write.
fn proposed_token(fast: &Fast) -> Option<FencingToken> {
    fast.outcome(None).and_then(|outcome| outcome.token())
}

/// A grant that this very call wrote, while the answer to the write was lost on the way, is a
/// grant and not an old one.
fn recognise(mut done: Done, proposed: Option<FencingToken>) -> Done {
    if let Outcome::AlreadyHeld { lease } = &done.outcome
        && Some(lease.token) == proposed
    {
        done.outcome = Outcome::Granted {
            lease: lease.clone(),
        };
    }
    done
}

fn done(transition: Transition) -> Done {
    Done {
        outcome: transition.outcome,
        effects: transition.effects,
    }
}

/// What a written decision came to. A write that was made blind knows its numbers only now.
fn written(transition: Transition, after: Option<&LockRecord>) -> Done {
    let numbers = transition
        .blind
        .as_ref()
        .and_then(|fast| fast.outcome(after));
    let mut done = done(transition);
    done.outcome = numbers.unwrap_or(done.outcome);
    done
}

/// What is about to be written must be a record that this version would read back.
fn check(transition: &Transition) -> Result<(), StoreError> {
    let broken = transition
        .next
        .as_ref()
        .and_then(|next| next.check_invariants().err());
    broken.map_or(Ok(()), |rule| {
        Err(StoreError::Corrupt {
            item: "next record".into(),
            attribute: "holders".into(),
            problem: format!("would break a rule: {rule}"),
        })
    })
}
