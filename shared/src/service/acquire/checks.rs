//! The checks of the holders in the way of an acquire, and what they change.

use super::Call;
use crate::clock::Clock;
use crate::service::Ports;
use crate::service::recover::Settled;
use crate::service::rotation::rotate;
use crate::service::waiters::Waiters;
use lockstep_core::domain::{HolderId, Lease, Outcome, Refusal, Run, Terms, Timestamp, WhenPaused};
use lockstep_core::protocol::{Done, ProtocolError};
use lockstep_core::recovery::Inspection;
use lockstep_core::store::LockStore;
use std::time::Duration;

/// Largest number of holders that one call checks, and of waiters if they keep the run out of the queue. The
/// sweep checks the other holders.
const CHECKS_MAX: usize = 3;

/// Largest number of holders that one call checks because they may be earlier attempts at its own run: the items
/// of a Map all have the same parent.
const ATTEMPTS_MAX: usize = 10;

/// The end of the checks, counted from the start of the call. The second decision takes the time that
/// remains.
const CHECKS_END: Duration = Duration::from_secs(5);

/// How often an earlier attempt at the same run is checked again while its execution runs, and the pause
/// before each check. A caller may retry right after StopExecution, when DescribeExecution, which is
/// eventually consistent, still shows its earlier attempt as running.
const RECHECKS: usize = 3;
const RECHECK_AFTER: Duration = Duration::from_secs(1);

/// The result of the checks of the holders in the way.
///
/// Each check adds to it at once, so that the finished checks count even if a later one times out.
#[derive(Default)]
pub(super) struct Checked {
    /// The holder whose permit was freed.
    pub(super) freed: Option<HolderId>,
    /// Whether the response to the request may have changed.
    pub(super) changed: bool,
    /// How often the checks waited for an attempt to end.
    pub(super) pauses: usize,
    /// Whether the checks timed out.
    pub(super) timed_out: bool,
    /// An earlier attempt at the same run that may or may not have ended.
    pub(super) unsettled: Option<HolderId>,
}

impl Checked {
    /// Returns whether the request may be decided otherwise than before the checks: something has changed, or
    /// holders may have released their permits meanwhile. `before` is what there was before the checks.
    pub(super) const fn may_differ(&self, before: &Self) -> bool {
        self.changed || self.timed_out || self.pauses > before.pauses
    }
}

impl<P: Ports> Call<'_, P> {
    /// Checks holders in the way that may be dead or ending, until [`CHECKS_END`]. `before` is what the checks of
    /// the call have changed before.
    pub(super) async fn check_holders(
        &self,
        result: &Result<Done, ProtocolError>,
        before: &Checked,
    ) -> Checked {
        let mut checked = Checked {
            pauses: before.pauses,
            ..Checked::default()
        };
        let checks = async {
            self.check_each(result, &mut checked).await;
            if !checked.changed && self.is_kept_out_of_queue(result) {
                // The event that removes a waiter whose execution has ended may be lost.
                let (deps, lock) = (self.deps, &self.request.lock);
                checked.changed = Waiters { deps, lock }.drop_dead(CHECKS_MAX).await;
            }
        };
        // The sweep checks the other holders. The decision is repeated, because holders may have released
        // meanwhile.
        if self.time.until(CHECKS_END, checks).await.is_err() {
            let lock = &self.request.lock;
            tracing::warn!(event = "checks_timed_out", %lock, "the checks of the holders timed out; the sweep repeats them");
            checked.timed_out = true;
        }
        checked
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

    async fn check_each(&self, result: &Result<Done, ProtocolError>, checked: &mut Checked) {
        let holders = self.in_the_way(result, checked).await;
        let mut suspects = self.suspects(&holders);
        if suspects.is_empty() {
            return;
        }
        // The event of the end of an attempt, and its description, may come some moments after the caller's
        // retry. Without the repeated checks the earlier attempt would cause the retry to be skipped, and no
        // run would follow.
        loop {
            // This stays if the check gets no response in time.
            let attempt = suspects.iter().find(|(_, lease)| self.retries(lease));
            checked.unsettled = attempt.map(|(holder, _)| holder.clone());
            let begin = self.deps.now();
            suspects = self.check_once(suspects, checked).await;
            if result.is_ok() || checked.changed || suspects.is_empty() {
                return;
            }
            if !self.pause(begin, checked).await {
                return;
            }
        }
    }

    /// Returns the holders that keep the permit or the run key from the caller.
    async fn in_the_way(
        &self,
        result: &Result<Done, ProtocolError>,
        checked: &mut Checked,
    ) -> Vec<(HolderId, Lease)> {
        match result {
            Ok(Done {
                outcome: Outcome::Queued { holders, .. },
                ..
            })
            | Err(ProtocolError::Refused(
                Refusal::Held { holders, .. }
                | Refusal::QueueFull { holders, .. }
                | Refusal::PermitsMismatch { holders, .. },
            )) => holders.clone(),
            // A duplicate of a success needs no check: the run key stays taken, whatever became of the
            // holder.
            _ => match run_in_flight(result) {
                Some(run) => self.in_flight(run, checked).await,
                None => Vec::new(),
            },
        }
    }

    /// Returns the holders that are worth a check. A semaphore may have a hundred dead ones, and one freed permit
    /// is enough for this caller:
    ///
    /// - first at most [`ATTEMPTS_MAX`] that may be earlier attempts at its own run, the longest silent first,
    /// - then at least one other, and up to [`CHECKS_MAX`] in all. Calls in different seconds begin at different ones, because
    ///   live ones whose heartbeats are far apart are worth a check too.
    fn suspects<'h>(&self, holders: &'h [(HolderId, Lease)]) -> Vec<&'h (HolderId, Lease)> {
        let now = self.deps.now();
        let terms = &self.request.acquire.terms;
        let (mut suspects, mut others): (Vec<_>, Vec<_>) = holders
            .iter()
            .filter(|(holder, lease)| is_worth_a_check(holder, lease, terms, now))
            .partition(|(_, lease)| self.retries(lease));
        suspects.sort_by_key(|(_, lease)| lease.last_sign_of_life());
        suspects.truncate(ATTEMPTS_MAX);
        rotate(&mut others, now.millis() / 1000);
        others.truncate(CHECKS_MAX.saturating_sub(suspects.len()).max(1));
        suspects.extend(others);
        suspects
    }

    /// Returns whether the caller may be a retry of the holder, and repeats a call that fails. Only a caller
    /// with `waitForEnding` does. For any other caller the refusal stands.
    fn retries(&self, lease: &Lease) -> bool {
        self.request.wait_for_ending && self.request.acquire.terms.may_be_retry_of(lease)
    }

    /// Checks each suspect. After one is freed, checks only those that may be earlier attempts of the caller.
    /// Returns the earlier attempts that still run.
    async fn check_once<'h>(
        &self,
        suspects: Vec<&'h (HolderId, Lease)>,
        checked: &mut Checked,
    ) -> Vec<&'h (HolderId, Lease)> {
        let mut running: Vec<&(HolderId, Lease)> = Vec::new();
        let mut doubted = None;
        for suspect @ (holder, lease) in suspects {
            // The request is executed again, and the sweep checks the others.
            if checked.freed.is_some() && !self.retries(lease) {
                continue;
            }
            match self.check(holder, lease).await {
                Some(Inspection::Freed(_)) => {
                    checked.freed = Some(holder.clone());
                    checked.changed = true;
                }
                Some(Inspection::Ending | Inspection::Unlisted | Inspection::Settling) => {
                    checked.changed |= lease.exit.ending.is_none()
                }
                Some(Inspection::Renewed | Inspection::Unanswered) | None
                    if self.retries(lease) =>
                {
                    doubted = Some(holder.clone());
                    running.push(suspect);
                }
                Some(Inspection::Held) if self.retries(lease) => running.push(suspect),
                Some(Inspection::Held | Inspection::Renewed | Inspection::Unanswered) | None => {}
            }
        }
        // After a change there is no further look at an earlier attempt, and the freed permit may go to a waiter.
        let attempt = running.first().filter(|_| checked.changed);
        let attempt = attempt.map(|(holder, _)| holder.clone());
        checked.unsettled = doubted.or(attempt);
        running
    }

    /// Pauses before another round of checks, where the one before began at `begin`. Returns `false` if the call
    /// has paused often enough, or if the time is too short for another round.
    async fn pause(&self, begin: Timestamp, checked: &mut Checked) -> bool {
        let round = self.deps.now().millis_since(begin);
        let round = RECHECK_AFTER + Duration::from_millis(round);
        if checked.pauses == RECHECKS || self.time.age() + round > CHECKS_END {
            return false;
        }
        self.deps.clock().sleep(RECHECK_AFTER).await;
        checked.pauses += 1;
        true
    }

    /// Returns the holder of the run key with its lease, which the refusal does not have and which takes a
    /// read.
    ///
    /// If the run has lost its permit and its work has ended, records that end.
    async fn in_flight(&self, run: &Run, checked: &mut Checked) -> Vec<(HolderId, Lease)> {
        let lock = &self.request.lock;
        let record = self.deps.store().load(lock).await;
        let lease = match &record {
            Ok(Some(record)) => record.lease(&run.holder, run.token).cloned(),
            Ok(None) | Err(_) => None,
        };
        match (&lease, &record) {
            (Some(_), _) => {}
            // The run continues without its permit, or its end was never recorded.
            (None, Ok(_)) => self.settle(run, checked).await,
            (None, Err(_)) => self.doubt(run, checked),
        }
        let holder = lease.map(|lease| (run.holder.clone(), lease));
        holder.into_iter().collect()
    }

    /// Notes that `run` may have ended, if the caller is a retry.
    fn doubt(&self, run: &Run, checked: &mut Checked) {
        let retried = self.request.wait_for_ending;
        checked.unsettled = retried.then(|| run.holder.clone());
    }

    /// Records the end of a run that continues without its permit, if it has ended. For a caller's retry,
    /// looks up to [`RECHECKS`] times more in a call, because the answer `duplicate` would end the retry without
    /// a run.
    async fn settle(&self, run: &Run, checked: &mut Checked) {
        let lock = &self.request.lock;
        loop {
            // This stays if the evidence gets no response in time.
            self.doubt(run, checked);
            let begin = self.deps.now();
            let settled = self.deps.recovery().settle(lock, run).await;
            if let Err(error) = &settled {
                tracing::warn!(event = "run_end_not_recorded", %lock, %error, "the end of the run was not recorded");
            }
            checked.changed = matches!(settled, Ok(Settled::Recorded));
            // The run key may be free in a moment.
            match settled {
                Ok(Settled::Ending | Settled::Unanswered) | Err(_) => self.doubt(run, checked),
                Ok(Settled::Recorded | Settled::Not) => checked.unsettled = None,
            }
            let is_known = matches!(settled, Ok(Settled::Recorded | Settled::Ending));
            if is_known || !self.request.wait_for_ending || !self.pause(begin, checked).await {
                return;
            }
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
