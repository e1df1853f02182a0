//! The command line.

pub(crate) mod agent;
#[cfg(test)]
mod agreement;
pub(crate) mod audit;
pub(crate) mod operate;
pub(crate) mod parse;
pub(crate) mod run;
pub(crate) mod shared;
pub(crate) mod table;
pub(crate) mod weave;
pub(crate) mod worker;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// Exclusive runs from inside a container, and the operators' commands.
#[derive(Debug, Parser)]
#[command(
    name = "lockstep",
    version,
    max_term_width = 100,
    subcommand_required = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command under a lock, so that runs of the same lock do not overlap
    Run(Box<run::RunArgs>),
    /// Run a command once for each message of an SQS queue
    Worker(Box<worker::WorkerArgs>),
    /// Report the progress of the work, from inside the guarded command
    Progress {
        /// Any text that describes the progress; each change of the text counts as progress
        value: String,
    },
    /// Hold locks for a program that runs many jobs in one process, over a local HTTP API
    Agent(Box<agent::AgentArgs>),
    /// Show which state machines ran twice at once, before anything is deployed
    Audit(audit::AuditArgs),
    /// List all locks, including idle, paused and frozen ones
    Locks(operate::LocksArgs),
    /// Show one lock: its holders, its waiters, its last runs, and what would free it
    Show(operate::ShowArgs),
    /// List the ended runs of locks, and what operators did
    History(operate::HistoryArgs),
    /// Print the list of locks repeatedly, until interrupted
    Watch(operate::WatchArgs),
    /// Check that a stack can do its work
    Doctor(operate::DoctorArgs),
    /// Close locks: holders finish, and no permit is granted
    Pause(operate::PauseArgs),
    /// Open locks that were paused
    Resume(operate::ResumeArgs),
    /// Take the permit of a holder and stop its work
    Evict(operate::EvictArgs),
    /// Take a waiter out of the queue
    DropWaiter(operate::DropWaiterArgs),
    /// End the rest of a lock, so that it may grant a permit before `minIntervalSeconds` are over
    ClearRest(operate::ClearRestArgs),
    /// Free the run key of a run that has succeeded, so that a run with this key may start again
    Forget(operate::ForgetArgs),
    /// Start the latest run of a lock again, with the same input
    Start(operate::StartArgs),
    /// Weave the lock into a state machine definition of Step Functions
    Weave(Box<weave::WeaveArgs>),
    /// Take the lock out of a definition that `lockstep weave` wrote
    Unweave(weave::UnweaveArgs),
    /// Print the completions for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write the manual pages: lockstep.1, and one for each subcommand
    Man {
        /// The folder that the pages are written to
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
}

impl Command {
    /// Returns whether the subcommand starts and guards processes, which requires Linux.
    pub(crate) fn guards_processes(&self) -> bool {
        matches!(
            self,
            Self::Run(_) | Self::Worker(_) | Self::Progress { .. } | Self::Agent(_)
        )
    }
}

/// Returns the error of a command line as one line.
pub(crate) fn in_one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let line = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line).to_owned();
    format!("{line} (see `lockstep --help`)")
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn no_subcommand_has_two_flags_of_one_name() {
        Cli::command().debug_assert();
    }
}
