//! The lines that containers write.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A line of the guarded command. The lines of `lockstep` are JSON too, with a `level`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Logged {
    /// When, in epoch milliseconds.
    #[serde(default)]
    pub(super) at: u64,
    /// What.
    pub(super) event: String,
    /// The variables that a batch reports at its start, or what a script has to say.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
}

impl Logged {
    /// Those among `lines`.
    pub(super) fn all(lines: &[String]) -> Vec<Self> {
        let own = lines.iter().filter(|line| !line.contains("\"level\":"));
        let logged = own.map(|line| serde_json::from_str(line));
        logged.filter_map(Result::ok).collect()
    }

    /// What it says under a name; empty for nothing.
    pub(super) fn value(&self, name: &str) -> &str {
        self.env.get(name).map_or("", String::as_str)
    }

    /// The fencing token that a batch was given.
    pub(super) fn token(&self) -> u64 {
        let token = self.value("LOCKSTEP_FENCING_TOKEN").parse();
        token.unwrap_or_else(|_| panic!("no token in {self:?}"))
    }
}
