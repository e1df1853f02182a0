//! The flags of `lockstep run`.

use super::parse;
use super::shared::{ProtectArg, ScopeArg, TableArg};
use clap::{Args, ValueEnum};
use lockstep::contract::{AcquireRequest, CatchUp, LockOptions, OnPaused, Overlap, WhenQueueFull};
use std::ffi::OsString;
use std::time::Duration;

const AFTER_HELP: &str = "\
Exit codes:
  the command's own; 128+n if signal n ended it
  0    the command succeeded, or the run was skipped or is a duplicate (see --skip-code)
  64   a flag or the environment is wrong        69   the lock table cannot be used, no credentials
  75   not acquired                              76   the lease was lost
  124  stopped by --max-run or --no-progress     126, 127  the command cannot be run, is not found
  143  stopped by SIGTERM (130 by SIGINT)

Environment:
  LOCKSTEP_TABLE   name of the lock table (or --table)
  LOCKSTEP_LOCK, LOCKSTEP_HOLDER, LOCKSTEP_FENCING_TOKEN
                   the grant of a workflow; lockstep verifies and renews it, and acquires no lock
  LOCKSTEP_WITHOUT_LOCK
                   yes, true, on or 1: as --without-lock; empty, no, false, off or 0: with a lock
  LOCKSTEP_LOG     error, warn, info (default), debug or trace

The command gets LOCKSTEP_LOCK, LOCKSTEP_HOLDER, LOCKSTEP_FENCING_TOKEN, LOCKSTEP_TABLE,
LOCKSTEP_RUN_KEY, LOCKSTEP_PROGRESS (a FIFO that takes lines; see `lockstep progress`) and
LOCKSTEP_MARK (identifies its processes).

Example:
  lockstep run --lock nightly-report --lease 60s --overlap skip -- ./report --all";

/// What to do when the lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OverlapArg {
    /// Start nothing and exit with 0 (or --skip-code)
    Skip,
    /// Start nothing and exit with 75
    Fail,
    /// Wait in the queue
    #[value(alias = "wait")]
    Queue,
}

/// What to do when the lock is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnPausedArg {
    /// Start nothing and exit with 0 (or --skip-code)
    Skip,
    /// Wait in the queue until the lock is resumed
    Wait,
    /// Start nothing and exit with 75
    Fail,
}

/// What happens to the runs that a paused lock skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CatchUpArg {
    /// None of them runs later
    None,
    /// The first of them runs when the lock is resumed
    Once,
}

/// What to do when the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenQueueFullArg {
    /// Start nothing and exit with 75
    Fail,
    /// Start nothing and exit with 0 (or --skip-code)
    Skip,
}

/// Run a command under a lock
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RunArgs {
    /// The lock [default: that of the workflow which started this task]
    #[arg(long, value_name = "NAME", value_parser = parse::lock)]
    pub(crate) lock: Option<String>,
    #[command(flatten)]
    pub(crate) table: TableArg,
    /// Length of the lease, 5s to 24h: another run may take the lock after this time without a renewal, which
    /// comes every third of it. 15s suits a quick standby, 5m a table far away
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse::lease)]
    pub(crate) lease: Duration,
    /// What to do when the lock is held
    #[arg(long, value_enum, default_value_t = OverlapArg::Skip)]
    pub(crate) overlap: OverlapArg,
    /// What to do when the lock is paused [default: skip with --overlap skip, wait with queue, fail with fail]
    #[arg(long, value_enum)]
    pub(crate) on_paused: Option<OnPausedArg>,
    /// What happens to the runs that a paused lock skips
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = CatchUpArg::None)]
    pub(crate) catch_up: CatchUpArg,
    /// Wait at most this long, with --overlap queue, --on-paused wait or --catch-up once, then exit with 75, or
    /// with 69 if the table never answered. A silent table adds six seconds
    #[arg(long, value_name = "TIME", value_parser = parse::limit)]
    pub(crate) max_wait: Option<Duration>,
    /// Maximum number of waiters, with --overlap queue [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(LockOptions::MAX_QUEUE.values()))]
    pub(crate) max_queue: Option<u16>,
    /// What to do when the queue is full
    #[arg(long, value_enum, value_name = "POLICY", default_value_t = WhenQueueFullArg::Fail)]
    pub(crate) when_queue_full: WhenQueueFullArg,
    /// Maximum number of runs at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(LockOptions::PERMITS.values()))]
    pub(crate) permits: u8,
    /// Idempotency key of the trigger, such as the tick of a schedule or the id of an order: one success per
    /// key
    #[arg(long, value_name = "KEY", value_parser = parse::run_key)]
    pub(crate) run_key: Option<String>,
    /// Minimum time from a grant of this lock to the next one
    #[arg(long, value_name = "TIME", value_parser = parse::option(LockOptions::MIN_INTERVAL))]
    pub(crate) min_interval: Option<Duration>,
    /// How often a run of this lock is expected to succeed; without a success the event Run Missing is
    /// published once
    #[arg(long, value_name = "TIME", value_parser = parse::option(LockOptions::EXPECT_EVERY))]
    pub(crate) expect_every: Option<Duration>,
    /// Stop the command after this time, and exit with 124: choose twice the longest good run
    #[arg(long, value_name = "TIME", value_parser = parse::option(LockOptions::MAX_RUN))]
    pub(crate) max_run: Option<Duration>,
    /// Stop the command after this time without a change in its progress, and exit with 124: choose several
    /// times the longest pause between two reports
    #[arg(long, value_name = "TIME", value_parser = parse::option(LockOptions::NO_PROGRESS))]
    pub(crate) no_progress: Option<Duration>,
    /// Time from SIGTERM to SIGKILL when the command is stopped; processes that outlive the first one have
    /// what is left of this time
    #[arg(long, value_name = "TIME", default_value = "25s", value_parser = parse::duration)]
    pub(crate) grace: Duration,
    #[command(flatten)]
    pub(crate) scope: ScopeArg,
    #[command(flatten)]
    pub(crate) protect: ProtectArg,
    /// Execute the command without a lock, and do nothing else: for a machine that has no lock table. So does
    /// LOCKSTEP_WITHOUT_LOCK=yes
    #[arg(long, env = "LOCKSTEP_WITHOUT_LOCK", hide_env_values = true, value_parser = parse::switch, num_args = 0, default_missing_value = "true")]
    pub(crate) without_lock: bool,
    /// Exit with this code when nothing was started because the run was skipped or is a duplicate
    #[arg(long, value_name = "CODE", default_value_t = 0)]
    pub(crate) skip_code: u8,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

impl RunArgs {
    /// Checks for flags that have no effect beside the others, which clap cannot check.
    ///
    /// # Errors
    /// A sentence that names the flag.
    pub(crate) fn check(&self) -> Result<(), String> {
        let waits = self.overlap == OverlapArg::Queue;
        let catches_up = self.catch_up == CatchUpArg::Once;
        let waits_paused = catches_up || self.on_paused == Some(OnPausedArg::Wait);
        if self.max_wait.is_some() && !waits && !waits_paused {
            return Err(
                "--max-wait needs --overlap queue, --on-paused wait or --catch-up once".into(),
            );
        }
        let fails = match self.on_paused {
            Some(policy) => policy == OnPausedArg::Fail,
            None => self.overlap == OverlapArg::Fail,
        };
        if catches_up && fails {
            return Err("--catch-up once needs --on-paused skip or wait".into());
        }
        if self.max_queue.is_some() && !waits {
            return Err("--max-queue needs --overlap queue".into());
        }
        Ok(())
    }

    /// Returns the request to acquire `lock`.
    ///
    /// The request leaves out `maxRunSeconds` and `noProgressSeconds`, because this process enforces both
    /// limits itself. The lock table would enforce them only at a renewal, and would see progress only then.
    pub(crate) fn request(&self, lock: &str, holder: String, lease_seconds: i64) -> AcquireRequest {
        let seconds = |length: Duration| i64::try_from(length.as_secs()).unwrap_or(i64::MAX);
        let options = LockOptions {
            permits: Some(self.permits.into()),
            overlap: Some(match self.overlap {
                OverlapArg::Skip => Overlap::Skip,
                OverlapArg::Fail => Overlap::Fail,
                OverlapArg::Queue => Overlap::Queue,
            }),
            on_paused: self.on_paused.map(|policy| match policy {
                OnPausedArg::Skip => OnPaused::Skip,
                OnPausedArg::Wait => OnPaused::Wait,
                OnPausedArg::Fail => OnPaused::Fail,
            }),
            catch_up: Some(match self.catch_up {
                CatchUpArg::None => CatchUp::None,
                CatchUpArg::Once => CatchUp::Once,
            }),
            lease_seconds: Some(lease_seconds),
            run_key: self.run_key.clone(),
            min_interval_seconds: self.min_interval.map(seconds),
            expect_every_seconds: self.expect_every.map(seconds),
            max_queue: self.max_queue.map(i64::from),
            when_queue_full: Some(match self.when_queue_full {
                WhenQueueFullArg::Fail => WhenQueueFull::Fail,
                WhenQueueFullArg::Skip => WhenQueueFull::Skip,
            }),
            ..LockOptions::default()
        };
        AcquireRequest {
            options,
            ..AcquireRequest::new(lock, holder)
        }
    }
}
