//! The command line: subcommands and their flags.

pub(crate) mod act;
pub(crate) mod agent;
#[cfg(test)]
mod agreement;
pub(crate) mod audit;
pub(crate) mod init;
pub(crate) mod operate;
pub(crate) mod parse;
pub(crate) mod run;
pub(crate) mod shared;
pub(crate) mod table;
pub(crate) mod weave;
pub(crate) mod worker;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// Run commands under a lock from inside a container, and operate the locks of a Lockstep stack.
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
    /// Report progress, from inside a guarded command
    Progress {
        /// Any text; a text that differs from the one before counts as progress
        value: String,
    },
    /// Hold locks for a program that runs many jobs in one process, over a local HTTP API
    Agent(Box<agent::AgentArgs>),
    /// Show which state machines ran twice at once, before anything is deployed
    Audit(audit::AuditArgs),
    /// Write what a first lock needs: the parameters of a stack, and a guarded schedule
    Init(Box<init::InitArgs>),
    /// List all locks, including idle, paused and frozen ones
    Locks(operate::LocksArgs),
    /// Show one lock: its holders, its waiters, its latest runs, and what will free a permit
    Show(operate::ShowArgs),
    /// List the runs that have ended and the acts of operators
    History(operate::HistoryArgs),
    /// Print the list of locks repeatedly, until interrupted
    Watch(operate::WatchArgs),
    /// Check that a deployed stack works
    Doctor(operate::DoctorArgs),
    /// Close locks to new grants; runs that hold a permit finish
    Pause(act::PauseArgs),
    /// Open paused locks
    Resume(act::ResumeArgs),
    /// Stop the work of a holder and free its permit
    Evict(act::EvictArgs),
    /// Remove a waiter from the queue
    DropWaiter(act::DropWaiterArgs),
    /// End the rest (minIntervalSeconds) after the last grant of a lock
    ClearRest(act::ClearRestArgs),
    /// Free the run key of a run that succeeded, so that the run can start again
    Forget(act::ForgetArgs),
    /// Start the latest run of a lock again, or what a schedule or a rule starts
    Start(act::StartArgs),
    /// Write the states that hold a lock into a Step Functions state machine definition
    Weave(Box<weave::WeaveArgs>),
    /// Restore the definition that `lockstep weave` was given
    Unweave(weave::UnweaveArgs),
    /// Print the completion script for a shell
    Completions {
        /// The shell to complete for
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write the manual pages: lockstep.1, and one for each subcommand
    Man {
        /// The folder to write to
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
}

impl Command {
    /// Returns whether the subcommand belongs to a guard of processes, which relies on features of the Linux
    /// kernel such as the parent-death signal.
    pub(crate) fn guards_processes(&self) -> bool {
        matches!(
            self,
            Self::Run(_) | Self::Worker(_) | Self::Progress { .. } | Self::Agent(_)
        )
    }
}

/// Returns the error of a command line as one line. It names the help of the subcommand, which is the first of the
/// `args`.
pub(crate) fn in_one_line(error: &clap::Error, mut args: impl Iterator<Item = String>) -> String {
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let line = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line).to_owned();
    let subcommand = args.next().unwrap_or_default();
    let help = match Cli::command().find_subcommand(&subcommand) {
        Some(known) => format!("lockstep {} --help", known.get_name()),
        None => "lockstep --help".to_owned(),
    };
    format!("{line} (see `{help}`)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_subcommand_has_two_flags_of_one_name() {
        Cli::command().debug_assert();
    }
    #[test]
    fn an_error_names_the_help_of_its_subcommand() {
        for (line, help) in [
            (
                &["lockstep", "start", "nightly"][..],
                "(see `lockstep start --help`)",
            ),
            (
                &["lockstep", "weave", "a", "--overlap", "b"],
                "(see `lockstep weave --help`)",
            ),
            (&["lockstep", "strat"], "(see `lockstep --help`)"),
        ] {
            let error = Cli::try_parse_from(line).unwrap_err();
            let rest = line.iter().skip(1).map(|word| (*word).to_owned());

            let text = in_one_line(&error, rest);

            assert!(text.ends_with(help), "{text}");
        }
    }

    #[test]
    fn no_example_is_wrapped() {
        // Clap wraps a longer line, at which a copy of a command ends: `max_term_width`.
        const WIDTH: usize = 100;
        let command = Cli::command();
        for subcommand in command.get_subcommands() {
            let text = subcommand.get_after_help().map(ToString::to_string);
            for line in text.unwrap_or_default().lines() {
                let width = line.chars().count();
                assert!(width <= WIDTH, "{}: {width}: {line}", subcommand.get_name());
            }
        }
    }
}
