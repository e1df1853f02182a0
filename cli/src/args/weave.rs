//! The flags of `lockstep weave` and `lockstep unweave`.

use super::parse;
use clap::{Args, ValueHint};
use lockstep::contract::{CatchUp, LockOptions, OnPaused, Overlap, Stale, WhenQueueFull};
use lockstep_weave::{OnSkip, Options};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Exit codes:
  0    the definition is written; with --check, it is woven as this version weaves it
  1    with --check: it is not woven, or weaving it again would change it
  64   a flag is wrong
  65   FILE is not a definition that can hold a lock; the message says why
  66   FILE cannot be read                       73   OUT cannot be written

FILE and OUT are JSON or YAML. The states of FILE are moved as text: their order, comments and
${…} stay. A FILE that is woven already is woven again from its original. `lockstep unweave`
restores the original byte for byte.

Examples:
  lockstep weave report.asl.json --lock nightly-report -o report.woven.asl.json
  lockstep weave etl.asl.yaml --lock '{% $states.input.region %}' \\
    --overlap queue --wait-seconds 600
  lockstep weave etl.asl.json --lock warehouse --from Load --to 'Load Finished' --diff
  lockstep weave --check report.woven.asl.json";

/// Write the states that hold a lock into a Step Functions state machine definition
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct WeaveArgs {
    #[command(flatten)]
    pub(crate) files: FilesArg,
    /// Only check that FILE is woven, and that this version would weave it in the same way
    #[arg(long, conflicts_with_all = ["lock", "out", "diff"])]
    pub(crate) check: bool,
    /// The lock: a name, or a JSONata expression over $states.input, in {% %}
    #[arg(long, value_name = "NAME", required_unless_present = "check")]
    pub(crate) lock: Option<String>,
    /// First state of the section that is the work [default: the first state]
    #[arg(long, value_name = "STATE")]
    pub(crate) from: Option<String>,
    /// Last state of the section [default: every state that follows the first]
    #[arg(long, value_name = "STATE")]
    pub(crate) to: Option<String>,
    /// What to do when the lock is held: skip, fail, queue or replace [default: skip]
    #[arg(long, value_name = "POLICY", value_parser = parse::word::<Overlap>)]
    pub(crate) overlap: Option<Overlap>,
    /// What to do when the lock is paused: skip, wait or fail [default: skip with --overlap skip, wait with
    /// queue, fail with fail and replace]
    #[arg(long, value_name = "POLICY", value_parser = parse::word::<OnPaused>)]
    pub(crate) on_paused: Option<OnPaused>,
    /// With once, the first run that a paused lock would skip waits until the lock is resumed: once or none
    /// [default: none]
    #[arg(long, value_name = "WHICH", value_parser = parse::word::<CatchUp>)]
    pub(crate) catch_up: Option<CatchUp>,
    /// How an execution ends that is skipped: succeed or fail [default: succeed, or fail with --from or --to]
    #[arg(long, value_name = "END", value_parser = parse::word::<OnSkip>)]
    pub(crate) on_skip: Option<OnSkip>,
    /// Idempotency key of the trigger: a text, or a JSONata expression as for --lock
    #[arg(long, value_name = "KEY")]
    pub(crate) run_key: Option<String>,
    /// Maximum number of runs at once [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) permits: Option<i64>,
    /// Length of the lease in seconds, 3 to 86400 [default: three heartbeats, or 60 with --heartbeat-seconds]
    #[arg(long, value_name = "N")]
    pub(crate) lease_seconds: Option<i64>,
    /// Seconds between heartbeats, at least 2 less than the lease [default: 300, or a third of
    /// --lease-seconds]
    #[arg(long, value_name = "N")]
    pub(crate) heartbeat_seconds: Option<i64>,
    /// Longest time between heartbeats, in seconds; the time grows with the age of the run [default: 900]
    #[arg(long, value_name = "N")]
    pub(crate) max_heartbeat_seconds: Option<i64>,
    /// Time limit of a run, in seconds
    #[arg(long, value_name = "N")]
    pub(crate) max_run_seconds: Option<i64>,
    /// What happens to a run that stops renewing its lease or exceeds its time limit: terminate, yield or
    /// hold [default: terminate]
    #[arg(long, value_name = "POLICY", value_parser = parse::word::<Stale>)]
    pub(crate) stale_policy: Option<Stale>,
    /// Minimum time from a grant of this lock to the next one, in seconds
    #[arg(long, value_name = "N")]
    pub(crate) min_interval_seconds: Option<i64>,
    /// How often a run of this lock is expected to succeed, in seconds; without a success the event Run
    /// Missing is published
    #[arg(long, value_name = "N")]
    pub(crate) expect_every_seconds: Option<i64>,
    /// Maximum number of waiters, with --overlap queue [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) max_queue: Option<i64>,
    /// What to do when the queue is full: fail or skip [default: fail]
    #[arg(long, value_name = "POLICY", value_parser = parse::word::<WhenQueueFull>)]
    pub(crate) when_queue_full: Option<WhenQueueFull>,
    /// Wait at most this many seconds, with --overlap queue or replace, --on-paused wait or --catch-up once
    #[arg(long, value_name = "N")]
    pub(crate) wait_seconds: Option<i64>,
    /// Seconds after which a waiting execution registers again, 5 to 3600 [default: 300]
    #[arg(long, value_name = "N")]
    pub(crate) wait_interval_seconds: Option<i64>,
    /// Write VALUE in place of ${NAME} in the woven states; NAME is for example AcquireLockFunctionArn or
    /// Partition
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse::assignment)]
    pub(crate) set: Vec<(String, String)>,
}

/// Restore the definition that `lockstep weave` was given
#[derive(Debug, Args)]
pub(crate) struct UnweaveArgs {
    #[command(flatten)]
    pub(crate) files: FilesArg,
}

/// The file to read, and where to write the result.
#[derive(Debug, Args)]
pub(crate) struct FilesArg {
    /// The definition; - is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Write to this file, whole or not at all [default: standard output]
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// Show what would change, as a unified diff, and write nothing
    #[arg(long, conflicts_with = "out")]
    pub(crate) diff: bool,
}

impl WeaveArgs {
    /// Returns the options to weave with.
    pub(crate) fn options(&self) -> Options {
        let options = LockOptions {
            permits: self.permits,
            overlap: self.overlap,
            on_paused: self.on_paused,
            catch_up: self.catch_up,
            lease_seconds: self.lease_seconds,
            heartbeat_seconds: self.heartbeat_seconds,
            max_heartbeat_seconds: self.max_heartbeat_seconds,
            max_run_seconds: self.max_run_seconds,
            stale_policy: self.stale_policy,
            run_key: self.run_key.clone(),
            min_interval_seconds: self.min_interval_seconds,
            expect_every_seconds: self.expect_every_seconds,
            max_queue: self.max_queue,
            when_queue_full: self.when_queue_full,
            no_progress_seconds: None,
        };
        Options {
            lock: self.lock.clone().unwrap_or_default(),
            from: self.from.clone(),
            to: self.to.clone(),
            options,
            wait_seconds: self.wait_seconds,
            wait_interval_seconds: self.wait_interval_seconds,
            on_skip: self.on_skip,
            set: self.set.iter().cloned().collect(),
        }
    }
}
