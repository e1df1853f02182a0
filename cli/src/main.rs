//! `lockstep`: exclusive runs from inside a container.
//!
//! Reading order: [`run`], [`attend`] (what ends a command), [`keeper`] (renewals), [`guardian`] (what
//! holds when this process does not), [`child`] (processes and groups), [`protect`] (task
//! protection), [`worker`] (a queue), [`agent`] (jobs of one program).

#![deny(clippy::print_stderr)]

mod again;
mod agent;
mod args;
mod attend;
mod child;
mod exit;
mod guardian;
mod jobs;
mod keeper;
mod lease;
mod locks;
mod log;
mod news;
mod progress;
mod protect;
mod run;
mod signals;
mod site;
mod sys;
mod table;
mod taking;
mod unconfirmed;
mod worker;

use args::{Cli, Command};
use clap::Parser;
use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand as MISSING;
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => dispatch(cli.command).into(),
        Err(error) if error.kind() == MISSING => {
            log::print(error.render().to_string());
            Exit::CONFIGURATION.into()
        }
        Err(error) if error.use_stderr() => {
            log::say(args::in_one_line(&error));
            Exit::CONFIGURATION.into()
        }
        Err(help) => {
            help.print().ok();
            ExitCode::SUCCESS
        }
    }
}

fn dispatch(command: Command) -> Exit {
    match command {
        Command::Guardian => guardian::watch(),
        Command::Become { parent, command } => child::start_command(parent, &command),
        Command::Progress { value } => progress::report(&value),
        Command::Agent(args) => with_runtime(agent::agent(*args)),
        Command::Jobs(args) => with_runtime(jobs::jobs(args)),
        Command::Run(args) => with_runtime(run::run(*args)),
        Command::Worker(args) => with_runtime(worker::run(*args)),
    }
}

/// One thread: commands are bound to the thread that started them, and must not outlive it.
fn with_runtime(work: impl Future<Output = Exit>) -> Exit {
    log::init();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => {
            let exit = runtime.block_on(work);
            log::flush();
            exit
        }
        Err(error) => {
            log::say(format!("no runtime: {error}"));
            Exit::FAILED
        }
    }
}
