//! `lockstep`: exclusive runs from inside a container.
//!
//! Reading order: [`run`], [`exec`] (a command: supervision, its processes, its watchdog), [`lease`]
//! (its lock: acquire, renew, release), [`protect`] (task protection), [`worker`] (a queue), [`agent`]
//! (jobs of one program), [`operate`] (what operators see and do), [`weave`] (definitions of workflows), [`audit`] (workflows without a lock). [`platform`] is the operating system below them.
//!
//! Whatever this process starts must die with it, or before it. Two hidden subcommands are parts of
//! that, which the binary starts itself: `watchdog` is the second process that holds the deadline
//! of each lease, and `start-command` is what a command is until it has its parent-death signal. A
//! `credential_process` is the exception: the SDK starts it.

#![deny(clippy::print_stderr)]

mod agent;
mod args;
mod audit;
mod exec;
mod exit;
mod lease;
mod log;
mod manual;
mod once_key;
mod operate;
mod platform;
mod protect;
mod retry;
mod run;
mod weave;
mod worker;

use args::{Cli, Command};
use clap::Parser;
use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand as MISSING;
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(exit) = exec::serve(std::env::args_os()) {
        return exit.into();
    }
    if let Err(why) = platform::empty::leave_out() {
        log::print_line(why);
        return Exit::CONFIGURATION.into();
    }
    match Cli::try_parse() {
        Ok(cli) => dispatch(cli.command).into(),
        Err(error) if error.kind() == MISSING => {
            log::print(error.render().to_string());
            Exit::CONFIGURATION.into()
        }
        Err(error) if error.use_stderr() => {
            log::print_line(args::in_one_line(&error));
            Exit::CONFIGURATION.into()
        }
        Err(help) => log::print_help(help.render().to_string()).into(),
    }
}

fn dispatch(command: Command) -> Exit {
    // Process groups, `/proc`, parent-death signals and subreapers are Linux's; without them
    // nothing could be promised of a command.
    if !cfg!(target_os = "linux") && command.guards_processes() {
        log::print_line(
            "this command guards processes, which needs Linux; the operators' commands run here",
        );
        return Exit::CONFIGURATION;
    }
    match command {
        Command::Audit(args) => with_runtime(audit::audit(args)),
        Command::ClearRest(args) => with_runtime(operate::clear_rest(args)),
        Command::Completions { shell } => manual::completions(shell),
        Command::Doctor(args) => with_runtime(operate::doctor(args)),
        Command::DropWaiter(args) => with_runtime(operate::drop_waiter(args)),
        Command::Evict(args) => with_runtime(operate::evict(args)),
        Command::Forget(args) => with_runtime(operate::forget(args)),
        Command::History(args) => with_runtime(operate::history(args)),
        Command::Locks(args) => with_runtime(operate::locks(args)),
        Command::Man { folder } => manual::man(&folder),
        Command::Pause(args) => with_runtime(operate::pause(args)),
        Command::Progress { value } => exec::progress::report(&value),
        Command::Agent(args) => with_runtime(agent::agent(*args)),
        Command::Resume(args) => with_runtime(operate::resume(args)),
        Command::Run(args) => with_runtime(run::run(*args)),
        Command::Show(args) => with_runtime(operate::show(args)),
        Command::Start(args) => with_runtime(operate::start(args)),
        Command::Unweave(args) => weave::unweave(&args),
        Command::Watch(args) => with_runtime(operate::watch(args)),
        Command::Weave(args) => weave::weave(&args),
        Command::Worker(args) => with_runtime(worker::run(*args)),
    }
}

/// Runs `work` on one thread: commands are bound to the thread that started them, and die with it.
fn with_runtime(work: impl Future<Output = Exit>) -> Exit {
    log::init();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => {
            let exit = runtime.block_on(work);
            // A full pipe does not block the work: lines go through a queue, and what is left in it
            // is written here.
            log::flush();
            exit
        }
        Err(error) => {
            log::print_line(format!("failed to start the async runtime: {error}"));
            Exit::FAILED
        }
    }
}
