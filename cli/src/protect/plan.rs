//! Decides on the next call to the agent. Pure: it has no clock and makes no call.
//!
//! One call is under way at a time, because the order of two concurrent calls would be unknown. All times are
//! durations since a fixed point of a monotonic clock.
//!
//! ```text
//!  began, the first ─▶ PUT on ── protected ─▶ renewed at 80 % of its time ─▶ …
//!                        │ refused: again after 1 s, 2 s, 4 s …; a deployment: 5 s, then 10 s
//!  ended, the last ──▶ PUT off ── cleared
//!                        │ refused: four times, then it expires by itself
//! ```
//! If the outcome of a call is unknown, protection counts as set where it has to be cleared, and as not set
//! where it is needed.

use super::reason::{Reason, Refused, RetryPolicy};
use std::time::Duration;

mod steps;
pub(crate) use steps::{PlanStep, ProtectionEvent, ProtectionState, Put, PutResult};

/// Longest protection, in minutes: 48 hours. The shortest is one minute.
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html>
const MINUTES_MAX: u64 = 2880;
/// First wait after a temporary failure. It doubles with each further failure.
const BACK_OFF: Duration = Duration::from_secs(1);
/// Longest wait after a temporary failure, for any lease.
const BACK_OFF_MAX: Duration = Duration::from_secs(60);
/// Waits while a deployment blocks protection: the first, and each later one.
const BLOCKED: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(10)];
/// Most attempts to clear protection, after which it is left to expire.
const CLEAR_TRIES: u32 = 4;
/// Shortest time between renewals, whatever date the answer has.
const RENEWAL_MIN: Duration = Duration::from_secs(1);

/// The protection of the task, as far as this process knows it.
#[derive(Debug)]
pub(crate) struct Plan {
    minutes: u64,
    back_off_max: Duration,
    in_flight: usize,
    closed: bool,
    /// The task is protected until this time.
    protected_until: Option<Duration>,
    /// The task may be protected until this time, because the outcome of a call is unknown. Such protection
    /// is cleared like one that is known.
    maybe_until: Option<Duration>,
    /// When protection has to be renewed; 0 if it is not set.
    renew_at: Duration,
    call: Option<Put>,
    calls: u64,
    /// Refusals of protection in a row.
    failures: u32,
    /// No call for protection before this time.
    not_before: Duration,
    /// The last refusal. It is removed when protection is set, or when work begins that requests it anew.
    last_refusal: Option<Refused>,
    /// The last reason that was logged.
    logged: Option<Reason>,
    /// Whether protection was set for the work in flight. Its renewal is then retried until the work ends.
    granted: bool,
    clear_failures: u32,
    clear_at: Duration,
    left_to_expire: bool,
}

impl Plan {
    /// Creates a plan for work under leases of this length.
    pub(crate) fn new(lease: Duration) -> Self {
        Self {
            minutes: minutes_for(lease),
            back_off_max: (lease / 4).clamp(BACK_OFF, BACK_OFF_MAX),
            in_flight: 0,
            closed: false,
            protected_until: None,
            maybe_until: None,
            renew_at: Duration::ZERO,
            call: None,
            calls: 0,
            failures: 0,
            not_before: Duration::ZERO,
            last_refusal: None,
            logged: None,
            granted: false,
            clear_failures: 0,
            clear_at: Duration::ZERO,
            left_to_expire: false,
        }
    }

    /// Records that work begins. A call whose refusal has the policy [`RetryPolicy::NextBegin`] is due again.
    pub(crate) fn began(&mut self, now: Duration) {
        if self.in_flight == 0 {
            self.protected_until = self.protected_until.filter(|until| *until > now);
        }
        self.in_flight += 1;
        self.left_to_expire = false;
        let policy = self
            .last_refusal
            .as_ref()
            .map(|refused| refused.reason.retry_policy());
        match policy {
            Some(RetryPolicy::NextBegin) => self.not_before = now,
            // A call whose wait is over is due anyway. Its last refusal does not apply to the work that
            // begins now.
            Some(RetryPolicy::BackingOff | RetryPolicy::Steadily) if self.not_before <= now => {}
            _ => return,
        }
        self.last_refusal = None;
    }

    /// Records that work ends. Returns whether it was the last.
    pub(crate) fn ended(&mut self, now: Duration) -> bool {
        self.in_flight = self.in_flight.saturating_sub(1);
        let last = self.in_flight == 0;
        if last {
            self.granted = false;
            self.restart_clearing(now);
        }
        last
    }

    /// Sets no protection from now on, and clears the current one, whatever is in flight.
    pub(crate) fn close(&mut self, now: Duration) {
        self.closed = true;
        self.restart_clearing(now);
    }

    fn restart_clearing(&mut self, now: Duration) {
        self.clear_failures = 0;
        self.clear_at = now;
        self.left_to_expire = false;
    }

    /// Returns the next step. A returned call counts as under way until it is answered.
    pub(crate) fn next(&mut self, now: Duration) -> PlanStep {
        if self.is_wanted() && self.protected_until.is_some_and(|until| until <= now) {
            self.protected_until = None;
            return PlanStep::Lapsed;
        }
        if self.call.is_some() {
            return self.wait_for_lapse();
        }
        let (due, minutes) = if self.is_wanted() {
            if self.must_not_retry() {
                return self.wait_for_lapse();
            }
            (self.renew_at.max(self.not_before), Some(self.minutes))
        } else if self.may_be_set(now) && !self.left_to_expire {
            (self.clear_at, None)
        } else {
            return PlanStep::Nothing;
        };
        if due > now {
            let lapse = self.protected_until.filter(|_| self.is_wanted());
            return PlanStep::Wait(lapse.map_or(due, |until| until.min(due)));
        }
        self.calls += 1;
        let put = Put {
            number: self.calls,
            minutes,
        };
        self.call = Some(put);
        PlanStep::Put(put)
    }

    /// Records the answer to the call with this number, and returns the event to log. An answer to an earlier
    /// call is ignored.
    pub(crate) fn answered(
        &mut self,
        number: u64,
        answer: PutResult,
        now: Duration,
    ) -> ProtectionEvent {
        let Some(call) = self.call.take_if(|call| call.number == number) else {
            return ProtectionEvent::Nothing;
        };
        match answer {
            PutResult::Protected(left) => self.protected(call, left, now),
            PutResult::Cleared => {
                self.protected_until = None;
                self.maybe_until = None;
                self.renew_at = Duration::ZERO;
                ProtectionEvent::Cleared
            }
            PutResult::Refused(refused) => match call.minutes {
                Some(minutes) => self.refused(refused, minutes, now),
                None => self.clearing_refused(refused, now),
            },
        }
    }

    /// Records that the task is protected. A date that is missing, past, or later than requested counts as
    /// the requested one, because the clocks of this machine and of ECS may differ.
    fn protected(&mut self, call: Put, left: Option<Duration>, now: Duration) -> ProtectionEvent {
        let asked = minutes(call.minutes.unwrap_or(self.minutes));
        let left = left.filter(|left| !left.is_zero()).unwrap_or(asked);
        let left = left.min(asked);
        let renewed = self.protected_until.is_some() && self.logged.is_none();
        self.protected_until = Some(now + left);
        self.maybe_until = None;
        self.renew_at = now + (left * 4 / 5).max(RENEWAL_MIN);
        self.failures = 0;
        self.last_refusal = None;
        self.logged = None;
        self.granted = true;
        if renewed {
            ProtectionEvent::Renewed
        } else {
            ProtectionEvent::Protected
        }
    }

    fn refused(&mut self, refused: Refused, asked: u64, now: Duration) -> ProtectionEvent {
        if refused.reason.is_open() {
            self.maybe_until = self.maybe_until.max(Some(now + minutes(asked)));
        }
        let wait = match refused.reason.retry_policy() {
            RetryPolicy::Steadily => BLOCKED[usize::from(self.failures > 0)],
            _ => doubled(self.failures, self.back_off_max),
        };
        self.not_before = now + wait;
        self.failures = self.failures.saturating_add(1);
        let is_new = self.logged != Some(refused.reason);
        self.logged = Some(refused.reason);
        self.last_refusal = Some(refused.clone());
        // A reason that repeats is logged once.
        if is_new {
            ProtectionEvent::Refused(refused)
        } else {
            ProtectionEvent::Nothing
        }
    }

    fn clearing_refused(&mut self, refused: Refused, now: Duration) -> ProtectionEvent {
        if refused.reason.is_open() {
            self.maybe_until = self.maybe_until.max(self.protected_until.take());
            self.renew_at = Duration::ZERO;
        }
        self.clear_at = now + doubled(self.clear_failures, BACK_OFF_MAX);
        self.clear_failures += 1;
        let retried = matches!(
            refused.reason.retry_policy(),
            RetryPolicy::BackingOff | RetryPolicy::Steadily
        );
        if self.is_wanted() || (retried && self.clear_failures < CLEAR_TRIES) {
            return ProtectionEvent::Nothing;
        }
        self.left_to_expire = true;
        ProtectionEvent::LeftToExpire(refused)
    }

    /// Returns the protection of the work in flight.
    pub(crate) fn standing(&self, now: Duration) -> ProtectionState {
        if self.closed {
            let detail = "this process is shutting down";
            return ProtectionState::Stopped(Refused::new(Reason::ShuttingDown, detail));
        }
        // A call that clears protection may be carried out before its answer comes.
        let clearing = self.call.is_some_and(|call| call.minutes.is_none());
        if !clearing && self.protected_until.is_some_and(|until| until > now) {
            return ProtectionState::Protected;
        }
        match &self.last_refusal {
            None => ProtectionState::Asking,
            Some(refused) => match refused.reason.retry_policy() {
                RetryPolicy::NextBegin | RetryPolicy::Never => {
                    ProtectionState::Stopped(refused.clone())
                }
                RetryPolicy::BackingOff | RetryPolicy::Steadily => {
                    ProtectionState::Retrying(refused.clone())
                }
            },
        }
    }

    /// Returns whether nothing is left to be cleared: protection is wanted, cleared, or left to expire.
    pub(crate) fn is_settled(&self, now: Duration) -> bool {
        self.is_wanted() || (self.call.is_none() && (self.left_to_expire || !self.may_be_set(now)))
    }

    fn is_wanted(&self) -> bool {
        self.in_flight > 0 && !self.closed
    }

    fn must_not_retry(&self) -> bool {
        match self
            .last_refusal
            .as_ref()
            .map(|refused| refused.reason.retry_policy())
        {
            Some(RetryPolicy::Never) => true,
            // If the work was protected once, the renewal is tried again: the reason may be gone, and the
            // work goes on.
            Some(RetryPolicy::NextBegin) => !self.granted,
            _ => false,
        }
    }

    fn may_be_set(&self, now: Duration) -> bool {
        self.protected_until
            .max(self.maybe_until)
            .is_some_and(|until| until > now)
    }

    fn wait_for_lapse(&self) -> PlanStep {
        let lapse = self.protected_until.filter(|_| self.is_wanted());
        lapse.map_or(PlanStep::Nothing, PlanStep::Wait)
    }
}

/// Returns the lease in whole minutes, rounded up, within the limits of ECS. A task that crashes stays
/// protected for at most this time.
fn minutes_for(lease: Duration) -> u64 {
    let whole = lease.as_secs() + u64::from(lease.subsec_nanos() > 0);
    whole.div_ceil(60).clamp(1, MINUTES_MAX)
}

fn minutes(number: u64) -> Duration {
    Duration::from_secs(number * 60)
}

/// Returns the wait after this number of `failures`.
fn doubled(failures: u32, longest: Duration) -> Duration {
    (BACK_OFF * 2_u32.pow(failures.min(8))).min(longest)
}

#[cfg(test)]
mod tests;
