//! What to ask of the agent next. Pure: it has no clock and makes no call.
//!
//! One call is under way at a time: of two at once, nobody knows which one ECS saw last.
//! Times are lengths since any fixed point of a clock that only goes forward.

use super::reason::{Again, Reason, Refused};
use std::time::Duration;

mod steps;
pub(crate) use steps::{Answer, Event, Next, Put, Standing};

/// Longest protection there is: 48 hours; the shortest is a minute.
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html>
const MINUTES_MAX: u64 = 2880;
/// First wait after a call that failed for the moment; it doubles.
const BACK_OFF: Duration = Duration::from_secs(1);
/// Longest wait of them, for any lease.
const BACK_OFF_MAX: Duration = Duration::from_secs(60);
/// Waits of a blocked deployment: the first, and the ones after.
const BLOCKED: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(10)];
/// How often clearing is tried before the protection is left to expire.
const CLEAR_TRIES: u32 = 4;
/// Renewals are never closer than this, whatever the answer's date says.
const RENEWAL_MIN: Duration = Duration::from_secs(1);

/// The state of the protection of one task, as this process knows it.
#[derive(Debug)]
pub(crate) struct Plan {
    minutes: u64,
    back_off_max: Duration,
    in_flight: usize,
    closed: bool,
    /// The task is protected until then.
    sure: Option<Duration>,
    /// The task may be protected until then: a call was made whose outcome is open.
    maybe: Option<Duration>,
    /// The next call for protection as far as the last answer goes: 0 when it is not set.
    renew_at: Duration,
    call: Option<Put>,
    calls: u64,
    /// Refusals of protection in a row.
    failures: u32,
    /// No call for protection before this time.
    not_before: Duration,
    /// The last refusal of protection, until it is set or asked for anew.
    trouble: Option<Refused>,
    /// The last reason that was told.
    said: Option<Reason>,
    /// Protection has been granted to the work in flight: a renewal is tried until it ends.
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
            sure: None,
            maybe: None,
            renew_at: Duration::ZERO,
            call: None,
            calls: 0,
            failures: 0,
            not_before: Duration::ZERO,
            trouble: None,
            said: None,
            granted: false,
            clear_failures: 0,
            clear_at: Duration::ZERO,
            left_to_expire: false,
        }
    }

    /// Work begins. A refusal that only new work asks about again is asked about again.
    pub(crate) fn began(&mut self, now: Duration) {
        if self.in_flight == 0 {
            self.sure = self.sure.filter(|until| *until > now);
        }
        self.in_flight += 1;
        self.left_to_expire = false;
        let again = self.trouble.as_ref().map(|trouble| trouble.reason.again());
        match again {
            Some(Again::NextBegin) => self.not_before = now,
            Some(Again::BackingOff | Again::Steadily) if self.not_before <= now => {}
            _ => return,
        }
        self.trouble = None;
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

    /// Protects nothing from now on, and clears what is left, whatever is in flight.
    pub(crate) fn close(&mut self, now: Duration) {
        self.closed = true;
        self.clear_anew(now);
    }

    fn clear_anew(&mut self, now: Duration) {
        self.clear_failures = 0;
        self.clear_at = now;
        self.left_to_expire = false;
    }

    /// What to do now. A call that it returns counts as under way until it is answered.
    pub(crate) fn next(&mut self, now: Duration) -> Next {
        if self.is_wanted() && self.sure.is_some_and(|until| until <= now) {
            self.sure = None;
            return Next::Lapsed;
        }
        if self.call.is_some() {
            return self.wait_for_lapse();
        }
        let (due, minutes) = if self.is_wanted() {
            if self.gives_up() {
                return self.wait_for_lapse();
            }
            (self.renew_at.max(self.not_before), Some(self.minutes))
        } else if self.may_be_set(now) && !self.left_to_expire {
            (self.clear_at, None)
        } else {
            return Next::Nothing;
        };
        if due > now {
            let lapse = self.sure.filter(|_| self.is_wanted());
            return Next::Wait(lapse.map_or(due, |until| until.min(due)));
        }
        self.calls += 1;
        let put = Put {
            number: self.calls,
            minutes,
        };
        self.call = Some(put);
        Next::Put(put)
    }

    /// An answer came. One to another call than the last is ignored.
    pub(crate) fn answered(&mut self, number: u64, answer: Answer, now: Duration) -> Event {
        let Some(call) = self.call.take_if(|call| call.number == number) else {
            return Event::Nothing;
        };
        match answer {
            Answer::Protected(left) => self.protected(call, left, now),
            Answer::Cleared => {
                self.sure = None;
                self.maybe = None;
                self.renew_at = Duration::ZERO;
                Event::Cleared
            }
            Answer::Refused(refused) => match call.minutes {
                Some(minutes) => self.refused(refused, minutes, now),
                None => self.not_cleared(refused, now),
            },
        }
    }

    /// A date later than what was asked for, or none, is taken for what was asked for: the
    /// clocks of this machine and of ECS may differ.
    fn protected(&mut self, call: Put, left: Option<Duration>, now: Duration) -> Event {
        let asked = minutes(call.minutes.unwrap_or(self.minutes));
        let left = left.filter(|left| !left.is_zero()).unwrap_or(asked);
        let left = left.min(asked);
        let renewed = self.sure.is_some() && self.said.is_none();
        self.sure = Some(now + left);
        self.maybe = None;
        self.renew_at = now + (left * 4 / 5).max(RENEWAL_MIN);
        self.failures = 0;
        self.trouble = None;
        self.said = None;
        self.granted = true;
        if renewed {
            Event::Renewed
        } else {
            Event::Protected
        }
    }

    fn refused(&mut self, refused: Refused, asked: u64, now: Duration) -> Event {
        if refused.reason.is_open() {
            self.maybe = self.maybe.max(Some(now + minutes(asked)));
        }
        let wait = match refused.reason.again() {
            Again::Steadily => BLOCKED[usize::from(self.failures > 0)],
            _ => doubled(self.failures, self.back_off_max),
        };
        self.not_before = now + wait;
        self.failures = self.failures.saturating_add(1);
        let is_new = self.said != Some(refused.reason);
        self.said = Some(refused.reason);
        self.trouble = Some(refused.clone());
        if is_new {
            Event::Refused(refused)
        } else {
            Event::Nothing
        }
    }

    fn not_cleared(&mut self, refused: Refused, now: Duration) -> Event {
        if refused.reason.is_open() {
            self.maybe = self.maybe.max(self.sure.take());
            self.renew_at = Duration::ZERO;
        }
        self.clear_at = now + doubled(self.clear_failures, BACK_OFF_MAX);
        self.clear_failures += 1;
        let retried = matches!(refused.reason.again(), Again::BackingOff | Again::Steadily);
        if self.is_wanted() || (retried && self.clear_failures < CLEAR_TRIES) {
            return Event::Nothing;
        }
        self.left_to_expire = true;
        Event::LeftToExpire(refused)
    }

    /// How work in flight stands with its protection.
    pub(crate) fn standing(&self, now: Duration) -> Standing {
        if self.closed {
            let detail = "nothing new begins";
            return Standing::Stopped(Refused::new(Reason::ShuttingDown, detail));
        }
        let clearing = self.call.is_some_and(|call| call.minutes.is_none());
        if !clearing && self.sure.is_some_and(|until| until > now) {
            return Standing::Protected;
        }
        match &self.trouble {
            None => Standing::Asking,
            Some(trouble) => match trouble.reason.again() {
                Again::NextBegin | Again::Never => Standing::Stopped(trouble.clone()),
                Again::BackingOff | Again::Steadily => Standing::Retrying(trouble.clone()),
            },
        }
    }

    /// Whether the task keeps no protection that nobody needs, or nothing more is done about it.
    pub(crate) fn is_settled(&self, now: Duration) -> bool {
        self.is_wanted() || (self.call.is_none() && (self.left_to_expire || !self.may_be_set(now)))
    }

    fn is_wanted(&self) -> bool {
        self.in_flight > 0 && !self.closed
    }

    fn gives_up(&self) -> bool {
        match self.trouble.as_ref().map(|trouble| trouble.reason.again()) {
            Some(Again::Never) => true,
            Some(Again::NextBegin) => !self.granted,
            _ => false,
        }
    }

    fn may_be_set(&self, now: Duration) -> bool {
        self.sure.max(self.maybe).is_some_and(|until| until > now)
    }

    fn wait_for_lapse(&self) -> Next {
        let lapse = self.sure.filter(|_| self.is_wanted());
        lapse.map_or(Next::Nothing, Next::Wait)
    }
}

/// The lease in whole minutes, rounded up, as far as ECS goes along: a crash leaves a task
/// protected for so long at most.
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
