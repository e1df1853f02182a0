//! Decides on the next call to the agent. Pure: it has no clock and makes no call.
//!
//! One call is under way at a time: the order of two at once would be unknown.
//! Times are durations since any fixed point of a monotonic clock.
//!
//! ```text
//!  began, the first ─▶ PUT on ── protected ─▶ renewed at 80 % of its time ─▶ …
//!                        │ refused: again after 1 s, 2 s, 4 s …; a deployment: 5 s, then 10 s
//!  ended, the last ──▶ PUT off ── cleared
//!                        │ refused: four times, then it expires by itself
//! ```
//! What is not known counts as protection where it is to be cleared, and as none where it is
//! wanted.

use super::reason::{Reason, Refused, RetryPolicy};
use std::time::Duration;

mod steps;
pub(crate) use steps::{PlanStep, ProtectionEvent, ProtectionState, Put, PutResult};

/// Longest protection: 48 hours; the shortest is a minute.
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html>
const MINUTES_MAX: u64 = 2880;
/// First wait after a temporary failure; it doubles.
const BACK_OFF: Duration = Duration::from_secs(1);
/// Longest of these waits, for any lease.
const BACK_OFF_MAX: Duration = Duration::from_secs(60);
/// Waits during a blocked deployment: the first, and the later ones.
const BLOCKED: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(10)];
/// Attempts to clear protection before it is left to expire.
const CLEAR_TRIES: u32 = 4;
/// Shortest time between renewals, for any date in the answer.
const RENEWAL_MIN: Duration = Duration::from_secs(1);

/// The protection of the task, as known to this process.
#[derive(Debug)]
pub(crate) struct Plan {
    minutes: u64,
    back_off_max: Duration,
    in_flight: usize,
    closed: bool,
    /// The task is protected until then.
    protected_until: Option<Duration>,
    /// The task may be protected until then: the outcome of a call is unknown. It is cleared like
    /// one that is known.
    maybe_until: Option<Duration>,
    /// When protection has to be renewed; 0 if it is not set.
    renew_at: Duration,
    call: Option<Put>,
    calls: u64,
    /// Refusals of protection in a row.
    failures: u32,
    /// No call for protection before this time.
    not_before: Duration,
    /// The last refusal, until protection is set or requested anew.
    last_refusal: Option<Refused>,
    /// The last reason that was logged.
    logged: Option<Reason>,
    /// Protection was set for the work in flight: its renewal is retried until the work ends.
    granted: bool,
    clear_failures: u32,
    clear_at: Duration,
    left_to_expire: bool,
}

impl Plan {
    /// A plan for work under leases of this length.
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

    /// Work begins. A call with [`RetryPolicy::NextBegin`] is due again.
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
            // A wait that is over is due anyway, and its refusal is no answer to the work that
            // begins now.
            Some(RetryPolicy::BackingOff | RetryPolicy::Steadily) if self.not_before <= now => {}
            _ => return,
        }
        self.last_refusal = None;
    }

    /// Work ends. Returns whether it was the last.
    pub(crate) fn ended(&mut self, now: Duration) -> bool {
        self.in_flight = self.in_flight.saturating_sub(1);
        let last = self.in_flight == 0;
        if last {
            self.granted = false;
            self.clear_anew(now);
        }
        last
    }

    /// Sets no protection from now on, and clears the current one, whatever is in flight.
    pub(crate) fn close(&mut self, now: Duration) {
        self.closed = true;
        self.clear_anew(now);
    }

    fn clear_anew(&mut self, now: Duration) {
        self.clear_failures = 0;
        self.clear_at = now;
        self.left_to_expire = false;
    }

    /// The next step. A returned call counts as under way until it is answered.
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

    /// Records an answer. One to an earlier call is ignored.
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
                None => self.not_cleared(refused, now),
            },
        }
    }

    /// A missing date, or one later than requested, counts as the requested one: the clocks of this
    /// machine and of ECS may differ.
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
        // The same reason again and again is logged once.
        if is_new {
            ProtectionEvent::Refused(refused)
        } else {
            ProtectionEvent::Nothing
        }
    }

    fn not_cleared(&mut self, refused: Refused, now: Duration) -> ProtectionEvent {
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

    /// The protection of the work in flight.
    pub(crate) fn standing(&self, now: Duration) -> ProtectionState {
        if self.closed {
            let detail = "nothing new begins";
            return ProtectionState::Stopped(Refused::new(Reason::ShuttingDown, detail));
        }
        // The call may be carried out before its answer comes.
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

    /// Whether no protection is left without work in flight, or it is left to expire.
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
            // Work that was protected once has its renewal tried again: the reason may have gone,
            // and the work goes on.
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

/// The lease in whole minutes, rounded up, within the limits of ECS: a crashed task stays protected
/// for that long at most.
fn minutes_for(lease: Duration) -> u64 {
    let whole = lease.as_secs() + u64::from(lease.subsec_nanos() > 0);
    whole.div_ceil(60).clamp(1, MINUTES_MAX)
}

fn minutes(number: u64) -> Duration {
    Duration::from_secs(number * 60)
}

/// The wait after so many failures.
fn doubled(failures: u32, longest: Duration) -> Duration {
    (BACK_OFF * 2_u32.pow(failures.min(8))).min(longest)
}

#[cfg(test)]
mod tests;
