//! The request of acquire-lock.
//!
//! The request is checked as a whole before anything is written, and the first rule that is broken
//! is named with field and value. Fields that have no meaning beside each other are refused
//! together: a `waitUntil` of a run that does not wait would be a mistake that shows only on a full
//! lock.

use super::grant::{expect_every, no_progress};
use super::parse::{
    self, InvalidRequest, parse_time, quoted, redrives, seconds, text, up_to_a_year,
};
use super::policy::{CatchUp, OnPaused, Overlap, Stale};
use super::redrive::Redrive;
use super::work::WorkPlace;
use crate::domain::{
    Acquire, Command, ExecutionArn, HolderId, LockKey, Permits, QUEUE_MAX, Renew, Retention,
    RunKey, Seconds, TaskToken, Terms, Timestamp, WhenFull, WhenPaused,
};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest rest of a lock after a grant, in seconds: 31 days. One that was set by mistake blocks every
/// run of the lock.
const REST_MAX: u32 = 2_678_400;
/// Shortest lease, in seconds. A heartbeat needs one for its retry and one for the clocks' difference.
const LEASE_MIN: u32 = 3;
/// Longest lease, in seconds.
const LEASE_MAX: u32 = 86_400;
/// Default length of a lease, in seconds.
const LEASE_DEFAULT: i64 = 60;
/// Default bound of a queue.
const MAX_QUEUE_DEFAULT: i64 = 100;

/// Take a permit of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcquireRequest {
    /// The lock.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub lock: String,
    /// Who asks: an execution ARN, plus `#suffix` when one execution holds several permits.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub holder: String,
    /// Capacity of the lock: 1 is a mutex, n a counting semaphore. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100)))]
    pub permits: Option<i64>,
    /// Length of the lease. Default 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 3, max = 86_400)))]
    pub lease_seconds: Option<i64>,
    /// Time that a heartbeat waits for the next, at least two below `leaseSeconds`. Default a third
    /// of the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 86_398)))]
    pub heartbeat_seconds: Option<i64>,
    /// Longest time between two heartbeats of the workflow's states, which come less often the longer the run
    /// lasts. Default 900. A shorter `heartbeatSeconds` is the first time, a longer one stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 28_799)))]
    pub max_heartbeat_seconds: Option<i64>,
    /// The run may not last longer: after it, it is stale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 31_536_000)))]
    pub max_run_seconds: Option<i64>,
    /// No other grant of the lock within this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_678_400)))]
    pub min_interval_seconds: Option<i64>,
    /// A run of the lock is expected to succeed this often: if none does, the sweep publishes *Run
    /// Missing* once, until the next success. It stays with the lock until a request has another value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 60, max = 31_536_000)))]
    pub expect_every_seconds: Option<i64>,
    /// Idempotency key of the trigger: one success per key within the retention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub run_key: Option<String>,
    /// What to do when the lock is full. Default `skip`.
    #[serde(default)]
    pub overlap: Overlap,
    /// What to do when the lock is paused. Default `skip` with `overlap` `skip`, `wait` with `queue`, and
    /// `fail` with `fail`, `replace` or `mayWait`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_paused: Option<OnPaused>,
    /// What becomes of the runs that are skipped while the lock is paused. Default `none`.
    #[serde(default)]
    pub catch_up: CatchUp,
    /// With `overlap` `skip`: the caller goes on to wait when the answer is `skipped`, so it is not
    /// counted and reported as a run that was skipped. Default false.
    #[serde(default)]
    pub may_wait: bool,
    /// The caller waits when the answer is `skipped` with `ending`, so that is not counted and
    /// reported as a run that was skipped. Default false.
    #[serde(default)]
    pub wait_for_ending: bool,
    /// Most waiters in the queue, with `overlap` `queue` only. Default 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 500)))]
    pub max_queue: Option<i64>,
    /// The task token of the state that waits for the turn, with `overlap` `queue` or `replace`, `onPaused`
    /// `wait` or `catchUp` `once`.
    /// The state ends with the answer that this request would get when the turn comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 2048)))]
    pub task_token: Option<String>,
    /// Until when to wait, where `taskToken` may be given: a time as in 2026-03-01T06:00:00Z.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_until: Option<String>,
    /// What happens to the run when it stops renewing, overruns or hangs. Default `terminate`.
    #[serde(default)]
    pub stale_policy: Stale,
    /// The run counts as hung after this time without a change in the `progress` of its heartbeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 31_536_000)))]
    pub no_progress_seconds: Option<i64>,
    /// Where the run's ECS tasks are found, so that they can be seen to run and be stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkPlace>,
    /// The execution that started the holder's execution. A holder of the same parent is an earlier
    /// attempt of the caller: whether it still runs is checked at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub parent: Option<String>,
    /// How often the holder's execution has been redriven: `Execution.RedriveCount` of the Context
    /// object. What is seen of the execution from before that redrive is void then. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1000)))]
    pub redrive_count: Option<i64>,
    /// For a redriven execution: resume the grant that it had. The answer is `alreadyHeld` once no
    /// task of its last attempt runs, `finished` if the work of that attempt had succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redrive: Option<Redrive>,
}

/// A checked [`AcquireRequest`].
#[derive(Clone, Debug)]
pub struct CheckedAcquire {
    /// The lock.
    pub lock: LockKey,
    /// The command.
    pub acquire: Acquire,
    /// The overlap policy.
    pub overlap: Overlap,
    /// Whether the answer at a paused lock is `skipped`.
    pub skips_paused: bool,
    /// Whether the caller waits when the answer is `skipped`.
    pub may_wait: bool,
    /// Whether the caller waits when the answer is `skipped` with `ending`.
    pub wait_for_ending: bool,
    /// The grant that a redriven execution resumes.
    pub resume: Option<Renew>,
}

impl CheckedAcquire {
    /// Returns the command for the protocol.
    #[must_use]
    pub fn command(&self) -> Command {
        Command::Acquire(self.acquire.clone())
    }
}

impl AcquireRequest {
    /// Reads and checks a request.
    ///
    /// # Errors
    /// [`InvalidRequest`].
    pub fn read(
        json: serde_json::Value,
        retention: Retention,
    ) -> Result<CheckedAcquire, InvalidRequest> {
        parse::parse::<Self>(json)?.check(retention)
    }

    /// Checks every field. The history keeps the run for `retention` after its end.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(self, retention: Retention) -> Result<CheckedAcquire, InvalidRequest> {
        let most = self.max_queue()?;
        let when_paused = self.when_paused(most)?;
        self.check_waiting()?;
        let lock = text("lock", &self.lock, LockKey::new)?;
        let terms = self.terms(retention)?;
        let resume = self
            .redrive
            .clone()
            .map(|redrive| redrive.check(&lock, &terms));
        // An error is in the execution's history and in the log, and a caller with the token and
        // the right to call SendTaskSuccess ends the state.
        let hidden = |_| InvalidRequest::new("taskToken", "(hidden)", TaskToken::RULE);
        Ok(CheckedAcquire {
            lock,
            overlap: self.overlap,
            skips_paused: self.on_paused() == OnPaused::Skip,
            may_wait: self.may_wait,
            wait_for_ending: self.wait_for_ending,
            resume: resume.transpose()?,
            acquire: Acquire {
                terms,
                when_full: match self.overlap {
                    Overlap::Skip | Overlap::Fail => WhenFull::Refuse,
                    Overlap::Queue => WhenFull::Queue { most },
                    Overlap::Replace => WhenFull::Replace,
                },
                when_paused,
                wait_until: self.wait_until()?,
                task_token: self
                    .task_token
                    .map(TaskToken::new)
                    .transpose()
                    .map_err(hidden)?,
            },
        })
    }

    fn terms(&self, retention: Retention) -> Result<Terms, InvalidRequest> {
        let permits = self.permits.unwrap_or(1);
        let lease = lease_length(self.lease_seconds.unwrap_or(LEASE_DEFAULT))?;
        if let Some(most) = self.max_heartbeat_seconds {
            seconds("maxHeartbeatSeconds", most, 1, LEASE_MAX / 3 - 1)?;
        }
        let work = self.work.as_ref().map(WorkPlace::check).transpose()?;
        let run_key = self.run_key.as_ref();
        Ok(Terms {
            holder: self.holder()?,
            permits: Permits::new(permits)
                .map_err(|invalid| InvalidRequest::new("permits", permits, invalid.rule))?,
            lease,
            heartbeat: match self.heartbeat_seconds {
                Some(time) => heartbeat_time(time, lease)?,
                None => Seconds::of((lease.get() / 3).max(1)),
            },
            max_run: up_to_a_year("maxRunSeconds", self.max_run_seconds, 1)?,
            no_progress: no_progress("noProgressSeconds", self.no_progress_seconds)?,
            stale: self.stale_policy.into(),
            min_interval: self
                .min_interval_seconds
                .map(|value| seconds("minIntervalSeconds", value, 1, REST_MAX))
                .transpose()?,
            expect_every: expect_every("expectEverySeconds", self.expect_every_seconds)?,
            run_key: run_key
                .map(|key| text("runKey", key, RunKey::new))
                .transpose()?,
            work,
            retention,
            parent: self
                .parent
                .as_ref()
                .map(|parent| text("parent", parent, HolderId::new))
                .transpose()?,
            redrives: self
                .redrive_count
                .map(|count| redrives("redriveCount", count, 0))
                .transpose()?
                .unwrap_or_default(),
        })
    }

    fn holder(&self) -> Result<HolderId, InvalidRequest> {
        let holder = text("holder", &self.holder, HolderId::new)?;
        // DescribeExecution does not take the ARN of one, so nothing but the end of its lease would
        // free its permit.
        if ExecutionArn::is_express(&holder) {
            let rule = "an execution of a Standard workflow, because whether one of an Express workflow has ended \
                        cannot be learnt";
            return Err(InvalidRequest::new("holder", quoted(&self.holder), rule));
        }
        Ok(holder)
    }

    /// The bound of the queue.
    fn max_queue(&self) -> Result<usize, InvalidRequest> {
        let most = match (self.max_queue, self.overlap) {
            (Some(given), Overlap::Skip | Overlap::Fail | Overlap::Replace) => {
                let rule = "given only with overlap queue";
                return Err(InvalidRequest::new("maxQueue", given, rule));
            }
            (given, _) => given.unwrap_or(MAX_QUEUE_DEFAULT),
        };
        let in_range = usize::try_from(most)
            .ok()
            .filter(|most| (1..=QUEUE_MAX).contains(most));
        let rule = format!("a whole number from 1 to {QUEUE_MAX}");
        in_range.ok_or_else(|| InvalidRequest::new("maxQueue", most, rule))
    }

    fn on_paused(&self) -> OnPaused {
        let default = match self.overlap {
            // The caller requests the lock again, by its own policy.
            _ if self.may_wait => OnPaused::Fail,
            Overlap::Skip => OnPaused::Skip,
            Overlap::Queue => OnPaused::Wait,
            Overlap::Fail | Overlap::Replace => OnPaused::Fail,
        };
        self.on_paused.unwrap_or(default)
    }

    fn when_paused(&self, most: usize) -> Result<WhenPaused, InvalidRequest> {
        match (self.on_paused(), self.catch_up) {
            (OnPaused::Wait, _) => Ok(WhenPaused::Queue { most }),
            (OnPaused::Skip, CatchUp::Once) => Ok(WhenPaused::CatchUp),
            // A caller that did not ask to fail requests the lock again, by its own policy.
            (OnPaused::Fail, CatchUp::Once) if self.on_paused.is_none() && self.may_wait => {
                Ok(WhenPaused::Refuse)
            }
            (OnPaused::Fail, CatchUp::Once) => {
                let rule = "given only with onPaused skip or wait";
                Err(InvalidRequest::new("catchUp", quoted("once"), rule))
            }
            (OnPaused::Skip | OnPaused::Fail, CatchUp::None) => Ok(WhenPaused::Refuse),
        }
    }

    /// Rejects fields that only a run that waits may have.
    fn check_waiting(&self) -> Result<(), InvalidRequest> {
        let waits_if_full = matches!(self.overlap, Overlap::Queue | Overlap::Replace);
        if waits_if_full || self.on_paused() == OnPaused::Wait || self.catch_up == CatchUp::Once {
            return Ok(());
        }
        let rule = "given only with overlap queue or replace, onPaused wait or catchUp once";
        if self.task_token.is_some() {
            return Err(InvalidRequest::new("taskToken", "(hidden)", rule));
        }
        match &self.wait_until {
            Some(given) => Err(InvalidRequest::new("waitUntil", quoted(given), rule)),
            None => Ok(()),
        }
    }

    fn wait_until(&self) -> Result<Option<Timestamp>, InvalidRequest> {
        let given = self.wait_until.as_ref();
        given.map(|time| parse_time("waitUntil", time)).transpose()
    }
}

/// The checked length of a lease.
pub(super) fn lease_length(value: i64) -> Result<Seconds, InvalidRequest> {
    seconds("leaseSeconds", value, LEASE_MIN, LEASE_MAX)
}

/// The checked time between the heartbeats of a lease.
pub(super) fn heartbeat_time(value: i64, lease: Seconds) -> Result<Seconds, InvalidRequest> {
    // A heartbeat that failed is retried one second later, which Step Functions counts in whole
    // seconds: the lease has to outlast both.
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
