//! Flags shared by several commands.

use super::table::Table;
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
    /// Reads the settings from the environment. `--table` overrides `LOCKSTEP_TABLE`.
    ///
    /// # Errors
    /// Every fault of the settings, or the rule that the name of the table breaks.
    pub(crate) fn config(&self) -> Result<Config, String> {
        let config = Config::from_lookup(|name| {
            let chosen = self.table.clone().filter(|_| name == Key::Table.name());
            chosen.or_else(|| variable(name))
        });
        let config = config.map_err(|error| format!("{error} (or --table)"))?;
        Table::of(&config.table)?;
        Ok(config)
    }
}

/// Task scale-in protection.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ProtectArg {
    /// Protect the ECS task from scale-in and deployments while work is in flight. --protect alone is
    /// best-effort
    #[arg(long, value_enum, value_name = "MODE", num_args = 0..=1, require_equals = true,
          default_value = "off", default_missing_value = "best-effort")]
    pub(crate) protect: Mode,
}

/// Which processes get the signal that stops the command.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ScopeArg {
    /// Which processes get a signal while the first process lives; processes that outlive it always get
    /// SIGTERM
    #[arg(long, value_enum, value_name = "SCOPE", default_value_t = SignalScope::Group)]
    pub(crate) signal_scope: SignalScope,
}
