//! Settings from the environment, read once and checked together.

mod runbook;

pub use runbook::RunbookUrl;

use lockstep_core::domain::{Retention, Seconds};
use std::fmt;

/// Every environment variable that a function reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Name of the lock table.
    Table,
    /// Days for which the history keeps an ended run: 1 to 365, default 14.
    RunRetentionDays,
    /// Days for which a success keeps its run key taken: 1 to 365. 0, the default, stands for the days of the
    /// history.
    RunKeyRetentionDays,
    /// `true` adds the lock as a dimension to every metric; default `false`. Each lock then costs
    /// up to three custom metrics a month.
    MetricsPerLock,
    /// Name or ARN of the event bus that receives the events; default `default`.
    EventBus,
    /// `true` publishes the start and the end of each run; default `false`. Each costs one more request to
    /// EventBridge.
    RunEvents,
    /// Address of the runbook that messages link to: [`RunbookUrl::RULE`]. Empty, the default, for no link.
    RunbookUrl,
    /// Name of the log group that keeps the events, for the history. Set for view and operate.
    EventLogGroup,
    /// `true` refuses acts that write; default `false`. Set for view.
    ReadOnly,
    /// ARN of the function operate, which the buttons of pages call. Set for view. Without it, the pages of
    /// view have no buttons that change anything.
    OperateFunction,
    /// Lowest log level: error, warn, info, debug or trace; default info.
    Log,
}

impl Key {
    /// All keys.
    pub const ALL: [Self; 11] = [
        Self::Table,
        Self::RunRetentionDays,
        Self::RunKeyRetentionDays,
        Self::MetricsPerLock,
        Self::EventBus,
        Self::RunEvents,
        Self::RunbookUrl,
        Self::EventLogGroup,
        Self::ReadOnly,
        Self::OperateFunction,
        Self::Log,
    ];

    /// Returns the name of the variable.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "LOCKSTEP_TABLE",
            Self::RunRetentionDays => "LOCKSTEP_RUN_RETENTION_DAYS",
            Self::RunKeyRetentionDays => "LOCKSTEP_RUN_KEY_RETENTION_DAYS",
            Self::MetricsPerLock => "LOCKSTEP_METRICS_PER_LOCK",
            Self::EventBus => "LOCKSTEP_EVENT_BUS",
            Self::RunEvents => "LOCKSTEP_RUN_EVENTS",
            Self::RunbookUrl => "LOCKSTEP_RUNBOOK_URL",
            Self::EventLogGroup => "LOCKSTEP_EVENT_LOG_GROUP",
            Self::ReadOnly => "LOCKSTEP_READ_ONLY",
            Self::OperateFunction => "LOCKSTEP_OPERATE_FUNCTION",
            Self::Log => "LOCKSTEP_LOG",
        }
    }
}

/// The settings of a function that works on the lock table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Name or ARN of the lock table.
    pub table: String,
    /// How long ended runs and run keys are kept.
    pub retention: Retention,
    /// Whether metrics carry the lock as a dimension.
    pub metrics_per_lock: bool,
    /// Name or ARN of the event bus that receives the events.
    pub event_bus: String,
    /// Whether the start and the end of each run are published as events.
    pub run_events: bool,
    /// The runbook that messages link to.
    pub runbook: Option<RunbookUrl>,
    /// Name of the log group that keeps the events.
    pub event_log_group: Option<String>,
    /// Whether acts that write are refused.
    pub read_only: bool,
    /// ARN of operate, for the pages of view.
    pub operate_function: Option<String>,
}

/// The variables that are missing or not valid, one sentence for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(Vec<String>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the environment is not valid: {}", self.0.join("; "))
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Returns the name of the lock table, also if the setting is its ARN. Events and metrics carry the name,
    /// by which the rules and alarms of a stack select their own.
    #[must_use]
    pub fn table_name(&self) -> &str {
        let of_arn = self.table.rsplit_once(":table/");
        of_arn.map_or(&self.table, |(_, name)| name)
    }

    /// Reads the settings through `lookup`.
    ///
    /// # Errors
    /// [`ConfigError`] with every fault, not only the first.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut faults = Vec::new();
        let table = lookup(Key::Table.name()).filter(|name| !name.is_empty());
        if table.is_none() {
            faults.push(format!(
                "{} is missing, but must be the name of the lock table",
                Key::Table.name()
            ));
        }
        let mut days = |key: Key, default: &str, least: u32| {
            let (name, given) = (key.name(), lookup(key.name()));
            let given = given.unwrap_or_else(|| default.into());
            let days = given.parse().ok();
            let days = days.filter(|days| (least..=365).contains(days));
            if days.is_none() {
                faults.push(format!(
                    "{name} is {given:?}, but must be a number of days from {least} to 365"
                ));
            }
            Seconds::of(days.unwrap_or_default() * 86_400)
        };
        let history = days(Key::RunRetentionDays, "14", 1);
        let run_keys = days(Key::RunKeyRetentionDays, "0", 0);
        let run_keys = match run_keys.get() {
            0 => history,
            _ => run_keys,
        };
        let mut switch = |key: Key| {
            let (name, given) = (key.name(), lookup(key.name()));
            let given = given.unwrap_or_else(|| "false".into());
            if !matches!(given.as_str(), "true" | "false") {
                faults.push(format!("{name} is {given:?}, but must be true or false"));
            }
            given == "true"
        };
        let metrics_per_lock = switch(Key::MetricsPerLock);
        let run_events = switch(Key::RunEvents);
        let read_only = switch(Key::ReadOnly);
        let text = |key: Key| lookup(key.name()).filter(|value| !value.is_empty());
        let event_bus = text(Key::EventBus);
        let runbook_url = text(Key::RunbookUrl);
        let runbook = runbook_url.as_deref().and_then(RunbookUrl::new);
        if let Some(url) = runbook_url.filter(|_| runbook.is_none()) {
            let (name, rule) = (Key::RunbookUrl.name(), RunbookUrl::RULE);
            faults.push(format!("{name} is {url:?}, but must be {rule}"));
        }
        match table {
            Some(table) if faults.is_empty() => Ok(Self {
                table,
                retention: Retention { history, run_keys },
                metrics_per_lock,
                event_bus: event_bus.unwrap_or_else(|| "default".into()),
                run_events,
                runbook,
                event_log_group: text(Key::EventLogGroup),
                read_only,
                operate_function: text(Key::OperateFunction),
            }),
            _ => Err(ConfigError(faults)),
        }
    }

    /// Reads the settings from the process environment.
    ///
    /// # Errors
    /// As [`Self::from_lookup`].
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_lookup(variable)
    }
}

/// Returns one variable of the process environment; `None` if it is not set, empty or not UTF-8.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
#[must_use]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_table_has_no_default() {
        let only_table = |key: &str| (key == "LOCKSTEP_TABLE").then(|| "locks".to_owned());

        let config = Config::from_lookup(only_table).unwrap();

        assert_eq!(config.retention, Retention::both(Seconds::of(14 * 86_400)));
        assert!(!config.metrics_per_lock && !config.read_only);
    }

    #[test]
    fn a_table_that_is_named_by_its_arn_has_the_same_name() {
        let arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/locks";
        for table in ["locks", arn] {
            let given = |key: &str| (key == "LOCKSTEP_TABLE").then(|| table.to_owned());

            let config = Config::from_lookup(given).unwrap();

            assert_eq!(
                (config.table.as_str(), config.table_name()),
                (table, "locks")
            );
        }
    }

    #[test]
    fn run_keys_are_kept_as_long_as_the_history_by_default() {
        for (history, run_keys, expected) in [("90", "0", 90), ("90", "2", 2), ("2", "90", 90)] {
            let given = |key: &str| match key {
                "LOCKSTEP_TABLE" => Some("locks".to_owned()),
                "LOCKSTEP_RUN_RETENTION_DAYS" => Some(history.to_owned()),
                "LOCKSTEP_RUN_KEY_RETENTION_DAYS" => Some(run_keys.to_owned()),
                _ => None,
            };

            let retention = Config::from_lookup(given).unwrap().retention;

            let days = [retention.history, retention.run_keys].map(|kept| kept.get() / 86_400);
            assert_eq!(days, [history.parse().unwrap(), expected]);
        }
    }

    #[test]
    fn every_fault_is_named_at_once_with_key_and_value() {
        let bad = |key: &str| match key {
            "LOCKSTEP_RUN_RETENTION_DAYS" => Some("0".to_owned()),
            "LOCKSTEP_METRICS_PER_LOCK" => Some("yes".to_owned()),
            "LOCKSTEP_READ_ONLY" => Some("1".to_owned()),
            "LOCKSTEP_RUNBOOK_URL" => Some("wiki".to_owned()),
            _ => None,
        };

        let text = Config::from_lookup(bad).unwrap_err().to_string();

        for part in r#"LOCKSTEP_TABLE LOCKSTEP_RUN_RETENTION_DAYS LOCKSTEP_READ_ONLY LOCKSTEP_RUNBOOK_URL "0" "yes" "1" "wiki""#
            .split(' ')
        {
            assert!(text.contains(part), "{part} not in: {text}");
        }
    }
}
