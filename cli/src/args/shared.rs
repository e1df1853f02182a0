//! Flags that several commands have.

use crate::protect::Mode;
use crate::sys::env::variable;
use clap::Args;
use lockstep::config::{Config, Key};

/// Where the locks are.
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
    /// The settings, of which the table may be a flag.
    ///
    /// # Errors
    /// All that is wrong with the environment.
    pub(crate) fn config(&self) -> Result<Config, String> {
        let config = Config::from_lookup(|name| {
            let chosen = self.table.clone().filter(|_| name == Key::Table.name());
            chosen.or_else(|| variable(name))
        });
        config.map_err(|error| format!("{error} (or --table)"))
    }
}

/// Whether the task is protected.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ProtectArg {
    /// Protect the ECS task from scale-in and deployments while there is work in flight
    #[arg(long, value_enum, value_name = "MODE", num_args = 0..=1, require_equals = true,
          default_value = "off", default_missing_value = "best-effort")]
    pub(crate) protect: Mode,
}
