//! The flags of `lockstep jobs`.

use super::parse;
use super::shared::TableArg;
use clap::Args;

const AFTER_HELP: &str = "\
Exit codes:
  0    nothing is lost (with --lost), or the list is out
  1    jobs are lost (with --lost)
  64   a flag or the environment is wrong
  69   the lock table, or with --lost ECS, could not be asked

A record that has lost its place in the sweep's index (no shard, no dueAt) is not listed. --lock reads
it.

Examples:
  lockstep jobs                          who holds which lock
  lockstep jobs --lost --json            what died, and what will happen
  lockstep jobs --lock nightly-report    what became of its runs, newest first";

/// Show who holds which lock, what became of a lock's runs, and which jobs are lost
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct JobsArgs {
    /// Only jobs whose task ECS says has stopped, or whose lease has run out
    #[arg(long, conflicts_with = "lock")]
    pub(crate) lost: bool,
    /// The history of this lock
    #[arg(long, value_name = "NAME", value_parser = parse::lock)]
    pub(crate) lock: Option<String>,
    /// Most runs of the history
    #[arg(long, value_name = "N", default_value_t = 20, requires = "lock",
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) last: u16,
    /// One JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) table: TableArg,
}
