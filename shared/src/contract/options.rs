//! The options of a lock, in one list.
//!
//! Every request that has options embeds [`LockOptions`], so each option is declared, documented and checked
//! once, in this module. An option that is not given is `None`; the check applies its default.

mod check;
mod range;

pub(super) use check::{CheckedOptions, heartbeat_time};
pub use range::Range;

use super::parse::YEAR;
use super::policy::{CatchUp, OnPaused, Overlap, Stale, WhenQueueFull};
use lockstep_core::domain::{Permits, QUEUE_MAX};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::de::IntoDeserializer;
use serde::de::value::StringDeserializer;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Options of a lock: how a run takes a permit, and how long it may hold the permit.
///
/// A request has these fields beside its own: `AcquireRequest::read` splits the JSON by
/// [`fields_of`](super::fields_of), because serde's `flatten` accepts unknown fields and loses the path of a
/// wrong value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LockOptions {
    /// Idempotency key of the trigger: one success per key within the retention. If the key has a time,
    /// give it in UTC. From a schedule: `<aws.scheduler.schedule-arn>#<aws.scheduler.scheduled-time>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub run_key: Option<String>,
    /// Number of runs that may hold the lock at once: the same in all requests for the lock. While the
    /// lock is held or runs wait for it, another number fails with `Lockstep.PermitsMismatch`, or waits
    /// with `overlap` `queue`. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = Self::PERMITS.least, max = Self::PERMITS.most)))]
    pub permits: Option<i64>,
    /// What to do when the lock is full. Default `skip`.
    #[serde(
        deserialize_with = "given_word",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Overlap", extend("default" = Overlap::default())))]
    pub overlap: Option<Overlap>,
    /// What to do when the lock is paused. Default by `overlap`: `skip` for `skip`, `wait` for `queue`,
    /// `fail` for `fail` and for `replace`.
    #[serde(
        deserialize_with = "word_or_null",
        skip_serializing_if = "Option::is_none"
    )]
    pub on_paused: Option<OnPaused>,
    /// Catch-up policy for the runs that are skipped while the lock is paused. Default `none`.
    #[serde(
        deserialize_with = "given_word",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "CatchUp", extend("default" = CatchUp::default())))]
    pub catch_up: Option<CatchUp>,
    /// How long a silent run keeps its permit at first. A live run keeps its permit as long as it runs.
    /// Default 900, or three times the default of `heartbeatSeconds` if that is below 300; 60 if
    /// `heartbeatSeconds` is given, or if a request to acquire-lock has no `work`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = Self::LEASE.least, max = Self::LEASE.most)))]
    pub lease_seconds: Option<i64>,
    /// Time between the first heartbeat, which a workflow sends right after its grant, and the second. At
    /// most `leaseSeconds` - 2. Default 300, but at most `maxHeartbeatSeconds` and a third of
    /// `noProgressSeconds`; a third of `leaseSeconds` if that field is given, or if a request to
    /// acquire-lock has no `work`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = Self::HEARTBEAT.least, max = Self::HEARTBEAT.most)))]
    pub heartbeat_seconds: Option<i64>,
    /// Longest time between two heartbeats of a workflow. Each time is longer than `heartbeatSeconds` by
    /// a third of the run's age, up to this limit. A `heartbeatSeconds` above the limit stays as it is.
    /// The lease is three times the time to the next heartbeat, and at least `leaseSeconds`. Default 900.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = Self::MAX_HEARTBEAT.least, max = Self::MAX_HEARTBEAT.most)))]
    pub max_heartbeat_seconds: Option<i64>,
    /// Longest duration of the run after it learned of its grant. A run that lasts longer is stale
    /// (`stalePolicy`). Without this field and `noProgressSeconds`, work that never starts or never ends
    /// holds its lock for weeks, until its execution ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = Self::MAX_RUN.least, max = Self::MAX_RUN.most)))]
    pub max_run_seconds: Option<i64>,
    /// What happens to a stale run: one that stops renewing its lease, or exceeds `maxRunSeconds` or
    /// `noProgressSeconds`. A holder that is a process, and not an execution, stops its own work when it
    /// cannot renew its lease: under every policy, its permit is free when the lease has ended. Default
    /// `terminate`.
    #[serde(
        deserialize_with = "given_word",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Stale", extend("default" = Stale::default())))]
    pub stale_policy: Option<Stale>,
    /// Time after this grant in which the lock gives no other grant. Stay clearly below the interval of
    /// the schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = Self::MIN_INTERVAL.least, max = Self::MIN_INTERVAL.most)))]
    pub min_interval_seconds: Option<i64>,
    /// Time in which a run of the lock is expected to succeed. If none does, the sweep publishes *Run
    /// Missing*, once until the next success. The lock keeps the value until a request has another one. A
    /// pause stops the time, and a resume starts it anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = Self::EXPECT_EVERY.least, max = Self::EXPECT_EVERY.most)))]
    pub expect_every_seconds: Option<i64>,
    /// Largest number of waiters in the queue. Given only with `overlap` `queue`. Default 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = Self::MAX_QUEUE.least, max = Self::MAX_QUEUE.most)))]
    pub max_queue: Option<i64>,
    /// What a run that would wait does when the queue is full. Default `fail`. No effect on a run that does
    /// not wait.
    #[serde(
        deserialize_with = "given_word",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "WhenQueueFull", extend("default" = WhenQueueFull::default())))]
    pub when_queue_full: Option<WhenQueueFull>,
    /// Longest time without a change in the `progress` of the run's heartbeats. A run that exceeds it is
    /// stale (`stalePolicy`). `lockstep run` sends progress every 20 s: give at least a minute plus the
    /// time that the container takes to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = Self::NO_PROGRESS.least, max = Self::NO_PROGRESS.most)))]
    pub no_progress_seconds: Option<i64>,
}

/// The ranges of the options. The check, the schema and the flags of the commands use them.
impl LockOptions {
    /// Range of `permits`.
    pub const PERMITS: Range = Range::new(1, Permits::MAX as u32);
    /// Range of `leaseSeconds`. The least lease has a heartbeat of 1 second, one second for its retry, and
    /// one for clock skew.
    pub const LEASE: Range = Range::new(3, 86_400);
    /// Range of `heartbeatSeconds` for the longest lease. A shorter lease has a lower maximum.
    pub const HEARTBEAT: Range = Range::new(1, Self::LEASE.most - 2);
    /// Range of `maxHeartbeatSeconds`. The lease of a workflow is three times its heartbeat, and at most a
    /// day.
    pub const MAX_HEARTBEAT: Range = Range::new(1, Self::LEASE.most / 3 - 1);
    /// Range of `maxRunSeconds`.
    pub const MAX_RUN: Range = Range::new(1, YEAR);
    /// Range of `minIntervalSeconds`. The maximum is 31 days, because a rest that is set by mistake blocks
    /// every run of the lock.
    pub const MIN_INTERVAL: Range = Range::new(1, 2_678_400);
    /// Range of `expectEverySeconds`. The minimum is a minute, because the sweep runs once a minute.
    pub const EXPECT_EVERY: Range = Range::new(60, YEAR);
    /// Range of `maxQueue`.
    pub const MAX_QUEUE: Range = Range::new(1, QUEUE_MAX as u32);
    /// Range of `noProgressSeconds`.
    pub const NO_PROGRESS: Range = Range::new(1, YEAR);

    /// Returns every option that is a number: its field, its range, and its value if it is given.
    #[must_use]
    pub const fn numbers(&self) -> [(&'static str, Range, Option<i64>); 9] {
        [
            ("permits", Self::PERMITS, self.permits),
            ("leaseSeconds", Self::LEASE, self.lease_seconds),
            ("heartbeatSeconds", Self::HEARTBEAT, self.heartbeat_seconds),
            (
                "maxHeartbeatSeconds",
                Self::MAX_HEARTBEAT,
                self.max_heartbeat_seconds,
            ),
            ("maxRunSeconds", Self::MAX_RUN, self.max_run_seconds),
            (
                "minIntervalSeconds",
                Self::MIN_INTERVAL,
                self.min_interval_seconds,
            ),
            (
                "expectEverySeconds",
                Self::EXPECT_EVERY,
                self.expect_every_seconds,
            ),
            ("maxQueue", Self::MAX_QUEUE, self.max_queue),
            (
                "noProgressSeconds",
                Self::NO_PROGRESS,
                self.no_progress_seconds,
            ),
        ]
    }
}

/// Reads a `T` from one of its words, a JSON string.
///
/// serde itself also accepts `{"skip": null}` for `"skip"`, and its error for a value that is not a string
/// names neither the value nor the words.
///
/// # Errors
/// An error that names the value and the words that are allowed.
pub fn word<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    let text = match Value::deserialize(from)? {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let text: StringDeserializer<D::Error> = text.into_deserializer();
    T::deserialize(text)
}

/// Reads a `T` as [`word`] does, for a field that may be left out.
///
/// # Errors
/// As [`word`].
pub(super) fn given_word<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    word(from).map(Some)
}

/// Reads a `T` as [`word`] does, for a field that may be left out or `null`.
///
/// # Errors
/// As [`word`].
pub fn word_or_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        given => given_word(given).map_err(serde::de::Error::custom),
    }
}

/// Reads an option that may be left out, but not be `null`.
pub(super) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}
