//! The flags of the operators' commands.

use super::parse;
use clap::{Args, ValueEnum};
use lockstep_operate::contract::LockState;
use std::time::Duration;

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    some locks could not be changed, or the function failed
  64   a flag is wrong, or there is no such stack, lock, holder or waiter
  69   the function could not be invoked, or could not use the lock table
  75   the holder is alive (evict without --force)";

const START_EXIT_CODES: &str = "\
Exit codes:
  0    started, or would be with --dry-run
  1    not started: the answer was no, or the function failed
  64   a flag is wrong, or there is no such stack, lock, run key or execution
  69   the function could not be invoked, or could not use the lock table or Step Functions
  75   a holder or a waiter has the run key";

/// The stack of Lockstep: by its name, or else by its table, or else the one named `lockstep`.
#[derive(Debug, Args)]
pub(crate) struct StackArgs {
    /// Name of the CloudFormation stack of Lockstep [default: the stack of --table, or lockstep]
    #[arg(
        long,
        env = "LOCKSTEP_STACK",
        value_name = "NAME",
        hide_env_values = true
    )]
    pub(crate) stack: Option<String>,
    /// Name of the lock table, to find the stack without its name
    #[arg(
        long,
        env = "LOCKSTEP_TABLE",
        value_name = "NAME",
        hide_env_values = true
    )]
    pub(crate) table: Option<String>,
}

/// The function to invoke.
#[derive(Debug, Args)]
pub(crate) struct FunctionArgs {
    #[command(flatten)]
    pub(crate) stack: StackArgs,
    /// Name or ARN of the function operate or view, in place of the one in the outputs of the stack
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Option<String>,
}

/// How an answer is laid out for people.
#[derive(Debug, Args)]
pub(crate) struct LayoutArgs {
    /// Print whole names and absolute times, in lines as wide as they have to be
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

/// How one thing is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Lines for people
    #[default]
    Table,
    /// One JSON object, as the function returns it
    Json,
}

/// List all locks, the idle, paused and frozen ones too
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct LocksArgs {
    /// Only locks whose name begins so
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
    /// Print the list again and again [default time: 2s]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true,
          default_missing_value = "2s", conflicts_with = "output", value_parser = parse::limit)]
    pub(crate) watch: Option<Duration>,
    #[command(flatten)]
    pub(crate) function: FunctionArgs,
}

/// Show one lock: its holders and their work, its waiters, its last runs, and what would free it
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
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
    /// Show it again and again [default time: 2s]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true,
          default_missing_value = "2s", conflicts_with = "output", value_parser = parse::limit)]
    pub(crate) watch: Option<Duration>,
    #[command(flatten)]
    pub(crate) function: FunctionArgs,
}

/// List the runs of locks that have ended, and what operators did, the newest first
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct HistoryArgs {
    /// The lock; default: all locks
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: Option<String>,
    /// All locks whose name begins so
    #[arg(long, conflicts_with = "lock", value_parser = parse::lock)]
    pub(crate) prefix: Option<String>,
    /// All locks, as without LOCK and --prefix
    #[arg(long, conflicts_with_all = ["lock", "prefix"])]
    pub(crate) all: bool,
    /// Only runs that have not succeeded
    #[arg(long)]
    pub(crate) failed: bool,
    /// Only runs that ended with this ECS task: its id or ARN
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
    /// Only what ended within this time, such as 12h [default: 24h, of several locks]
    #[arg(long, value_name = "TIME", conflicts_with_all = ["from", "to"], value_parser = parse::limit)]
    pub(crate) since: Option<Duration>,
    /// The earliest time of a grant or an act, such as 2026-03-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// The latest time
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

/// Print the list of locks again and again
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Only locks whose name begins so
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

/// Why an act is done, by whom, and where.
#[derive(Debug, Args)]
pub(crate) struct ActArgs {
    /// Why: it is in the history, in the event and, for a pause, in the error of each run
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: String,
    /// Who
    #[arg(
        long,
        env = "LOCKSTEP_ACTOR",
        value_name = "NAME",
        hide_env_values = true
    )]
    pub(crate) actor: Option<String>,
    /// How to print the result
    #[arg(
        long,
        short,
        value_enum,
        value_name = "FORMAT",
        default_value = "table"
    )]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) function: FunctionArgs,
}

/// The locks of an act.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ScopeArgs {
    /// The lock
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: Option<String>,
    /// All locks whose name begins so
    #[arg(long, value_parser = parse::lock)]
    pub(crate) prefix: Option<String>,
    /// All locks, also those that have not run yet
    #[arg(long)]
    pub(crate) all: bool,
}

/// Close locks: holders finish, and no permit is granted
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    #[command(flatten)]
    pub(crate) act: ActArgs,
    /// When the pause is over, such as 2026-03-01T06:00:00Z; default: when the locks are resumed
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Return when nothing holds the locks any more
    #[arg(long)]
    pub(crate) drain: bool,
}

/// Open locks that were paused; a frozen one by its name
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    #[command(flatten)]
    pub(crate) act: ActArgs,
}

/// Take the permit of a holder and stop its work, or take a waiter out of the queue
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct EvictArgs {
    /// The lock
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: String,
    /// The holder or waiter, as `lockstep show` names it, or a part of its name; default: the only holder
    #[arg(value_name = "HOLDER")]
    pub(crate) holder: Option<String>,
    /// Also a holder that is alive
    #[arg(long)]
    pub(crate) force: bool,
    /// Free the permit of a holder that an eviction cannot stop, while its work may still run; HOLDER is its whole name
    #[arg(long, requires = "force", requires = "holder")]
    pub(crate) abandon: bool,
    #[command(flatten)]
    pub(crate) act: ActArgs,
}

/// Take a waiter out of the queue, also one whose item is missing or damaged
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct DropWaiterArgs {
    /// The lock
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: String,
    /// The waiter, as `lockstep show` names it, or a part of its name
    #[arg(value_name = "HOLDER", required_unless_present = "id")]
    pub(crate) holder: Option<String>,
    /// The short name of a waiter whose item is missing or damaged
    #[arg(long, conflicts_with = "holder")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) act: ActArgs,
}

/// End the rest of a lock after its last grant, such as that of a wrong minIntervalSeconds
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ClearRestArgs {
    /// The lock
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: String,
    #[command(flatten)]
    pub(crate) act: ActArgs,
}

/// Make the run key of a run that has succeeded free, so that it may run again
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ForgetArgs {
    /// The lock
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: String,
    /// The run key, as `lockstep history --output json` names it
    #[arg(value_name = "RUN_KEY", value_parser = parse::run_key)]
    pub(crate) run_key: String,
    #[command(flatten)]
    pub(crate) act: ActArgs,
}

/// Start a run of a lock again: the workflow of its latest run, with the input that it had
///
/// The new execution acquires the lock as any other does: its overlap policy holds, and a pause.
#[derive(Debug, Args)]
#[command(after_help = START_EXIT_CODES)]
pub(crate) struct StartArgs {
    /// The lock
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: String,
    /// The run with this run key in place of the latest run; its success is forgotten first
    #[arg(long, value_name = "RUN_KEY", value_parser = parse::run_key)]
    pub(crate) again: Option<String>,
    /// The input of this schedule of EventBridge Scheduler, or of this rule, in place of the latest run's: a name,
    /// GROUP/NAME of a schedule, or an ARN
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Option<String>,
    /// The scheduled time that the input of the schedule is filled in with, as 2026-03-01T06:00:00Z [default: now]
    #[arg(long, value_name = "TIME", requires = "schedule")]
    pub(crate) scheduled_time: Option<String>,
    /// The id of the start: with the id of an earlier start, nothing more is started [default: a new one]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Say what would be started, and start nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Start without a question
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) act: ActArgs,
}

/// Check that a stack can do its work: the stack, its functions and versions, the clock, dead letters, frozen
/// locks, dead holders, orphaned work
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 if all checks pass, 1 otherwise, 64 if there is no such stack."
)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) stack: StackArgs,
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
