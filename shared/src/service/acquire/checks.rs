//! The looks at the holders in the way of an acquire, and what they change.
//!
//! ```text
//!  decide ─▶ look: check the holders in the way
//!    ▲         ├─ a holder was freed, or is ending now ────────────▶ decide again
//!    │         ├─ an earlier attempt runs, up to 3 times ──────────▶ decide again a second later
//!    └─────────┴─ anything else: the decision stands
//! ```

use super::Call;
use super::answer::goes_on_to_wait;
use super::looks::Looks;
use crate::clock::Clock;
use crate::service::Ports;
use crate::service::recover::Settled;
use crate::service::rotation::rotate;
use crate::service::waiters::Waiters;
use lockstep_core::domain::{
    FencingToken, HolderId, Lease, Outcome, Refusal, Run, Terms, Timestamp, WhenPaused,
};
use lockstep_core::protocol::{Done, ProtocolError};
use lockstep_core::recovery::Inspection;
use lockstep_core::store::LockStore;
use std::time::Duration;

/// Largest number of holders that one look checks, and of waiters if they keep the run out of the queue. The
/// sweep checks the other holders.
const CHECKS_MAX: usize = 3;

/// Largest number of holders that one look checks because they may be earlier attempts at the caller's own run:
/// the items of a Map all have the same parent.
const ATTEMPTS_MAX: usize = 10;

/// Largest number of looks that check holders that are no earlier attempts: the second one may find a holder that
/// got its turn by the first.
const LOOKS_AT_OTHERS: usize = 2;

/// The end of the looks, counted from the start of the call. The last decision takes the time that remains.
const LOOKS_END: Duration = Duration::from_secs(5);

/// How often a call checks an earlier attempt again that still runs. Looks start [`LOOK_EVERY`] apart. A caller may
/// retry right after StopExecution, when DescribeExecution, which is eventually consistent, still shows its earlier
/// attempt as running.
const LOOKS_AGAIN: usize = 3;
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// One look at the holders in the way.
#[derive(Default)]
struct Look {
    /// Its age when it began.
    begin: Duration,
    /// Whether the request may be decided otherwise now.
    changed: bool,
    /// Whether it has checked an earlier attempt of the caller that has not ended, as far as the check shows.
    has_attempts: bool,
}

impl<P: Ports> Call<'_, P> {
    /// Looks at the holders that refuse the caller, or keep it waiting, until [`LOOKS_END`]. Returns whether the request has to
    /// be decided again.
    pub(super) async fn look(
        &self,
        result: &Result<Done, ProtocolError>,
        looks: &mut Looks,
    ) -> bool {
        if self.time.age() >= LOOKS_END {
            return false;
        }
        let again = self.time.until(LOOKS_END, self.look_once(result, looks));
        again.await.unwrap_or_else(|_| {
            let lock = &self.request.lock;
            tracing::warn!(event = "checks_timed_out", %lock, "the checks of the holders timed out; the sweep repeats them");
            // Holders may have released meanwhile.
            !self.waits_in_queue(result)
        })
    }

    async fn look_once(&self, result: &Result<Done, ProtocolError>, looks: &mut Looks) -> bool {
        let mut look = Look {
            begin: self.time.age(),
            ..Look::default()
        };
        self.check_each(result, looks, &mut look).await;
        if self.waits_in_queue(result) {
            return false;
        }
        if look.changed || self.pause(result, looks, &look).await {
            return true;
        }
        if !self.is_kept_out_of_queue(result) {
            return false;
        }
        // The event that removes a waiter whose execution has ended may be lost.
        let (deps, lock) = (self.deps, &self.request.lock);
        Waiters { deps, lock }.drop_dead(CHECKS_MAX).await
    }

    /// Returns whether the run has its place in the queue and a waiting state. It needs no other decision: a
    /// hand-over to it ends its waiting state.
    fn waits_in_queue(&self, result: &Result<Done, ProtocolError>) -> bool {
        self.request.acquire.task_token.is_some() && result.is_ok()
    }

    /// Returns whether other waiters keep the run out of the queue: the queue is full, or under `catchUp`
    /// `once` a run already waits for the resume.
    fn is_kept_out_of_queue(&self, result: &Result<Done, ProtocolError>) -> bool {
        let catches_up = self.request.acquire.when_paused == WhenPaused::CatchUp;
        match result {
            Err(ProtocolError::Refused(Refusal::QueueFull { .. })) => true,
            Err(ProtocolError::Refused(Refusal::Paused { .. })) => catches_up,
            _ => false,
        }
    }

    /// Checks the holders that keep the permit or the run key from the caller.
    async fn check_each(
        &self,
        result: &Result<Done, ProtocolError>,
        looks: &mut Looks,
        look: &mut Look,
    ) {
        if let Some(run) = run_in_flight(result) {
            let lease = self.in_flight(run, looks, look).await;
            let holder = lease.map(|lease| (run.holder.clone(), lease));
            return self.check_suspects(holder.as_slice(), looks, look).await;
        }
        match result {
            Ok(Done {
                outcome: Outcome::Queued { holders, .. },
                ..
            })
            | Err(ProtocolError::Refused(
                Refusal::Held { holders, .. }
                | Refusal::QueueFull { holders, .. }
                | Refusal::PermitsMismatch { holders, .. },
            )) => self.check_suspects(holders, looks, look).await,
            // A duplicate of a success needs no check: the run key stays taken, whatever became of the
            // holder.
            _ => {}
        }
    }

    /// Returns the lease of the holder of the run key, which the refusal does not have and which takes a read.
    ///
    /// If the run has lost its permit and its work has ended, records that end.
    async fn in_flight(&self, run: &Run, looks: &mut Looks, look: &mut Look) -> Option<Lease> {
        let lock = &self.request.lock;
        let lease = match self.deps.store().load(lock).await {
            Ok(record) => record.and_then(|it| it.lease(&run.holder, run.token).cloned()),
            Err(_) => {
                self.saw(run.token, None, looks, look);
                return None;
            }
        };
        // The refusal is older than the record: the run is ending since, or has lost its permit.
        let is_ending = lease.as_ref().map(|lease| lease.exit.ending.is_some());
        if is_ending.unwrap_or(run.lease.is_none()) {
            look.changed = true;
            return None;
        }
        if lease.is_some() {
            return lease;
        }
        // The run continues without its permit, or its end was never recorded.
        let begin = self.time.age();
        let settled = self.deps.recovery().settle(lock, run).await;
        if let Err(error) = &settled {
            tracing::warn!(event = "run_end_not_recorded", %lock, %error, "the end of the run was not recorded");
        }
        match settled {
            Ok(Settled::Recorded) => look.changed = true,
            // The run key may be free soon. Another look does not help, because the work may take minutes to stop.
            Ok(Settled::Ending) => looks.note(run.token, None),
            Ok(Settled::Not) => self.saw(run.token, Some(begin), looks, look),
            Ok(Settled::Unanswered) | Err(_) => self.saw(run.token, None, looks, look),
        }
        None
    }

    /// Notes when a check began that has shown an earlier attempt at work, or that a check has shown nothing. The call
    /// may look again.
    fn saw(
        &self,
        attempt: FencingToken,
        at_work: Option<Duration>,
        looks: &mut Looks,
        look: &mut Look,
    ) {
        if self.request.wait_for_ending {
            looks.note(attempt, at_work);
            look.has_attempts = true;
        }
    }

    /// Checks the [suspects](Self::suspects) among `holders`. Stops after a check that frees a permit, because the
    /// request may be granted now.
    async fn check_suspects(
        &self,
        holders: &[(HolderId, Lease)],
        looks: &mut Looks,
        look: &mut Look,
    ) {
        for (holder, lease) in self.suspects(holders, looks) {
            let retries = self.retries(lease);
            let begin = self.time.age();
            match self.check(holder, lease).await {
                Some(Inspection::Freed(_)) => {
                    looks.freed = Some(holder.clone());
                    look.changed = true;
                    return;
                }
                Some(Inspection::Gone) => look.changed = true,
                Some(Inspection::Ending | Inspection::Unlisted | Inspection::Settling) => {
                    look.changed |= lease.exit.ending.is_none();
                }
                Some(Inspection::Held) if retries => {
                    self.saw(lease.token, Some(begin), looks, look);
                }
                Some(Inspection::Renewed | Inspection::Unanswered) | None if retries => {
                    self.saw(lease.token, None, looks, look);
                }
                Some(Inspection::Held | Inspection::Renewed | Inspection::Unanswered) | None => {}
            }
        }
    }

    /// Returns the holders that are worth a check. A semaphore may have a hundred dead ones, and one freed permit
    /// is enough for this caller:
    ///
    /// - first at most [`ATTEMPTS_MAX`] that may be earlier attempts at its own run: those that are not known to run,
    ///   and then the longest silent,
    /// - then at least one other, and up to [`CHECKS_MAX`] in all. Calls in different seconds begin at different ones, because
    ///   live ones whose heartbeats are far apart are worth a check too.
    fn suspects<'h>(
        &self,
        holders: &'h [(HolderId, Lease)],
        looks: &mut Looks,
    ) -> Vec<&'h (HolderId, Lease)> {
        let now = self.deps.now();
        let terms = &self.request.acquire.terms;
        let (mut suspects, mut others): (Vec<_>, Vec<_>) = holders
            .iter()
            .filter(|(holder, lease)| is_worth_a_check(holder, lease, terms, now))
            .partition(|(_, lease)| self.retries(lease));
        suspects.sort_by_key(|(_, lease)| (looks.runs(lease.token), lease.last_sign_of_life()));
        suspects.truncate(ATTEMPTS_MAX);
        if looks.at_others < LOOKS_AT_OTHERS && !others.is_empty() {
            looks.at_others += 1;
            rotate(&mut others, now.millis() / 1000);
            others.truncate(CHECKS_MAX.saturating_sub(suspects.len()).max(1));
            suspects.extend(others);
        }
        suspects
    }

    /// Returns whether the caller may be a retry of the holder, and repeats a call that fails. Only a caller
    /// with `waitForEnding` does. For any other caller the refusal stands.
    fn retries(&self, lease: &Lease) -> bool {
        self.request.wait_for_ending && self.request.acquire.terms.may_be_retry_of(lease)
    }

    /// Pauses until the next look at the earlier attempts of `look`. Returns `false` if there is no next look, because
    /// one of these is true:
    ///
    /// - the look has shown no attempt that still runs;
    /// - it was the last of [`LOOKS_AGAIN`];
    /// - the next look would start after [`LOOKS_END`];
    /// - the caller waits for its turn after this refusal.
    async fn pause(
        &self,
        result: &Result<Done, ProtocolError>,
        looks: &mut Looks,
        look: &Look,
    ) -> bool {
        let Err(ProtocolError::Refused(refusal)) = result else {
            return false;
        };
        let now = self.time.age();
        let next = now.max(look.begin + LOOK_EVERY);
        let is_last = looks.again == LOOKS_AGAIN || next >= LOOKS_END;
        if !look.has_attempts || is_last || goes_on_to_wait(self.request, refusal) {
            return false;
        }
        self.deps.clock().sleep(next.saturating_sub(now)).await;
        looks.again += 1;
        true
    }

    /// Returns an earlier attempt that keeps the permit or the run key from the caller, and may have ended. No look
    /// at it gave an answer, or none late enough in the call.
    ///
    /// Of an attempt that is ending, the refusal says so.
    pub(super) fn attempt_in_doubt(&self, refusal: &Refusal, looks: &Looks) -> Option<HolderId> {
        match refusal {
            // Only this run has the run key, so no check of another one stands in for a check of it.
            Refusal::Duplicate { run, .. } => {
                let may_have_ended = self.request.wait_for_ending && run.end.is_none();
                (may_have_ended && !looks.runs(run.token)).then(|| run.holder.clone())
            }
            Refusal::Held { holders, .. }
            | Refusal::QueueFull { holders, .. }
            | Refusal::PermitsMismatch { holders, .. } => {
                let attempts = holders.iter().filter(|(holder, lease)| {
                    *holder != self.request.acquire.terms.holder && self.retries(lease)
                });
                let attempts: Vec<_> = attempts.collect();
                let is_checked = |lease: &Lease| looks.has_checked(lease.token);
                let checked = attempts.iter().filter(|(_, lease)| is_checked(lease));
                // A look checks at most that many. Attempts that have left since do not count.
                let are_enough = checked.count() >= ATTEMPTS_MAX;
                let doubts = |lease: &Lease| match is_checked(lease) {
                    true => !looks.runs(lease.token),
                    false => !are_enough,
                };
                let mut present = attempts.into_iter();
                let doubted = present.find(|(_, l)| l.exit.ending.is_none() && doubts(l));
                doubted.map(|(holder, _)| holder.clone())
            }
            _ => None,
        }
    }

    /// Checks one holder. A failure is logged and returns `None`, because the refusal is an answer without
    /// the check.
    pub(super) async fn check(&self, holder: &HolderId, lease: &Lease) -> Option<Inspection> {
        let lock = &self.request.lock;
        let checked = self.deps.recovery().check(lock, holder, lease, None).await;
        if let Err(error) = &checked {
            tracing::warn!(event = "check_failed", %lock, %holder, %error, "the holder was not checked");
        }
        checked.ok()
    }
}

/// Returns whether a holder in the way may be dead, so that a check is worth its requests: its heartbeat is
/// late, it exceeds a limit, it is ending, or the caller may be a later attempt at the same run.
///
/// The caller's own grant is checked only if it is ending.
fn is_worth_a_check(holder: &HolderId, lease: &Lease, terms: &Terms, now: Timestamp) -> bool {
    let of_another = *holder != terms.holder;
    let is_late = lease.is_overdue(now) || lease.limit_to_enforce(now).is_some();
    lease.exit.ending.is_some() || of_another && (is_late || terms.may_be_retry_of(lease))
}

/// Returns the run under way that has the run key of the request, if that is why the request was refused.
pub(super) fn run_in_flight(result: &Result<Done, ProtocolError>) -> Option<&Run> {
    match result {
        Err(ProtocolError::Refused(Refusal::Duplicate { run, .. })) => {
            Some(&**run).filter(|run| run.end.is_none())
        }
        _ => None,
    }
}
