//! The flags of the operators' commands.

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

const ACT_EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    some locks could not be changed, or the function failed
  64   a flag is wrong, or there is no such stack, lock, holder or waiter, no Region or no such
       profile
  69   no credentials; or the function could not be invoked, or could not use the lock table
  75   refused: the holder may be alive (evict without --force), or a run has the run key (forget)";

const START_EXIT_CODES: &str = "\
Exit codes:
  0    started; with --dry-run, the run could be started
  1    not started: the answer was no, or the function failed
  64   a flag is wrong, or there is no such stack, lock, run key, execution or schedule, no Region
       or no such profile
  69   no credentials; or the function could not be invoked, or could not use the lock table or
       Step Functions
  75   a holder or a waiter has the run key";

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

/// Reason and author of an act, and the function that carries it out.
#[derive(Debug, Args)]
pub(crate) struct ActArgs {
    /// Reason for the act; written to the history and the event, and for a pause to the error of each run
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: String,
    /// Who acts, such as a mail address [default: the variable USER]
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
    /// All locks whose name begins with PREFIX
    #[arg(long, value_parser = parse::lock)]
    pub(crate) prefix: Option<String>,
    /// All locks, including those that have not run yet
    #[arg(long)]
    pub(crate) all: bool,
}

/// Close locks to new grants; runs that hold a permit finish
#[derive(Debug, Args)]
#[command(after_help = ACT_EXIT_CODES)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    #[command(flatten)]
    pub(crate) act: ActArgs,
    /// Time at which the pause ends by itself, such as 2026-03-01T06:00:00Z [default: at `lockstep resume`]
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Wait until no run holds the locks
    #[arg(long)]
    pub(crate) drain: bool,
}

/// Open paused locks; to open a frozen lock, name it by LOCK
#[derive(Debug, Args)]
#[command(after_help = ACT_EXIT_CODES)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    #[command(flatten)]
    pub(crate) act: ActArgs,
}

/// Stop the work of a holder and free its permit, or remove a waiter from the queue
#[derive(Debug, Args)]
#[command(after_help = ACT_EXIT_CODES)]
pub(crate) struct EvictArgs {
    /// The lock
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: String,
    /// Name of the holder or waiter, as `lockstep show` prints it, or a part of it [default: the only holder,
    /// once it has held its permit for 60s]
    #[arg(value_name = "HOLDER")]
    pub(crate) holder: Option<String>,
    /// Evict the holder even if it is alive, or if Lockstep cannot tell
    #[arg(long)]
    pub(crate) force: bool,
    /// Free the permit of a holder that an earlier eviction could not stop, although its work may still run;
    /// HOLDER must be the full name
    #[arg(long, requires = "force", requires = "holder")]
    pub(crate) abandon: bool,
    #[command(flatten)]
    pub(crate) act: ActArgs,
}

/// Remove a waiter from the queue, even if its item in the lock table is missing or damaged
#[derive(Debug, Args)]
#[command(after_help = ACT_EXIT_CODES)]
pub(crate) struct DropWaiterArgs {
    /// The lock
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: String,
    /// Name of the waiter, as `lockstep show` prints it, or a part of it
    #[arg(value_name = "HOLDER", required_unless_present = "id")]
    pub(crate) holder: Option<String>,
    /// Id of a waiter whose item is missing or damaged: the 16 hex digits that `lockstep show` prints for it
    #[arg(long, conflicts_with = "holder")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) act: ActArgs,
}

/// End the rest after the last grant of a lock, for example one that a wrong minIntervalSeconds caused
#[derive(Debug, Args)]
#[command(after_help = ACT_EXIT_CODES)]
pub(crate) struct ClearRestArgs {
    /// The lock
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: String,
    #[command(flatten)]
    pub(crate) act: ActArgs,
}

/// Free the run key of a run that succeeded, so that a run with this key can start again
#[derive(Debug, Args)]
#[command(after_help = ACT_EXIT_CODES)]
pub(crate) struct ForgetArgs {
    /// The lock
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: String,
    /// The run key, as `lockstep history --output json` prints it
    #[arg(value_name = "RUN_KEY", value_parser = parse::run_key)]
    pub(crate) run_key: String,
    #[command(flatten)]
    pub(crate) act: ActArgs,
}

/// Start the latest run of a lock again, or what a schedule or a rule starts
///
/// The new execution acquires the lock as any other does: its overlap policy applies, and so does a pause.
#[derive(Debug, Args)]
#[command(after_help = START_EXIT_CODES)]
pub(crate) struct StartArgs {
    /// The lock
    #[arg(value_name = "LOCK", value_parser = parse::lock)]
    pub(crate) lock: String,
    /// Start the run with this run key instead of the latest run; the success of the key is forgotten first
    #[arg(long, value_name = "RUN_KEY", value_parser = parse::run_key)]
    pub(crate) again: Option<String>,
    /// Start what this EventBridge Scheduler schedule or EventBridge rule starts, with its input: the name of
    /// either, GROUP/NAME of a schedule, or an ARN
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Option<String>,
    /// Scheduled time to fill into the input of --schedule, such as 2026-03-01T06:00:00Z [default: now]
    #[arg(long, value_name = "TIME", requires = "schedule")]
    pub(crate) scheduled_time: Option<String>,
    /// Id of this start: a repetition with the same id and the same flags starts nothing more [default: a
    /// random id]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Print what would be started, and start nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Start without asking
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) act: ActArgs,
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
