//! The flags of the operators' commands that act: they change locks, or start a run.

use super::operate::{Format, FunctionArgs};
use super::parse;
use clap::Args;

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
