//! Writes that need no read first.
//!
//! Most requests meet the record in the state that they expect: a free lock, a live lease, a lock
//! that only they hold. Each of these has a write whose guard states what is expected, and which
//! then does in one request what reading, deciding and writing would do in two. A property test
//! holds it to that: for random records and commands, a guard that holds implies the write that
//! [`super::decide()`] makes.
//!
//! A guard that fails costs no read: the failure returns the record, on which the decision is made.

use super::command::{Acquire, Command, Release, Renew, WhenFull};
use super::expectation::Expectation;
use super::gate::Mode;
use super::guard::{Change, Clause, Guard, RunGuard};
use super::history::{end_run, ended, start_run};
use super::lease::Lease;
use super::permits::Permits;
use super::queue::QUEUE_MAX;
use super::record::LockRecord;
use super::run::{Run, RunOutcome};
use super::terms::Terms;
use super::ticket::WaiterId;
use super::time::Timestamp;
use super::token::FencingToken;
use super::transition::{FastPath, Outcome, Promise};
use super::update::{Assign, Update};

/// The write of `command` at `now` that needs no read first, if it has one.
///
/// # Examples
/// ```
/// use lockstep_core::domain::{
///     Acquire, Command, HolderId, LockRecord, Permits, Retention, Seconds, Terms, Timestamp, fast_path,
/// };
///
/// let now = Timestamp::from_millis(1_800_000_000_000);
/// let retention = Retention { history: Seconds::of(172_800), run_keys: Seconds::of(86_400) };
/// let terms = Terms::new(HolderId::new("run-1")?, retention);
/// let write = fast_path(&Command::Acquire(Acquire::new(terms)), now).expect("an acquire has one").change;
///
/// // The guard holds of a free lock. It does not hold once the update is applied.
/// let free = LockRecord::new(Permits::ONE);
/// assert!(write.guard.holds(Some(&free)));
/// let held = write.update.apply(Some(&free));
/// assert!(!write.guard.holds(held.as_ref()));
/// # Ok::<(), lockstep_core::domain::Invalid>(())
/// ```
#[must_use]
pub fn fast_path(command: &Command, now: Timestamp) -> Option<FastPath> {
    match command {
        // The step before a waiting state found the lock full, so a place in the queue is the
        // likely write.
        Command::Acquire(acquire) if acquire.task_token.is_some() => match acquire.when_full {
            WhenFull::Queue { most } if !acquire.has_given_up(now) => {
                // Whether a holder has its run key or is its parent takes the record.
                let alone = acquire.terms.run_key.is_none() && acquire.terms.parent.is_none();
                alone.then(|| fast_enqueue(acquire, most, now))
            }
            _ => None,
        },
        // A waiter that asks without a task token finds the guard `QueueEmpty` in its way, and its
        // place in what the conflict returns.
        Command::Acquire(acquire) => Some(fast_acquire(acquire, now)),
        Command::Renew(renew) => fast_renew(renew, now),
        Command::Release(release) => fast_release(release, now),
        _ => None,
    }
}

/// The token is the time, which is known before the write. After a clock stepped back the guard
/// fails, and the observed path continues from the last token.
fn fast_acquire(acquire: &Acquire, now: Timestamp) -> FastPath {
    let terms = &acquire.terms;
    let token = FencingToken::next(FencingToken::NONE, now);
    let lease: Lease = terms.lease(token, now);
    let (due, due_clause) = due_of_grant(terms, lease.next_check(&Mode::Open), now);
    let mut assigns = vec![
        Assign::LastToken(token),
        Assign::PutLease(terms.holder.clone(), lease.clone()),
        due,
    ];
    assigns.extend(
        terms
            .min_interval
            .map(|gap| Assign::NotBefore(now.plus(gap))),
    );
    let marker = start_run(terms, token);
    let expected = terms
        .expect_every
        .map(|every| Clause::ExpectedEvery(Some(every)));
    let change = Change {
        guard: Guard(
            vec![
                Clause::Readable,
                Clause::Open,
                Clause::PermitsAre(terms.permits),
                Clause::BelowCapacity,
                // The same holder again gets its old grant, and not a second one: an answer that
                // was lost is repeated.
                Clause::NotHeldBy(terms.holder.clone()),
                Clause::QueueEmpty,
                Clause::SpacingPassed(now),
                Clause::TokenNewer(token),
            ]
            .into_iter()
            .chain([due_clause])
            .chain(expected)
            .collect(),
        ),
        update: Update::Assign(assigns),
        runs: marker
            // The marker is in the same transaction: two runs with one key cannot both be granted.
            .map(|write| (RunGuard::NotTaken(now), write))
            .into_iter()
            .collect(),
        act: None,
        waiter: None,
        read_back: false,
    };
    FastPath {
        change,
        promise: Promise::Known(Outcome::Granted { lease }),
    }
}

/// How a grant brings the time of the sweep forward to its first check, and the clause that this needs: the earlier
/// of the two times stays.
///
/// A lock with one permit is idle before its grant, so only a missing success can be due, which mostly comes after the
/// first check of the holder. With more permits another holder is mostly due earlier. If it is the other way round,
/// the grant is decided on the record.
fn due_of_grant(terms: &Terms, first_check: Timestamp, now: Timestamp) -> (Assign, Clause) {
    let success = terms.expect_every.map(|every| now.plus(every));
    let success_is_earlier = success.is_some_and(|due| due <= first_check);
    match terms.permits {
        Permits::ONE if !success_is_earlier => (
            Assign::Due(Some(first_check)),
            Clause::DueNotBefore(first_check),
        ),
        _ => (
            Assign::DueUnlessSet(first_check),
            Clause::DueNotAfter(first_check),
        ),
    }
}

/// A place at the end of the queue of a full lock. Arrivals only append, so they do not conflict
/// with each other. A write that frees a permit of a full lock brings the sweep's time forward.
fn fast_enqueue(acquire: &Acquire, most: usize, now: Timestamp) -> FastPath {
    append(acquire, most, now, vec![Clause::AtCapacity])
}

/// The same in `record`, whatever makes the caller wait; `None` if the sweep's time has to be
/// brought forward or a holder is to freeze the lock, which depends on the record's version.
pub(super) fn enqueue(
    acquire: &Acquire,
    most: usize,
    record: &LockRecord,
    now: Timestamp,
) -> Option<FastPath> {
    if !record.has_room() {
        return Some(fast_enqueue(acquire, most, now));
    }
    if record.gate.lets_in(now) && record.queue.is_empty() {
        return None;
    }
    let next_grant = record.gate.not_before.max(now);
    record.due.filter(|due| *due <= next_grant)?;
    let clauses = vec![
        Clause::MustWait(now),
        Clause::RestIs(record.gate.not_before),
        Clause::DueNotAfter(next_grant),
    ];
    Some(append(acquire, most, now, clauses))
}

/// The write of a place at the end of the queue, for the reason `why`. It names neither the version
/// nor the ticket: DynamoDB counts `lastTicket` up, so arrivals that are written in between do no
/// harm.
fn append(acquire: &Acquire, most: usize, now: Timestamp, why: Vec<Clause>) -> FastPath {
    let terms = &acquire.terms;
    let id = WaiterId::of(&terms.holder);
    let closed = match acquire.waits_paused(most) {
        true => Clause::NotFrozen,
        false => Clause::Open,
    };
    let mut guard = vec![
        Clause::Readable,
        closed,
        Clause::PermitsAre(terms.permits),
        Clause::NotHeldBy(terms.holder.clone()),
        Clause::NotQueued(id.clone()),
        Clause::QueueBelow(most.min(QUEUE_MAX)),
    ];
    guard.extend(why);
    let change = Change {
        guard: Guard(guard),
        update: Update::Assign(vec![Assign::Enqueue(id.clone()), Assign::DueUnlessSet(now)]),
        runs: Vec::new(),
        act: None,
        waiter: None,
        read_back: true,
    };
    FastPath {
        change,
        promise: Promise::PlaceOf(id),
    }
}

/// A request that arrives after a later one must not move the end of the lease back. Only a request that brings
/// its pace knows the end that it sets, and can compare; any other one needs a decision. So does a holder
/// that reports other redrives than its lease, is spent, or is ending.
fn fast_renew(renew: &Renew, now: Timestamp) -> Option<FastPath> {
    let holder = &renew.holder;
    let pace = renew.pace?;
    let redrives = renew.redrives.into_iter();
    let mut guard = vec![
        Clause::Readable,
        Clause::LeaseIs(holder.clone(), renew.token),
        Clause::NotSpent(holder.clone(), now),
        // The time of its run begins with this heartbeat.
        Clause::Confirmed(holder.clone()),
        Clause::EndsBy(holder.clone(), now.plus(pace.length)),
        // Also a stop that is committed: its heartbeat is refused by the decision.
        Clause::NotEnding(holder.clone()),
    ];
    guard.extend(redrives.map(|count| Clause::RedrivesAre(holder.clone(), count)));
    let mut assigns = vec![Assign::ExtendLease(
        holder.clone(),
        now,
        renew.beat.clone(),
        Some(pace),
    )];
    if let Some(progress) = &renew.progress {
        let most = renew.no_progress;
        guard.push(Clause::NoProgressIs(holder.clone(), most));
        // The same progress again must not restart the time without progress.
        guard.extend(most.map(|_| Clause::ProgressIsNot(holder.clone(), progress.clone())));
        let stalls_at = most.map(|most| now.plus(most));
        assigns.push(Assign::Progress(
            holder.clone(),
            progress.clone(),
            stalls_at,
        ));
    }
    let change = Change {
        guard: Guard(guard),
        update: Update::Assign(assigns),
        runs: Vec::new(),
        act: None,
        waiter: None,
        read_back: true,
    };
    Some(FastPath {
        change,
        promise: Promise::LeaseOf(renew.holder.clone(), renew.token),
    })
}

/// A release that has a heartbeat state to end cannot be fast: a transaction returns nothing, and
/// the task token is in the record. Its guard fails, and the conflict returns the record.
///
/// A failure leaves the time of an expectation as it is, which only the record has, so such a release is
/// not fast either.
fn fast_release(release: &Release, now: Timestamp) -> Option<FastPath> {
    let holder = &release.holder;
    let succeeded = release.outcome == RunOutcome::Succeeded;
    let expected = release.expect_every;
    if expected.is_some() && !succeeded {
        return None;
    }
    let expectation = expected.map(|every| Expectation::starting(every, now));
    let mut assigns = vec![
        Assign::DropLease(holder.clone()),
        Assign::Due(expectation.map(|expectation| expectation.deadline())),
        match succeeded {
            true => Assign::LastSuccess(Some(now)),
            false => Assign::LastFailure(Some(now)),
        },
    ];
    assigns.extend(expectation.map(|known| Assign::Expectation(Some(known))));
    // A paused lock is expected to have no success.
    let open = expectation.map(|_| Clause::Open);
    let run = Run {
        end: Some(ended(release.outcome, None, release.retention, now)),
        ..Run::started(holder.clone(), release.token, release.run_key.clone())
    };
    let change = Change {
        guard: Guard(
            vec![
                Clause::Readable,
                Clause::LeaseIs(holder.clone(), release.token),
                // The request names the run key. One that names another must not end that one's
                // marker.
                Clause::RunKeyIs(holder.clone(), release.run_key.clone()),
                Clause::NoBeat(holder.clone()),
                // The history has an eviction, whose reason only the record has.
                Clause::NotEnding(holder.clone()),
                // With another holder left, `due` could not be set without the record.
                Clause::OnlyHolder,
                Clause::QueueEmpty,
                Clause::NoPauseEnd,
                Clause::ExpectedEvery(expected),
            ]
            .into_iter()
            .chain(open)
            .collect(),
        ),
        update: Update::Assign(assigns),
        runs: end_run(&run, false, release.retention),
        act: None,
        waiter: None,
        read_back: false,
    };
    let outcome = Outcome::Released {
        since: release.token.granted_at(),
        at: now,
        already: false,
        evicted: None,
    };
    Some(FastPath {
        change,
        promise: Promise::Known(outcome),
    })
}
