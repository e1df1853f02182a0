//! The options of a woven definition, and the Comment that keeps them.

use crate::Error;
use crate::document::Document;
use lockstep::contract::{
    AcquireRequest, CatchUp, ExclusiveRunInput, InvalidRequest, LockOptions, OnPaused, OnSkip,
    Overlap, fields_of, parse_both,
};
use lockstep::domain::{Retention, Seconds};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The beginning of the Comment of the first woven state. The flags follow it.
const MARK: &str = "lockstep weave";

/// The flags of `lockstep weave`. The names of the flags are the names of these fields in kebab case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Options {
    /// The lock: a name, or a JSONata expression over `$states.input`, as in `{% $states.input.lock %}`.
    pub lock: String,
    /// First state of the section that is the work; `None` for the first state of the definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Last state of the section; `None` if the section contains every state that follows its first state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The options of the lock, which are checked by the rules of acquire-lock. `runKey` may be a JSONata
    /// expression over `$states.input`. `noProgressSeconds` is refused, because states report no progress.
    #[serde(flatten, skip_deserializing)]
    pub options: LockOptions,
    /// Longest wait in the queue, 1 to 31,536,000 seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<i64>,
    /// Seconds after which a waiting state registers again, 5 to 3,600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_interval_seconds: Option<i64>,
    /// How an execution ends that does not get the lock. `None` means [`OnSkip::Succeed`] for a whole
    /// definition and [`OnSkip::Fail`] for a section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_skip: Option<OnSkip>,
    /// The text that replaces each `${NAME}` in the woven states. A `${NAME}` that is not listed here stays,
    /// except `${Partition}`, which becomes `aws`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
}

impl Options {
    /// Returns whether the work is a section of the definition, and not all of it.
    #[must_use]
    pub fn is_section(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// Returns whether a run may wait in the queue for a permit.
    pub(crate) fn may_wait(&self) -> bool {
        matches!(self.options.overlap(), Overlap::Queue | Overlap::Replace)
    }

    /// Returns whether a run waits until a paused lock is resumed.
    pub(crate) fn waits_paused(&self) -> bool {
        self.options.on_paused == Some(OnPaused::Wait)
            || self.options.catch_up == Some(CatchUp::Once)
    }

    pub(crate) fn on_skip(&self) -> OnSkip {
        let default = match self.is_section() {
            true => OnSkip::Fail,
            false => OnSkip::Succeed,
        };
        self.on_skip.unwrap_or(default)
    }

    /// Returns the fields of the request that do not depend on the execution, in their order. `maxQueue` is
    /// left out, because only the request of a waiting run contains it.
    pub(crate) fn request(&self) -> Vec<(&'static str, Value)> {
        let given = json!(self.options);
        let names = fields_of::<LockOptions>().iter().copied();
        let options = names
            .filter(|name| *name != "maxQueue")
            .filter_map(|name| Some((name, given.get(name)?.clone())));
        let lock = ("lock", json!(self.lock));
        [lock].into_iter().chain(options).collect()
    }

    /// Checks every option.
    ///
    /// # Errors
    /// [`Error::Option`] with the flag, its value and the rule.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(given) = self.options.no_progress_seconds {
            return Err(Error::Option(format!(
                "--no-progress-seconds is {given}, but must be left out: states report no progress"
            )));
        }
        // No rule of a request depends on the retention.
        let retention = Retention::both(Seconds::of(1));
        let request = AcquireRequest {
            options: LockOptions {
                run_key: self.options.run_key.as_deref().map(constant),
                ..self.options.clone()
            },
            ..AcquireRequest::new(constant(&self.lock), "execution")
        };
        // These are the rules of acquire-lock itself, so that a wrong flag is refused here and not when the
        // workflow runs.
        let checked = request.check(retention);
        checked.map_err(|wrong| Error::Option(of_flag(&wrong)))?;
        let waits = [
            ("waitSeconds", ExclusiveRunInput::WAIT, self.wait_seconds),
            (
                "waitIntervalSeconds",
                ExclusiveRunInput::WAIT_INTERVAL,
                self.wait_interval_seconds,
            ),
        ];
        for (field, range, value) in waits {
            let Some(value) = value else { continue };
            if !self.may_wait() && !self.waits_paused() {
                let rule = "given only with --overlap queue or replace, --on-paused wait or --catch-up once";
                return Err(Error::Option(of_flag(&InvalidRequest::new(
                    field, value, rule,
                ))));
            }
            let checked = range.check(field, value);
            checked.map_err(|wrong| Error::Option(of_flag(&wrong)))?;
        }
        Ok(())
    }

    /// Returns the Comment of the first woven state: the command that weaves the definition.
    ///
    /// The command is quoted for a shell, so a person can copy it from the definition and run it. Fields and
    /// flags have the same names, so [`Self::of_comment`] reads the flags back into the fields.
    pub(crate) fn comment(&self) -> Result<String, Error> {
        let unwritable = |why: String| Error::Option(format!("an option cannot be written: {why}"));
        let text = serde_json::to_string(self).map_err(|error| unwritable(error.to_string()))?;
        let fields = Document::parse(&text)?;
        let mut words: Vec<String> = MARK.split(' ').map(str::to_owned).collect();
        for field in fields.root.entries() {
            let flag = flag(&field.name);
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

    /// Parses a Comment that [`Self::comment`] wrote; `None` for any other Comment.
    pub(crate) fn of_comment(comment: &str) -> Option<Self> {
        let flags = comment.strip_prefix(MARK)?;
        let words = shlex::split(flags)?;
        let mut fields = Map::new();
        let mut set = Map::new();
        for pair in words.chunks(2) {
            let [flag, value] = pair else { return None };
            match (flag.strip_prefix("--")?, value.split_once('=')) {
                ("set", Some((name, value))) => {
                    set.insert(name.to_owned(), json!(value));
                }
                (name, _) => {
                    let name = field(name);
                    let value = match is_number(&name) {
                        true => json!(value.parse::<i64>().ok()?),
                        false => json!(value),
                    };
                    fields.insert(name, value);
                }
            }
        }
        fields.insert("set".into(), set.into());
        let (own, options) = parse_both::<Self, LockOptions>(fields.into()).ok()?;
        Some(Self { options, ..own })
    }
}

/// Returns whether a field is a number. A Comment contains numbers as text.
fn is_number(field: &str) -> bool {
    let own = ["waitSeconds", "waitIntervalSeconds"];
    let options = LockOptions::default().numbers();
    own.contains(&field) || options.iter().any(|(name, ..)| *name == field)
}

/// Returns whether `text` is a JSONata expression.
pub(crate) fn is_expression(text: &str) -> bool {
    text.starts_with("{%") && text.ends_with("%}")
}

/// Returns the text to check by the rules of the contract. The value of an expression or of a `${…}` is not
/// known yet, so a valid word replaces it.
fn constant(text: &str) -> String {
    match is_expression(text) || text.contains("${") {
        true => "computed".to_owned(),
        false => text.to_owned(),
    }
}

/// Returns the flag of a field, such as `--run-key` for `runKey`.
fn flag(field: &str) -> String {
    let mut flag = String::from("--");
    for c in field.chars() {
        if c.is_ascii_uppercase() {
            flag.push('-');
        }
        flag.push(c.to_ascii_lowercase());
    }
    flag
}

/// Returns the field of a flag, such as `runKey` for `run-key`.
fn field(flag: &str) -> String {
    let mut words = flag.split('-');
    let mut field = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        field.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        field.push_str(letters.as_str());
    }
    field
}

/// Returns the error of the contract with the name of the flag instead of the field.
fn of_flag(wrong: &InvalidRequest) -> String {
    let flag = flag(&wrong.field);
    format!("{flag} is {}, but must be {}", wrong.value, wrong.rule)
}
