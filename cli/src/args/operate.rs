//! The flags of the operators' commands that only read, and the flags that all of these commands share.

use super::parse;
use clap::{Args, ValueEnum};
use lockstep_operate::contract::LockState;
use std::time::Duration;

const READ_EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    the function failed
  64   a flag is wrong, or there is no such stack or lock, no Region or no such profile
  69   no credentials; or the function could not be invoked, or could not use the lock table";

const DOCTOR_EXIT_CODES: &str = "\
Exit codes:
  0    all checks pass
  1    a check failed, or could not be made
  64   a flag is wrong, or there is no such stack of Lockstep, no Region or no such profile
  69   no credentials; or CloudFormation cannot be reached or denies cloudformation:DescribeStacks";

/// The stack of Lockstep: by its name, else by its lock table, else the stack named `lockstep`.
#[derive(Debug, Args)]
pub(crate) struct StackArgs {
    /// Name of the CloudFormation stack of Lockstep [default: the stack of --table, else lockstep]
    #[arg(
        long,
        env = "LOCKSTEP_STACK",
        value_name = "NAME",
        hide_env_values = true
    )]
    pub(crate) stack: Option<String>,
    /// Name or ARN of the lock table; finds the stack without --stack
    #[arg(
        long,
        env = "LOCKSTEP_TABLE",
        value_name = "NAME",
        hide_env_values = true
    )]
    pub(crate) table: Option<String>,
}

/// The Lambda function to invoke.
#[derive(Debug, Args)]
pub(crate) struct FunctionArgs {
    #[command(flatten)]
    pub(crate) stack: StackArgs,
    /// Name or ARN of the Lambda function to invoke, operate or view [default: from the outputs of the stack]
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Option<String>,
}

/// How an answer is laid out for people.
#[derive(Debug, Args)]
pub(crate) struct LayoutArgs {
    /// Print full names and absolute times, and do not wrap lines
    #[arg(long)]
    pub(crate) wide: bool,
}

/// How rows are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// Columns for people
    #[default]
    Table,
    /// One JSON object, as the function returns it
    Json,
    /// Comma-separated values with a header (RFC 4180)
    Csv,
}

/// How one lock or one result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Lines for people
    #[default]
    Table,
    /// One JSON object, as the function returns it
    Json,
}

/// List all locks, including idle, paused and frozen ones
#[derive(Debug, Args)]
#[command(after_help = READ_EXIT_CODES)]
pub(crate) struct LocksArgs {
    /// Only locks whose name begins with PREFIX
    #[arg(value_name = "PREFIX", value_parser = parse::lock)]
    pub(crate) prefix: Option<String>,
    /// Only locks in this state: frozen, paused, held, waiting, idle or unreadable
    #[arg(long, value_parser = parse::word::<LockState>)]
    pub(crate) state: Option<LockState>,
    /// How to print them
    #[arg(
        long,
        short,
        value_enum,
        value_name = "FORMAT",
        default_value = "table"
    )]
    pub(crate) output: RowFormat,
    #[command(flatten)]
    pub(crate) layout: LayoutArgs,
    /// Print the list repeatedly, once every TIME [default: 2s]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true,
          default_missing_value = "2s", conflicts_with = "output", value_parser = parse::limit)]
    pub(crate) watch: Option<Duration>,
    #[command(flatten)]
    pub(crate) function: FunctionArgs,
}

/// Show one lock: its holders and their work, its waiters, its latest runs, and what will free a permit
#[derive(Debug, Args)]
#[command(after_help = READ_EXIT_CODES)]
pub(crate) struct ShowArgs {
    /// The lock
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: String,
    /// How to print it
    #[arg(
        long,
        short,
        value_enum,
        value_name = "FORMAT",
        default_value = "table"
    )]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) layout: LayoutArgs,
    /// Show the lock repeatedly, once every TIME [default: 2s]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true,
          default_missing_value = "2s", conflicts_with = "output", value_parser = parse::limit)]
    pub(crate) watch: Option<Duration>,
    #[command(flatten)]
    pub(crate) function: FunctionArgs,
}

/// List the runs that have ended and the acts of operators, newest first
#[derive(Debug, Args)]
#[command(after_help = READ_EXIT_CODES)]
pub(crate) struct HistoryArgs {
    /// The lock [default: all locks]
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: Option<String>,
    /// All locks whose name begins with PREFIX
    #[arg(long, conflicts_with = "lock", value_parser = parse::lock)]
    pub(crate) prefix: Option<String>,
    /// All locks; the default without LOCK and --prefix
    #[arg(long, conflicts_with_all = ["lock", "prefix"])]
    pub(crate) all: bool,
    /// Only runs that have not succeeded
    #[arg(long)]
    pub(crate) failed: bool,
    /// Only runs that ended with this ECS task: its id or ARN
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
    /// Only entries that ended within this time, such as 12h, of runs granted up to a day before it [default: 24h for
    /// several locks without --from and --to, no limit for one]
    #[arg(long, value_name = "TIME", conflicts_with_all = ["from", "to"], value_parser = parse::limit)]
    pub(crate) since: Option<Duration>,
    /// Only runs granted and acts done at or after this time, such as 2026-03-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Only runs granted and acts done at or before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,
    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) last: u32,
    /// How to print them
    #[arg(
        long,
        short,
        value_enum,
        value_name = "FORMAT",
        default_value = "table"
    )]
    pub(crate) output: RowFormat,
    #[command(flatten)]
    pub(crate) layout: LayoutArgs,
    #[command(flatten)]
    pub(crate) function: FunctionArgs,
}

/// Print the list of locks repeatedly, until interrupted
#[derive(Debug, Args)]
#[command(after_help = READ_EXIT_CODES)]
pub(crate) struct WatchArgs {
    /// Only locks whose name begins with PREFIX
    #[arg(value_name = "PREFIX", value_parser = parse::lock)]
    pub(crate) prefix: Option<String>,
    /// Time between two lists
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse::limit)]
    pub(crate) every: Duration,
    #[command(flatten)]
    pub(crate) layout: LayoutArgs,
    #[command(flatten)]
    pub(crate) function: FunctionArgs,
}

/// Check that a deployed stack works: the stack, its functions and rules, versions, logs and mails, what may
/// run, the clock of this machine, dead letters, frozen locks, dead holders, orphaned work, and locks whose
/// holders wait for each other
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXIT_CODES)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) stack: StackArgs,
    /// Check also that exclusive-run may start this task definition and pass its roles: FAMILY, FAMILY:REVISION
    /// or an ARN, as a schedule names it
    #[arg(long, value_name = "NAME")]
    pub(crate) task_definition: Option<String>,
    /// Check also that this cluster is active, and that exclusive-run may start that task in it: its name or its
    /// ARN
    #[arg(long, value_name = "NAME", requires = "task_definition")]
    pub(crate) cluster: Option<String>,
    /// How to print the checks
    #[arg(
        long,
        short,
        value_enum,
        value_name = "FORMAT",
        default_value = "table"
    )]
    pub(crate) output: Format,
}
