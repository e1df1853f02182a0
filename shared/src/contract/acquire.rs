//! The request of acquire-lock.
//!
//! All fields are checked before anything is written. The error names the first field that breaks a rule,
//! its value and the rule. A field that has no effect beside the other fields is refused: a `waitUntil` of a
//! run that does not wait is a mistake that would show only on a full lock.

use super::options::{CheckedOptions, LockOptions};
use super::parse::{self, InvalidRequest, object_or_null, parse_time, quoted, redrives, text};
use super::policy::{OnPaused, Overlap, WhenQueueFull};
use super::redrive::Redrive;
use super::work::WorkPlace;
use lockstep_core::domain::{
    Acquire, Command, ExecutionArn, HolderId, LockKey, Renew, Retention, TaskToken, Terms,
    Timestamp,
};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Request of acquire-lock: take a permit of a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcquireRequest {
    /// The lock.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub lock: String,
    /// The holder of the permit: the ARN of an execution of a Standard workflow, plus `#suffix` where one
    /// execution holds several permits; the ARN of a task, plus `#container/id`; or a name that the caller
    /// chooses.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub holder: String,
    /// The options of the lock. [`Self::read`] reads them, because serde accepts unknown fields beside a
    /// flattened type.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub options: LockOptions,
    /// With `overlap` `skip`: whether the caller waits after the answer `skipped`. That answer is then
    /// neither counted nor reported as a skipped run, unless it has `paused`. The default of `onPaused`
    /// is then `fail`. Default false.
    #[serde(default)]
    pub may_wait: bool,
    /// Whether the caller waits after the answer `skipped` with `ending`. That answer is then neither counted
    /// nor reported as a skipped run. Default false.
    #[serde(default)]
    pub wait_for_ending: bool,
    /// The task token of the state that waits for the permit. Given only with `overlap` `queue` or `replace`,
    /// `onPaused` `wait` or `catchUp` `once`. When the permit is handed over, the state ends with the answer
    /// that this request would get at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 2048)))]
    pub task_token: Option<String>,
    /// When the caller stops waiting: a time as in 2026-03-01T06:00:00Z. Given only where `taskToken` may be
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_until: Option<String>,
    /// Where the run's work is found, so that Lockstep can see whether it runs, and stop it.
    #[serde(
        default,
        deserialize_with = "object_or_null",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<WorkPlace>"))]
    pub work: Option<WorkPlace>,
    /// The execution that started the holder's execution. A holder with the same parent counts as an earlier
    /// attempt of the same run: acquire-lock checks at once whether it still runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub parent: Option<String>,
    /// How often the holder's execution has been redriven: `Execution.RedriveCount` of the Context
    /// object. Evidence from before that redrive no longer counts. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1000)))]
    pub redrive_count: Option<i64>,
    /// For a redriven execution: the grant that it resumes. The answer is `alreadyHeld` once no work of its
    /// last attempt runs, or `finished` if that work succeeded.
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
    /// Whether the answer at a full queue is `skipped`.
    pub skips_full_queue: bool,
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
    /// Creates the request of `holder` for a permit of `lock`, with every other field at its default.
    #[must_use]
    pub fn new(lock: impl Into<String>, holder: impl Into<String>) -> Self {
        Self {
            lock: lock.into(),
            holder: holder.into(),
            ..Self::default()
        }
    }

    /// Reads and checks a request.
    ///
    /// # Errors
    /// [`InvalidRequest`].
    pub fn read(
        json: serde_json::Value,
        retention: Retention,
    ) -> Result<CheckedAcquire, InvalidRequest> {
        let (request, options) = parse::parse_both::<Self, LockOptions>(json)?;
        Self { options, ..request }.check(retention)
    }

    /// Checks every field. The history keeps the run for `retention` after its end.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(self, retention: Retention) -> Result<CheckedAcquire, InvalidRequest> {
        let options = self.options.check(self.may_wait, self.work.is_some())?;
        let (when_full, when_paused) = (options.when_full, options.when_paused);
        self.check_waiting()?;
        let lock = text("lock", &self.lock, LockKey::new)?;
        let terms = self.terms(options, retention)?;
        let resume = self
            .redrive
            .clone()
            .map(|redrive| redrive.check(&lock, &terms));
        // The error hides the task token. It is written to the execution's history and to the log, and
        // whoever has the token and may call SendTaskSuccess can end the state.
        let hidden = |_| InvalidRequest::new("taskToken", "(hidden)", TaskToken::RULE);
        Ok(CheckedAcquire {
            lock,
            overlap: self.options.overlap(),
            skips_paused: self.options.on_paused(self.may_wait) == OnPaused::Skip,
            skips_full_queue: self.options.when_queue_full == Some(WhenQueueFull::Skip),
            may_wait: self.may_wait,
            wait_for_ending: self.wait_for_ending,
            resume: resume.transpose()?,
            acquire: Acquire {
                terms,
                when_full,
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

    fn terms(
        &self,
        options: CheckedOptions,
        retention: Retention,
    ) -> Result<Terms, InvalidRequest> {
        Ok(Terms {
            holder: self.holder()?,
            permits: options.permits,
            lease: options.lease,
            heartbeat: options.heartbeat,
            max_run: options.max_run,
            no_progress: options.no_progress,
            stale: options.stale,
            min_interval: options.min_interval,
            expect_every: options.expect_every,
            run_key: options.run_key,
            work: self.work.as_ref().map(WorkPlace::check).transpose()?,
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
        // DescribeExecution does not accept the ARN of an Express execution, so only the end of its lease
        // would free its permit.
        if ExecutionArn::is_express(&holder) {
            let rule = "an execution of a Standard workflow: DescribeExecution does not describe an execution of an \
                        Express workflow, so its end cannot be seen";
            return Err(InvalidRequest::new("holder", quoted(&self.holder), rule));
        }
        Ok(holder)
    }

    /// Rejects `taskToken` and `waitUntil` of a run that does not wait.
    fn check_waiting(&self) -> Result<(), InvalidRequest> {
        if self.options.waits(self.may_wait) {
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
