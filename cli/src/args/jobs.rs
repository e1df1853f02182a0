//! The flags of `lockstep jobs`.

use super::parse;
use super::shared::TableArg;
use clap::Args;

const AFTER_HELP: &str = "\
Exit codes:
  0    no job is lost (with --lost), or the list is complete
  1    jobs are lost (with --lost)
  64   a flag or the environment is wrong
  69   the lock table, or with --lost a task in ECS, could not be read

A record that is missing from the sweep's index (no shard, no dueAt) is not listed. --lock reads it.

Examples:
  lockstep jobs                          the holders of all locks
  lockstep jobs --lost --json            lost jobs, and what happens to their permits
  lockstep jobs --lock nightly-report    the history of a lock, newest run first";

/// List the holders of all locks, the lost jobs among them, or the history of a lock
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct JobsArgs {
    /// Only jobs whose ECS task has stopped or whose lease has run out
    #[arg(long, conflicts_with = "lock")]
    pub(crate) lost: bool,
    /// The history of this lock
    #[arg(long, value_name = "NAME", value_parser = parse::lock)]
    pub(crate) lock: Option<String>,
    /// Maximum number of runs in the history
    #[arg(long, value_name = "N", default_value_t = 20, requires = "lock",
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) last: u16,
    /// One JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) table: TableArg,
}
