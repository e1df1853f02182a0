//! What a woven definition asks for.

use crate::Error;
use crate::document::Document;
use lockstep::contract::{AcquireRequest, CatchUp, InvalidRequest, OnPaused, Overlap, Stale};
use lockstep::domain::{Retention, Seconds};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Longest `--wait-seconds`: one year, the longest Standard execution
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html>).
const WAIT_MAX: i64 = 31_536_000;
/// Shortest and longest `--wait-interval-seconds`, as of exclusive-run's `waitIntervalSeconds`.
const INTERVAL: (i64, i64) = (5, 3_600);
/// What begins the Comment of the first woven state; the flags follow.
const MARK: &str = "lockstep weave";

/// What becomes of an execution that does not get the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnSkip {
    /// It succeeds, with the answer of acquire-lock as its output.
    Succeed,
    /// It fails with `Lockstep.LockHeld`.
    Fail,
}

/// The flags of `lockstep weave`. Those that acquire-lock has are checked by its rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Options {
    /// The lock: a name, or a JSONata expression over `$states.input`, as in `{% $states.input.lock %}`.
    pub lock: String,
    /// First state of the section that is the work; `None` is the first of the definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Last state of the section; `None` is every state that follows the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Capacity of the lock, 1 to 100.
    #[serde(
        default,
        deserialize_with = "whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub permits: Option<i64>,
    /// What an execution does at a lock without a free permit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    /// What an execution does at a paused lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_paused: Option<OnPaused>,
    /// What becomes of the executions that are skipped while the lock is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<CatchUp>,
    /// Length of the lease, 3 to 86,400 seconds.
    #[serde(
        default,
        deserialize_with = "whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub lease_seconds: Option<i64>,
    /// Seconds between heartbeats, at least two below the lease.
    #[serde(
        default,
        deserialize_with = "whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub heartbeat_seconds: Option<i64>,
    /// Longest time between heartbeats, which come less often the longer a run lasts, 1 to 28,799 seconds.
    #[serde(
        default,
        deserialize_with = "whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_heartbeat_seconds: Option<i64>,
    /// Longest time of a run, 1 to 31,536,000 seconds.
    #[serde(
        default,
        deserialize_with = "whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_run_seconds: Option<i64>,
    /// What happens to a run that stops renewing or overruns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_policy: Option<Stale>,
    /// Idempotency key of the trigger: a text, or a JSONata expression over `$states.input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// Least seconds between two grants of the lock, 1 to 2,678,400.
    #[serde(
        default,
        deserialize_with = "whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub min_interval_seconds: Option<i64>,
    /// A run of the lock is expected to succeed this often, in seconds, 60 to 31,536,000.
    #[serde(
        default,
        deserialize_with = "whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub expect_every_seconds: Option<i64>,
    /// Most waiters in the queue, 1 to 500.
    #[serde(
        default,
        deserialize_with = "whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_queue: Option<i64>,
    /// Longest wait in the queue, 1 to 31,536,000 seconds.
    #[serde(
        default,
        deserialize_with = "whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub wait_seconds: Option<i64>,
    /// Seconds after which a waiting state registers again, 5 to 3,600.
    #[serde(
        default,
        deserialize_with = "whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub wait_interval_seconds: Option<i64>,
    /// What becomes of an execution that does not get the lock. `None` is [`OnSkip::Succeed`] for a whole
    /// definition and [`OnSkip::Fail`] for a section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_skip: Option<OnSkip>,
    /// What stands in place of `${NAME}` in the woven states; what is not here stays as it is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
}

/// A number, also as the text that a flag has.
///
/// [`Options::of_comment`] has every value as text.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Number(i64),
        Text(String),
    }
    match Given::deserialize(from)? {
        Given::Number(number) => Ok(Some(number)),
        Given::Text(text) => text.parse().map(Some).map_err(serde::de::Error::custom),
    }
}

impl Options {
    /// Whether the work is less than the whole definition.
    #[must_use]
    pub fn is_section(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// Whether a run may wait for its turn.
    pub(crate) fn may_wait(&self) -> bool {
        matches!(self.overlap, Some(Overlap::Queue | Overlap::Replace))
    }

    /// Whether a run waits for the resume of a paused lock.
    pub(crate) fn waits_paused(&self) -> bool {
        self.on_paused == Some(OnPaused::Wait) || self.catch_up == Some(CatchUp::Once)
    }

    pub(crate) fn on_skip(&self) -> OnSkip {
        let default = match self.is_section() {
            true => OnSkip::Fail,
            false => OnSkip::Succeed,
        };
        self.on_skip.unwrap_or(default)
    }

    /// The fields of the request that do not depend on the execution, in their order.
    pub(crate) fn request(&self) -> Vec<(&'static str, Value)> {
        let fields = [
            ("lock", Some(json!(self.lock))),
            ("runKey", self.run_key.as_ref().map(|key| json!(key))),
            ("permits", self.permits.map(Value::from)),
            ("overlap", self.overlap.map(|overlap| json!(overlap))),
            ("onPaused", self.on_paused.map(|policy| json!(policy))),
            ("catchUp", self.catch_up.map(|policy| json!(policy))),
            ("leaseSeconds", self.lease_seconds.map(Value::from)),
            ("heartbeatSeconds", self.heartbeat_seconds.map(Value::from)),
            (
                "maxHeartbeatSeconds",
                self.max_heartbeat_seconds.map(Value::from),
            ),
            ("maxRunSeconds", self.max_run_seconds.map(Value::from)),
            ("stalePolicy", self.stale_policy.map(|policy| json!(policy))),
            (
                "minIntervalSeconds",
                self.min_interval_seconds.map(Value::from),
            ),
            (
                "expectEverySeconds",
                self.expect_every_seconds.map(Value::from),
            ),
        ];
        let given = fields.into_iter();
        given
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    /// Checks every option.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let mut request: Map<_, _> = self
            .request()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), constant(value)))
            .collect();
        request.insert("holder".into(), json!("execution"));
        if let Some(most) = self.max_queue {
            request.insert("maxQueue".into(), json!(most));
        }
        // No rule of a request depends on the retention.
        // The rules of acquire-lock itself, so that a flag is refused here and not when the
        // workflow runs.
        let checked = AcquireRequest::read(request.into(), Retention::both(Seconds::of(1)));
        checked.map_err(|wrong| Error::Option(of_flag(&wrong)))?;
        let waits = [
            ("--wait-seconds", self.wait_seconds, (1, WAIT_MAX)),
            (
                "--wait-interval-seconds",
                self.wait_interval_seconds,
                INTERVAL,
            ),
        ];
        for (flag, value, (least, most)) in waits {
            let Some(value) = value else { continue };
            if !self.may_wait() && !self.waits_paused() {
                let rule = "given only with --overlap queue or replace, --on-paused wait or --catch-up once";
                return Err(Error::Option(format!(
                    "{flag} is {value}, but must be {rule}"
                )));
            }
            if !(least..=most).contains(&value) {
                let rule = format!("a whole number of seconds from {least} to {most}");
                return Err(Error::Option(format!(
                    "{flag} is {value}, but must be {rule}"
                )));
            }
        }
        Ok(())
    }

    /// The Comment of the first woven state: the command that writes it.
    ///
    /// A person can copy it from the definition and run it: it is quoted for a shell. Fields and
    /// flags have the same names, so both directions follow from the type.
    pub(crate) fn comment(&self) -> Result<String, Error> {
        let unwritable = |why: String| Error::Option(format!("an option cannot be written: {why}"));
        let text = serde_json::to_string(self).map_err(|error| unwritable(error.to_string()))?;
        let fields = Document::parse(&text)?;
        let mut words: Vec<String> = MARK.split(' ').map(str::to_owned).collect();
        for field in fields.root.entries() {
            let flag = format!("--{}", field.name);
            match field.value.text() {
                Some(value) => words.extend([flag, value.to_owned()]),
                None => words.extend(
                    self.set
                        .iter()
                        .flat_map(|(name, value)| [flag.clone(), format!("{name}={value}")]),
                ),
            }
        }
        let joined = shlex::try_join(words.iter().map(String::as_str));
        joined.map_err(|error| unwritable(error.to_string()))
    }

    /// Reads a Comment that [`Self::comment`] wrote; `None` if it is another one.
    pub(crate) fn of_comment(comment: &str) -> Option<Self> {
        let flags = comment.strip_prefix(MARK)?;
        let words = shlex::split(flags)?;
        let mut options = Map::new();
        let mut set = Map::new();
        for pair in words.chunks(2) {
            let [flag, value] = pair else { return None };
            match (flag.strip_prefix("--")?, value.split_once('=')) {
                ("set", Some((name, value))) => {
                    set.insert(name.to_owned(), json!(value));
                }
                (name, _) => {
                    options.insert(name.to_owned(), json!(value));
                }
            }
        }
        options.insert("set".into(), set.into());
        serde_json::from_value(options.into()).ok()
    }
}

/// Whether `text` is a JSONata expression.
pub(crate) fn is_expression(text: &str) -> bool {
    text.starts_with("{%") && text.ends_with("%}")
}

/// What the contract can check of a value: of an expression or a substitution nothing.
fn constant(value: Value) -> Value {
    match value.as_str() {
        Some(text) if is_expression(text) || text.contains("${") => json!("computed"),
        _ => value,
    }
}

/// The contract's sentence with flags in place of fields.
fn of_flag(wrong: &InvalidRequest) -> String {
    let mut flag = String::from("--");
    for c in wrong.field.chars() {
        if c.is_ascii_uppercase() {
            flag.push('-');
        }
        flag.push(c.to_ascii_lowercase());
    }
    format!("{flag} is {}, but must be {}", wrong.value, wrong.rule)
}
