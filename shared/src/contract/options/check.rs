//! Checks the options of a lock: the value of each, and which of them may be given together.

use super::LockOptions;
use crate::contract::parse::{InvalidRequest, quoted, text};
use crate::contract::policy::{CatchUp, OnPaused, Overlap};
use lockstep_core::domain::{Permits, RunKey, Seconds, StalePolicy, WhenFull, WhenPaused};

/// Default length of a lease, in seconds.
const LEASE_DEFAULT: i64 = 60;
/// Default time between heartbeats, in seconds, of a run with `work`. The reaper finds its end by the events
/// of its execution, and acquire-lock by checking the holder, so a long lease does not delay the recovery.
const HEARTBEAT_OF_WORK: i64 = 300;
/// Default of `maxQueue`.
const MAX_QUEUE_DEFAULT: i64 = 100;

/// Checked [`LockOptions`], with their defaults.
pub(in crate::contract) struct CheckedOptions {
    pub(in crate::contract) permits: Permits,
    pub(in crate::contract) lease: Seconds,
    pub(in crate::contract) heartbeat: Seconds,
    pub(in crate::contract) max_run: Option<Seconds>,
    pub(in crate::contract) no_progress: Option<Seconds>,
    pub(in crate::contract) stale: StalePolicy,
    pub(in crate::contract) min_interval: Option<Seconds>,
    pub(in crate::contract) expect_every: Option<Seconds>,
    pub(in crate::contract) run_key: Option<RunKey>,
    pub(in crate::contract) when_full: WhenFull,
    pub(in crate::contract) when_paused: WhenPaused,
}

impl LockOptions {
    /// Checks every option.
    ///
    /// `may_wait` is true if the caller waits after a refusal. `has_work` is true if the request has `work`.
    pub(in crate::contract) fn check(
        &self,
        may_wait: bool,
        has_work: bool,
    ) -> Result<CheckedOptions, InvalidRequest> {
        let most = self.checked_max_queue()?;
        let when_paused = self.when_paused(may_wait, most)?;
        let (lease, heartbeat) = self.pace(has_work)?;
        for (field, range, value) in self.numbers() {
            value.map(|value| range.check(field, value)).transpose()?;
        }
        // Every number is in its range from here on.
        let seconds = |value: Option<i64>| Some(Seconds::of(u32::try_from(value?).ok()?));
        let permits = self.permits.unwrap_or(1);
        Ok(CheckedOptions {
            permits: Permits::new(permits)
                .map_err(|invalid| InvalidRequest::new("permits", permits, invalid.rule))?,
            lease,
            heartbeat,
            max_run: seconds(self.max_run_seconds),
            no_progress: seconds(self.no_progress_seconds),
            stale: self.stale_policy.unwrap_or_default().into(),
            min_interval: seconds(self.min_interval_seconds),
            expect_every: seconds(self.expect_every_seconds),
            run_key: self
                .run_key
                .as_ref()
                .map(|key| text("runKey", key, RunKey::new))
                .transpose()?,
            when_full: match self.overlap() {
                Overlap::Skip | Overlap::Fail => WhenFull::Refuse,
                Overlap::Queue => WhenFull::Queue { most },
                Overlap::Replace => WhenFull::Replace,
            },
            when_paused,
        })
    }

    /// Returns the length of the lease, and the time between heartbeats.
    fn pace(&self, has_work: bool) -> Result<(Seconds, Seconds), InvalidRequest> {
        let is_given = self.lease_seconds.is_some() || self.heartbeat_seconds.is_some();
        if has_work && !is_given {
            let longest = self.max_heartbeat_seconds.unwrap_or(HEARTBEAT_OF_WORK);
            // Heartbeats report the progress of the work, so three of them fit into `noProgressSeconds`.
            let progress = self.no_progress_seconds.map(|most| most / 3);
            let longest = longest.min(progress.unwrap_or(HEARTBEAT_OF_WORK));
            let heartbeat = longest.clamp(1, HEARTBEAT_OF_WORK);
            let seconds = |value| Seconds::of(u32::try_from(value).unwrap_or(u32::MAX));
            return Ok((seconds(3 * heartbeat), seconds(heartbeat)));
        }
        let lease = self.lease_seconds.unwrap_or(LEASE_DEFAULT);
        let lease = Seconds::of(Self::LEASE.check("leaseSeconds", lease)?);
        let heartbeat = match self.heartbeat_seconds {
            Some(time) => heartbeat_time(time, lease)?,
            None => Seconds::of((lease.get() / 3).max(1)),
        };
        Ok((lease, heartbeat))
    }

    /// Returns the overlap policy.
    #[must_use]
    pub fn overlap(&self) -> Overlap {
        self.overlap.unwrap_or_default()
    }

    /// Returns the policy at a paused lock. `may_wait` is true if the caller waits after a refusal.
    pub(in crate::contract) fn on_paused(&self, may_wait: bool) -> OnPaused {
        let default = match self.overlap() {
            // The caller asks again from its waiting state. That request has the run's own policy.
            _ if may_wait => OnPaused::Fail,
            Overlap::Skip => OnPaused::Skip,
            Overlap::Queue => OnPaused::Wait,
            Overlap::Fail | Overlap::Replace => OnPaused::Fail,
        };
        self.on_paused.unwrap_or(default)
    }

    /// Returns whether the run waits at a full or a paused lock.
    pub(in crate::contract) fn waits(&self, may_wait: bool) -> bool {
        matches!(self.overlap(), Overlap::Queue | Overlap::Replace)
            || self.on_paused(may_wait) == OnPaused::Wait
            || self.catch_up == Some(CatchUp::Once)
    }

    /// Returns `maxQueue`, or its default.
    fn checked_max_queue(&self) -> Result<usize, InvalidRequest> {
        let most = match (self.max_queue, self.overlap()) {
            (Some(given), Overlap::Skip | Overlap::Fail | Overlap::Replace) => {
                let rule = "given only with overlap queue";
                return Err(InvalidRequest::new("maxQueue", given, rule));
            }
            (given, _) => given.unwrap_or(MAX_QUEUE_DEFAULT),
        };
        let most = Self::MAX_QUEUE.check("maxQueue", most)?;
        Ok(usize::try_from(most).unwrap_or(usize::MAX))
    }

    fn when_paused(&self, may_wait: bool, most: usize) -> Result<WhenPaused, InvalidRequest> {
        match (self.on_paused(may_wait), self.catch_up.unwrap_or_default()) {
            (OnPaused::Wait, _) => Ok(WhenPaused::Queue { most }),
            (OnPaused::Skip, CatchUp::Once) => Ok(WhenPaused::CatchUp),
            // Here `fail` is the default of `mayWait`. The caller asks again from its waiting state, and that
            // request has the run's own policy.
            (OnPaused::Fail, CatchUp::Once) if self.on_paused.is_none() && may_wait => {
                Ok(WhenPaused::Refuse)
            }
            (OnPaused::Fail, CatchUp::Once) => {
                let rule = "given only with onPaused skip or wait";
                Err(InvalidRequest::new("catchUp", quoted("once"), rule))
            }
            (OnPaused::Skip | OnPaused::Fail, CatchUp::None) => Ok(WhenPaused::Refuse),
        }
    }
}

/// Checks the time between the heartbeats of a lease.
pub(in crate::contract) fn heartbeat_time(
    value: i64,
    lease: Seconds,
) -> Result<Seconds, InvalidRequest> {
    // A failed heartbeat is retried one second later, and Step Functions counts in whole seconds. The lease
    // has to outlast both seconds.
    let most = lease.get() - 2;
    match u32::try_from(value) {
        Ok(beat) if (1..=most).contains(&beat) => Ok(Seconds::of(beat)),
        _ => {
            let rule = format!(
                "a whole number of seconds from 1 to {most}: two below leaseSeconds, because a \
                 heartbeat that fails is retried a second later"
            );
            Err(InvalidRequest::new("heartbeatSeconds", value, rule))
        }
    }
}
