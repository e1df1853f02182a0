//! The command line.

pub(crate) mod agent;
pub(crate) mod jobs;
pub(crate) mod parse;
pub(crate) mod run;
pub(crate) mod shared;
pub(crate) mod worker;

use clap::{Parser, Subcommand};

/// Exclusive runs from inside a container.
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

/// What `lockstep` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command under a lock: nobody else runs under it at the same time
    Run(Box<run::RunArgs>),
    /// Run a command for each message of an SQS queue, once
    Worker(Box<worker::WorkerArgs>),
    /// Say that the work makes progress (from inside the command)
    Progress {
        /// How far the work has come, in any words: a change counts as progress
        value: String,
    },
    /// Lend locks to a program that runs many jobs in one process, over a local HTTP API
    Agent(Box<agent::AgentArgs>),
    /// Show who holds which lock, what became of a lock's runs, and which jobs are lost
    Jobs(jobs::JobsArgs),
    /// Keeps commands to their leases.
    #[command(hide = true)]
    Watchdog,
    /// Becomes a command.
    #[command(hide = true, name = "start-command")]
    Become {
        parent: i32,
        #[arg(last = true)]
        command: Vec<String>,
    },
}

/// What is wrong with a command line, in one line.
pub(crate) fn in_one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let line = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line).to_owned();
    format!("{line} (see `lockstep --help`)")
}
