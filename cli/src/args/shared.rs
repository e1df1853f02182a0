//! Flags shared by several commands.

use crate::platform::env::variable;
use crate::platform::signals::SignalScope;
use crate::protect::Mode;
use clap::Args;
use lockstep::config::{Config, Key};

/// The lock table.
#[derive(Debug, Args)]
pub(crate) struct TableArg {
    /// Name of the lock table
    #[arg(
        long,
        env = "LOCKSTEP_TABLE",
        value_name = "NAME",
        hide_env_values = true
    )]
    table: Option<String>,
}

impl TableArg {
    /// The settings in the environment; the flag overrides the table.
    ///
    /// # Errors
    /// All errors in the environment.
    pub(crate) fn config(&self) -> Result<Config, String> {
        let config = Config::from_lookup(|name| {
            let chosen = self.table.clone().filter(|_| name == Key::Table.name());
            chosen.or_else(|| variable(name))
        });
        let config = config.map_err(|error| format!("{error} (or --table)"))?;
        if !is_table(&config.table) {
            let name = &config.table;
            return Err(format!(
                "LOCKSTEP_TABLE (or --table) is {name:?}, but must be {TABLE_RULE}"
            ));
        }
        Ok(config)
    }
}

/// The rule for the name of a table
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html>).
const TABLE_RULE: &str = "3 to 255 of A-Z a-z 0-9 _ . -, or the ARN of a table";

fn is_table(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let is_name = |name: &str| (3..=255).contains(&name.len()) && name.chars().all(is_part);
    match name.strip_prefix("arn:") {
        Some(rest) => {
            let name = rest.rsplit_once(":table/").map(|(_, name)| name);
            name.is_some_and(is_name)
        }
        None => is_name(name),
    }
}

/// Task scale-in protection.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ProtectArg {
    /// Protect the ECS task from scale-in and deployments while work is in flight
    #[arg(long, value_enum, value_name = "MODE", num_args = 0..=1, require_equals = true,
          default_value = "off", default_missing_value = "best-effort")]
    pub(crate) protect: Mode,
}

/// Which processes get the signal of a stop.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ScopeArg {
    /// Which processes get a signal while the first one lives; those left after its end get SIGTERM in any case
    #[arg(long, value_enum, value_name = "SCOPE", default_value_t = SignalScope::Group)]
    pub(crate) signal_scope: SignalScope,
}

#[cfg(test)]
mod tests {
    use super::is_table;

    #[test]
    fn a_table_has_a_name_or_an_arn() {
        let table = |name| format!("arn:aws:dynamodb:eu-west-1:111122223333:table/{name}");
        for good in ["locks", "a.b_c-D9", &table("locks")] {
            assert!(is_table(good), "{good}");
        }
        let (none, queue) = (table(""), "arn:aws:sqs:eu-west-1:111122223333:locks");
        for bad in ["ab", "lock table", "locks!", &none, queue, &"a".repeat(256)] {
            assert!(!is_table(bad), "{bad}");
        }
    }
}
