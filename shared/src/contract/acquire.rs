//! acquire-lock: take a permit.

use super::parse::{self, InvalidRequest, quoted, seconds, text};
use crate::domain::{Acquire, Command, HolderId, LockKey, Permits, RunKey, Seconds};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest run, minimum interval: one year, which is as long as a Standard execution may last
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html>).
const YEAR: u32 = 31_536_000;
/// Shortest lease. A beat needs a second to be retried and one more for the clocks' difference.
const LEASE_MIN: u32 = 3;
/// Longest lease.
const LEASE_MAX: u32 = 86_400;
/// Length of a lease that nobody chose.
const LEASE_DEFAULT: i64 = 60;

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
    /// The run may not last longer: a heartbeat after it fails with `Lockstep.LeaseLost`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 31_536_000)))]
    pub max_run_seconds: Option<i64>,
    /// No other grant of the lock within this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 31_536_000)))]
    pub min_interval_seconds: Option<i64>,
    /// Idempotency key of the trigger: one success per key within the retention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub run_key: Option<String>,
    /// What to do when the lock is full. Default `skip`.
    #[serde(default)]
    pub overlap: Overlap,
}

/// What a run does when it finds the lock full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Overlap {
    /// Answer `skipped`.
    #[default]
    Skip,
    /// Fail with `Lockstep.LockHeld`.
    Fail,
    /// Wait in line. Not supported by this version.
    Queue,
    /// Stop the holder. Not supported by this version.
    Replace,
}

/// A checked [`AcquireRequest`].
#[derive(Clone, Debug)]
pub struct CheckedAcquire {
    /// The lock.
    pub lock: LockKey,
    /// What to do with it.
    pub acquire: Acquire,
    /// Time between heartbeats.
    pub heartbeat: Seconds,
    /// What to do when the lock is full.
    pub overlap: Overlap,
}

impl CheckedAcquire {
    /// The command for the protocol.
    #[must_use]
    pub fn command(&self) -> Command {
        Command::Acquire(self.acquire.clone())
    }
}

impl AcquireRequest {
    /// Checks every field. An ended run is remembered for `retention`.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(self, retention: Seconds) -> Result<CheckedAcquire, InvalidRequest> {
        let permits = self.permits.unwrap_or(1);
        let year = |field, value: Option<i64>| {
            value
                .map(|value| seconds(field, value, 1, YEAR))
                .transpose()
        };
        if matches!(self.overlap, Overlap::Queue | Overlap::Replace) {
            let value = format!("{:?}", self.overlap).to_lowercase();
            let rule = "skip or fail (this version has no queue and no replace)";
            return Err(InvalidRequest::new("overlap", quoted(&value), rule));
        }
        let lease = self.lease_seconds.unwrap_or(LEASE_DEFAULT);
        let lease = seconds("leaseSeconds", lease, LEASE_MIN, LEASE_MAX)?;
        Ok(CheckedAcquire {
            lock: text("lock", &self.lock, LockKey::new)?,
            heartbeat: heartbeat(self.heartbeat_seconds, lease)?,
            overlap: self.overlap,
            acquire: Acquire {
                holder: text("holder", &self.holder, HolderId::new)?,
                permits: Permits::new(permits)
                    .map_err(|invalid| InvalidRequest::new("permits", permits, invalid.rule))?,
                lease,
                max_run: year("maxRunSeconds", self.max_run_seconds)?,
                min_interval: year("minIntervalSeconds", self.min_interval_seconds)?,
                run_key: self
                    .run_key
                    .map(|key| text("runKey", &key, RunKey::new))
                    .transpose()?,
                retention,
            },
        })
    }
}

fn heartbeat(value: Option<i64>, lease: Seconds) -> Result<Seconds, InvalidRequest> {
    let Some(value) = value else {
        return Ok(Seconds::of((lease.get() / 3).max(1)));
    };
    // A beat that timed out waits one more second for its retry, which Step Functions counts in
    // whole seconds: the lease has to outlast both.
    let most = lease.get() - 2;
    match u32::try_from(value) {
        Ok(beat) if (1..=most).contains(&beat) => Ok(Seconds::of(beat)),
        _ => {
            let rule = format!(
                "a whole number of seconds from 1 to {most}: two below leaseSeconds, for a beat \
                 takes a second more than it waits"
            );
            Err(InvalidRequest::new("heartbeatSeconds", value, rule))
        }
    }
}

impl AcquireRequest {
    /// Reads and checks a request.
    ///
    /// # Errors
    /// [`InvalidRequest`].
    pub fn read(
        json: serde_json::Value,
        retention: Seconds,
    ) -> Result<CheckedAcquire, InvalidRequest> {
        parse::parse::<Self>(json)?.check(retention)
    }
}
