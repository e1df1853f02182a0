//! The execution of one command, as a pure state machine.
//!
//! ```text
//!             Register ─▶ FastPath ─────────┐
//!                          │ ▲ busy     │ conflict
//!                          │ BackOff    ▼
//!             committed ◀──┤          Read ⟲ until the decision has all its items
//!                          │            │ decide ──────────▶ refused, or nothing to write
//!                          │            ▼
//!                          │          Enqueue ─▶ Write
//!                          └────────────────────┤ conflict, busy: BackOff ─▶ Read
//!                                               ▼
//!                          Forget, if a state has registered and got no place in the queue
//! ```
//!
//! The machine does no I/O, so the model can stop it between any two requests, lose any reply, and let
//! other commands write in between. [`super::Protocol`] is the only loop that drives it with a real
//! table.
//!
//! - A side item is written before the place in the queue, so a hand-over always finds the terms and the
//!   task token of the waiter.
//! - A side item without a place in the queue is deleted last. If the attempt ends before that, the TTL
//!   of the item removes it.

mod exchange;
mod seen;

pub use exchange::{AttemptStep, Reply, Request};

use self::seen::{Missing, Seen};
use super::{Done, ProtocolError, RETRIES_MAX};
use crate::domain::{
    Change, Command, FastPath, FencingToken, Guard, Outcome, Refusal, Snapshot, Timestamp,
    Transition, Update, Waiter, WaiterDrop, WaiterId, decide, fast_path, refused_by_run,
};
use crate::store::{Commit, StoreError};
use std::sync::Arc;

/// The execution of one command.
///
/// An attempt does no I/O and reads no clock: [`Attempt::request`] returns the next request to the
/// table, and [`Attempt::reply`] takes the reply and the current time. The times in a write were read
/// before its request, however long the request takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    context: Context,
    stage: Box<Stage>,
}

/// The data that all stages of an attempt share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Context {
    command: Arc<Command>,
    /// Whether the side item is written.
    registered: bool,
    /// The fencing token of the grant in the latest write; `None` if no write so far would grant a
    /// permit.
    proposed: Option<FencingToken>,
}

/// The request that is under way, and the data for the step after its reply.
#[expect(
    clippy::large_enum_variant,
    reason = "an attempt has one of them, in a box"
)]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Register(Waiter),
    FastPath(FastPath),
    Read(Seen, Missing),
    /// A place in the queue is decided. Its side item is written before the place.
    Enqueue(Waiter, Decided),
    Write(Decided),
    /// After the backoff the attempt continues with the items that a conflict returned, or on the fast
    /// path.
    BackOff(Option<Seen>),
    /// The state has registered, and its answer is no place in the queue: its side item, which has its
    /// task token, is deleted. The number counts the busy replies.
    Forget(Change, Box<Result<Done, ProtocolError>>, u32),
}

/// A decision that is about to be written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Decided {
    change: Change,
    /// The same write as a fast path, if it does not depend on the record's version and tickets.
    fast_path: Option<FastPath>,
    done: Done,
}

impl Attempt {
    /// Creates an attempt at `command` that begins at `now`.
    #[must_use]
    pub fn new(command: impl Into<Arc<Command>>, now: Timestamp) -> Self {
        let command = command.into();
        let waiter = command.waiter_to_register_first(now);
        let context = Context {
            command,
            registered: waiter.is_some(),
            proposed: None,
        };
        match waiter {
            Some(waiter) => context.at(Stage::Register(waiter)),
            None => context.begin(now),
        }
    }

    /// Returns the command.
    #[must_use]
    pub fn command(&self) -> &Command {
        &self.context.command
    }

    /// Returns the next request to the table.
    #[must_use]
    pub fn request(&self) -> Request<'_> {
        match &*self.stage {
            Stage::Register(waiter) | Stage::Enqueue(waiter, _) => Request::Register(waiter),
            Stage::FastPath(fast) => Request::Commit(&fast.change),
            Stage::Read(_, Missing::Record) => Request::Load,
            Stage::Read(_, Missing::Run(id)) => Request::LoadRun(id),
            Stage::Read(_, Missing::Waiter(id)) => Request::LoadWaiter(id),
            Stage::Write(decided) => Request::Commit(&decided.change),
            Stage::Forget(change, ..) => Request::Commit(change),
            Stage::BackOff(_) => Request::BackOff,
        }
    }

    /// Continues with the reply to [`Self::request`] that arrived at `now`.
    ///
    /// A reply that does not fit the request is dropped, and the request is repeated. Every request may
    /// be sent twice.
    #[must_use]
    pub fn reply(self, reply: Reply, now: Timestamp) -> AttemptStep {
        let Self { mut context, stage } = self;
        match (*stage, reply) {
            (Stage::Register(_), Reply::Registered) => AttemptStep::Ask(context.begin(now)),
            (Stage::FastPath(fast), Reply::Commit(commit)) => {
                context.wrote_fast(&fast, commit, now)
            }
            (Stage::Read(mut seen, missing), reply) => {
                if seen.learn(&missing, reply) {
                    return context.go_on(seen, now);
                }
                AttemptStep::Ask(context.at(Stage::Read(seen, missing)))
            }
            (Stage::Enqueue(_, decided), Reply::Registered) => {
                context.registered = true;
                AttemptStep::Ask(context.at(Stage::Write(decided)))
            }
            (Stage::Write(decided), Reply::Commit(commit)) => context.wrote(decided, commit),
            (Stage::Forget(change, result, busy), Reply::Commit(Commit::Busy))
                if busy < RETRIES_MAX =>
            {
                AttemptStep::Ask(context.at(Stage::Forget(change, result, busy + 1)))
            }
            // If the guard failed, the state has registered again, and keeps its new side item.
            (Stage::Forget(_, result, _), Reply::Commit(_)) => AttemptStep::Over(result),
            (Stage::BackOff(Some(seen)), Reply::BackedOff) => context.go_on(seen, now),
            (Stage::BackOff(None), Reply::BackedOff) => AttemptStep::Ask(context.begin(now)),
            // A reply that fits no request changes nothing.
            (stage, _) => AttemptStep::Ask(context.at(stage)),
        }
    }
}

impl Context {
    fn at(self, stage: Stage) -> Attempt {
        Attempt {
            context: self,
            stage: Box::new(stage),
        }
    }

    /// Begins with the fast path, or with a read of the record if the command has no fast path.
    fn begin(mut self, now: Timestamp) -> Attempt {
        match fast_path(&self.command, now) {
            // If the response to the write is lost, the SDK sends the write again, and it meets the
            // lease that the first one wrote. Only this token shows that the lease is this attempt's
            // own.
            Some(fast) => {
                self.proposed = fast.outcome(None).and_then(|outcome| outcome.token());
                self.at(Stage::FastPath(fast))
            }
            None => self.at(Stage::Read(Seen::default(), Missing::Record)),
        }
    }

    fn wrote_fast(self, fast: &FastPath, commit: Commit, now: Timestamp) -> AttemptStep {
        match commit {
            Commit::Committed(after) => match fast.outcome(after.as_ref()) {
                Some(outcome) => self.over(Done {
                    outcome,
                    effects: Vec::new(),
                }),
                None => self.go_on(Seen::default(), now),
            },
            Commit::Conflict(found) => self.go_on(Seen::of(found), now),
            // Another transaction holds the item for a moment. Nothing was read, so the fast path is
            // tried again.
            Commit::Busy => AttemptStep::Ask(self.at(Stage::BackOff(None))),
        }
    }

    /// Decides if all items that the decision needs are known, and otherwise reads the next one.
    fn go_on(self, seen: Seen, now: Timestamp) -> AttemptStep {
        match seen.missing(&self.command) {
            // A run that a conflict returned may refuse the command without the record.
            Some(Missing::Record) => {
                match refused_by_run(&seen.clone().snapshot(), &self.command, now) {
                    Some(refusal) => self.refused(refusal),
                    None => AttemptStep::Ask(self.at(Stage::Read(seen, Missing::Record))),
                }
            }
            Some(missing) => AttemptStep::Ask(self.at(Stage::Read(seen, missing))),
            None => self.decide(&seen.snapshot(), now),
        }
    }

    fn decide(mut self, seen: &Snapshot, now: Timestamp) -> AttemptStep {
        // A write came between the reads of the record and of the run, so both are read again.
        if seen.is_torn() {
            return AttemptStep::Ask(self.at(Stage::BackOff(Some(Seen::default()))));
        }
        let transition = match decide(seen, &self.command, now) {
            Ok(transition) => transition,
            Err(refusal) => return self.refused(refusal),
        };
        // A decision that breaks an invariant comes from a bug, and is never written.
        if let Err(error) = check(&transition) {
            return AttemptStep::over(Err(error.into()));
        }
        let change = transition.change(seen.record.as_ref());
        let fast_path = transition.fast_path;
        let done = Done {
            outcome: transition.outcome,
            effects: transition.effects,
        };
        let Some(change) = change else {
            return self.over(done);
        };
        if let Outcome::Granted { lease } = &done.outcome {
            self.proposed = Some(lease.token);
        }
        let place = matches!(done.outcome, Outcome::Queued { .. }) && !self.registered;
        let waiter = match &*self.command {
            Command::Acquire(acquire) if place => Some(acquire.waiter(now)),
            _ => None,
        };
        let decided = Decided {
            change,
            fast_path,
            done,
        };
        AttemptStep::Ask(self.at(match waiter {
            Some(waiter) => Stage::Enqueue(waiter, decided),
            None => Stage::Write(decided),
        }))
    }

    fn wrote(self, decided: Decided, commit: Commit) -> AttemptStep {
        match commit {
            Commit::Committed(after) => {
                let Decided {
                    fast_path,
                    mut done,
                    ..
                } = decided;
                // The numbers of a fast write are known only after the write.
                let numbers = fast_path.and_then(|fast| fast.outcome(after.as_ref()));
                done.outcome = numbers.unwrap_or(done.outcome);
                self.over(done)
            }
            Commit::Conflict(newer) => {
                AttemptStep::Ask(self.at(Stage::BackOff(Some(Seen::of(newer)))))
            }
            // The snapshot may be out of date, so the record is read again.
            Commit::Busy => AttemptStep::Ask(self.at(Stage::BackOff(Some(Seen::default())))),
        }
    }

    /// Ends the attempt. A grant that this attempt wrote is `Granted` and not `AlreadyHeld`: the
    /// response to its write was lost, and the SDK sent the write again.
    fn over(self, mut done: Done) -> AttemptStep {
        if let Outcome::AlreadyHeld { lease } = &done.outcome
            && Some(lease.token) == self.proposed
        {
            let lease = lease.clone();
            done.outcome = Outcome::Granted { lease };
        }
        match (&done.outcome, &*self.command) {
            (Outcome::AlreadyHeld { .. } | Outcome::GaveUp { .. }, _) => self.forget(Ok(done)),
            // With a task token, the write of the grant also deleted the side item.
            (Outcome::Granted { .. }, Command::Acquire(acquire))
                if acquire.task_token.is_none() =>
            {
                self.forget(Ok(done))
            }
            _ => AttemptStep::over(Ok(done)),
        }
    }

    /// Ends the attempt with `refusal`. The caller has no place in the queue, so its side item is
    /// deleted.
    fn refused(self, refusal: Refusal) -> AttemptStep {
        self.forget(Err(ProtocolError::Refused(refusal)))
    }

    /// Deletes the side item that this attempt has registered, and then ends with `result`. The delete
    /// requires the task token of this attempt, so the side item of a state that has registered since is
    /// kept.
    fn forget(self, result: Result<Done, ProtocolError>) -> AttemptStep {
        let waiter = match &*self.command {
            Command::Acquire(acquire) if self.registered => acquire,
            _ => return AttemptStep::over(result),
        };
        let drop = WaiterDrop {
            id: WaiterId::of(&waiter.terms.holder),
            task_token: Some(waiter.task_token.clone()),
        };
        let change = Change {
            guard: Guard(Vec::new()),
            update: Update::Keep,
            runs: Vec::new(),
            act: None,
            waiter: Some(drop),
            read_back: false,
        };
        AttemptStep::Ask(self.at(Stage::Forget(change, Box::new(result), 0)))
    }
}

/// Checks the invariants of the next record, so that a later read accepts it.
fn check(transition: &Transition) -> Result<(), StoreError> {
    let broken = transition
        .next
        .as_ref()
        .and_then(|next| next.check_invariants().err());
    broken.map_or(Ok(()), |broken| {
        Err(StoreError::Corrupt {
            item: "next record".into(),
            attribute: broken.attribute.into(),
            problem: format!("would break an invariant, so nothing was written: {broken}"),
        })
    })
}
