//! The only loop that turns a command into a write: fast path, observed path, bounded retry.
//!
//! ```text
//!  command ─▶ fast(command, now) ─▶ commit ── committed ───────────────▶ outcome
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
    Command, Effect, Fast, FencingToken, LockKey, Outcome, Refusal, Snapshot, Transition, decide,
    fast, refused_by_run,
};
use crate::store::{Commit, Found, LockStore, StoreError};
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

    /// Carries out `command` on `lock`.
    ///
    /// # Errors
    /// [`ProtocolError`]. After `Store` the command may or may not have been carried out: sending
    /// it again is safe and finds out.
    pub async fn execute(&self, lock: &LockKey, command: &Command) -> Result<Done, ProtocolError> {
        let mut retries = 0;
        let (proposed, mut found) = loop {
            let fast = fast(command, self.clock.now());
            match self.store.commit(lock, &fast.change).await? {
                Commit::Committed(after) => match fast.outcome(after.as_ref()) {
                    Some(outcome) => {
                        return Ok(Done {
                            outcome,
                            effects: Vec::new(),
                        });
                    }
                    None => break (None, Found::default()),
                },
                Commit::Conflict(found) => break (proposed_token(&fast), found),
                Commit::Busy => self.wait(&mut retries).await?,
            }
        };
        loop {
            match self.step(lock, command, found).await? {
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
    ) -> Result<Step, ProtocolError> {
        let seen = self.complete(lock, command, found).await?;
        let transition =
            decide(&seen, command, self.clock.now()).map_err(ProtocolError::Refused)?;
        check(&transition)?;
        let Some(change) = transition.change(seen.record.as_ref()) else {
            return Ok(Step::Settled(done(transition)));
        };
        match self.store.commit(lock, &change).await? {
            Commit::Committed(_) => Ok(Step::Settled(done(transition))),
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
        let record = match found.record {
            Some(record) => record,
            None => {
                let refusal = refused_by_run(found.run.as_ref(), command, self.clock.now());
                refusal.map_or(Ok(()), |refusal| Err(ProtocolError::Refused(refusal)))?;
                self.store.load(lock).await?
            }
        };
        let run = match command.run_to_read(record.as_ref()) {
            Some(id) => self.store.load_run(lock, &id).await?,
            None => found.run,
        };
        Ok(Snapshot { record, run })
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
            taken_from: Vec::new(),
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
