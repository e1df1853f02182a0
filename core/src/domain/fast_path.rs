//! Writes that need no read first.
//!
//! Most requests meet the record in the state that they expect: a free lock, a live lease, or a lock
//! with no other holder. For these cases there is a write whose guard states what is expected. It takes
//! one request, where a read followed by a write would take two. A property test checks for random
//! records and commands: if the guard holds, the write is the one that [`super::decide()`] makes.
//!
//! A failed guard costs no read either, because the failure returns the record for the decision.

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

/// Returns the write of `command` at `now` that needs no read first; `None` if the command needs a read.
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
/// // The guard holds for a free lock, and fails after the update.
/// let free = LockRecord::new(Permits::ONE);
/// assert!(write.guard.holds(Some(&free)));
/// let held = write.update.apply(Some(&free));
/// assert!(!write.guard.holds(held.as_ref()));
/// # Ok::<(), lockstep_core::domain::Invalid>(())
/// ```
#[must_use]
pub fn fast_path(command: &Command, now: Timestamp) -> Option<FastPath> {
    match command {
        // The state before the waiting state has found the lock full, so most likely a place in the
        // queue has to be written.
        Command::Acquire(acquire) if acquire.task_token.is_some() => match acquire.when_full {
            WhenFull::Queue { most } if !acquire.has_given_up(now) => {
                // Only the record shows whether a holder has the same run key or is the parent of the
                // caller.
                let alone = acquire.terms.run_key.is_none() && acquire.terms.parent.is_none();
                alone.then(|| fast_enqueue(acquire, most, now))
            }
            _ => None,
        },
        // The guard `QueueEmpty` fails for a waiter that asks again without a task token. The conflict
        // returns the record with its place.
        Command::Acquire(acquire) => Some(fast_acquire(acquire, now)),
        Command::Renew(renew) => fast_renew(renew, now),
        Command::Release(release) => fast_release(release, now),
        _ => None,
    }
}

/// Builds the write of a grant of a free lock. The token is the time of the grant, so it is known before
/// the write. If a clock has stepped back, the guard `TokenNewer` fails, and the observed path takes the
/// last token plus one.
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
                // A holder that acquires again, because an answer was lost, gets its grant again and no
                // second one.
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
            // The marker is in the same transaction, so two runs with the same run key cannot both be
            // granted.
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

/// Returns the assignment that makes the lock due by the first check of the new holder, and the clause
/// under which the assignment leaves the earlier of both times in the record.
///
/// A lock with one permit is idle before its grant. Only a missing success can make it due, usually
/// after the first check of the holder, so the assignment replaces the time. With more permits another
/// holder is usually due earlier, so the assignment keeps a time that is set. In the other cases the
/// clause fails, and the grant is decided on the record.
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

/// Returns the write of a place at the end of the queue of a full lock. Such writes only append, so they
/// do not conflict with each other. The time of the sweep needs no clause here: the write that later
/// frees a permit makes the lock due.
fn fast_enqueue(acquire: &Acquire, most: usize, now: Timestamp) -> FastPath {
    append(acquire, most, now, vec![Clause::AtCapacity])
}

/// Returns the write of a place at the end of the queue of `record`, for any reason to wait. Returns
/// `None`
///
/// - if the lock has to become due earlier, which depends on the version of the record, or
/// - if a permit is free and no run waits: then the caller waits because the lock is about to freeze.
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

/// Returns the write of a place at the end of the queue, under the clauses `why` that give the reason to
/// wait. The write names neither the version nor the ticket, because DynamoDB increments `lastTicket`.
/// So other waiters may be written in between.
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

/// Builds the write of a heartbeat; `None` if the heartbeat has no pace.
///
/// A heartbeat that arrives after a later one must not move the end of the lease back. Only a heartbeat
/// with a pace knows the end that it sets, so only such a heartbeat can compare it with the end in the
/// record (`EndsBy`). The guard fails, and the heartbeat is decided on the record, if the holder reports
/// another number of redrives than its lease has, exceeded a limit, is ending, or has not confirmed its
/// hand-over.
fn fast_renew(renew: &Renew, now: Timestamp) -> Option<FastPath> {
    let holder = &renew.holder;
    let pace = renew.pace?;
    let redrives = renew.redrives.into_iter();
    let mut guard = vec![
        Clause::Readable,
        Clause::LeaseIs(holder.clone(), renew.token),
        Clause::NotSpent(holder.clone(), now),
        // The run time of a holder that confirms its hand-over begins with this heartbeat.
        Clause::Confirmed(holder.clone()),
        Clause::EndsBy(holder.clone(), now.plus(pace.length)),
        // A committed stop fails this clause too. The decision then refuses the heartbeat.
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
        // The same progress, reported again, must not restart the time without progress.
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

/// Builds the write of a release of the only holder of a lock without waiters. If the lease has a
/// heartbeat state to end, the guard fails: the task token is in the record, and a successful
/// transaction returns no items. The conflict then returns the record.
///
/// Returns `None` for the failure of a run of which successes are expected: the lock stays due for the
/// missing success, and only the record has that time.
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
    // No success is expected of a paused lock.
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
                // The run key comes from the request. A request with a wrong key must not end the marker
                // of another run.
                Clause::RunKeyIs(holder.clone(), release.run_key.clone()),
                Clause::NoBeat(holder.clone()),
                // The history needs the reason of an eviction, which only the record has.
                Clause::NotEnding(holder.clone()),
                // If another holder is left, the new value of `due` depends on the record.
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
