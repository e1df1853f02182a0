//! `lockstep`: exclusive runs from inside a container.
//!
//! Reading order:
//! - [`run`]: the subcommand that runs one command under a lock
//! - [`exec`]: the processes of a command, their supervision and the watchdog
//! - [`lease`]: acquires, renews and releases the lock
//! - [`protect`]: ECS task scale-in protection
//! - [`worker`]: the messages of an SQS queue
//! - [`agent`]: the jobs of one program
//! - [`operate`]: the operators' subcommands
//! - [`weave`]: definitions of workflows
//! - [`audit`]: workflows that have no lock
//! - [`init`]: the files of a first lock
//! - [`platform`]: the operating system and the AWS configuration, which all others use
//!
//! Each process that `lockstep` starts ends with it or before it. For that, the binary starts itself in two
//! more ways, which [`exec::serve`] serves before any flag is parsed:
//! - `watchdog` is the second process, which kills a command at the deadline of its lease.
//! - `start-command` sets up the parent-death signal in the child, and then executes the command.
//!
//! A `credential_process` is the exception, because the SDK starts it.

#![deny(clippy::print_stderr)]

mod agent;
mod args;
mod audit;
mod exec;
mod exit;
mod init;
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
    if let Err(why) = platform::empty::restart_without_empty_settings() {
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
            let given = std::env::args_os().skip(1);
            let given = given.map(|word| word.to_string_lossy().into_owned());
            log::print_line(args::in_one_line(&error, given));
            Exit::CONFIGURATION.into()
        }
        Err(help) => log::print_help(help.render().to_string()).into(),
    }
}

fn dispatch(command: Command) -> Exit {
    // Process groups, `/proc`, parent-death signals and subreapers are features of Linux. Without them a
    // command could outlive its guard.
    if !cfg!(target_os = "linux") && command.guards_processes() {
        log::print_line(
            "this subcommand guards processes and needs Linux; the operators' subcommands run on this system",
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
        Command::Init(args) => with_runtime(init::init(*args)),
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

/// Runs `work` on one thread. The parent-death signal of a command is bound to the thread that started the
/// command: the command dies when that thread ends.
fn with_runtime(work: impl Future<Output = Exit>) -> Exit {
    log::init();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => {
            let exit = runtime.block_on(work);
            // Log lines go through a queue, so that a full pipe does not block the work. Lines that are still
            // queued are written here.
            log::flush();
            exit
        }
        Err(error) => {
            log::print_line(format!("failed to start the async runtime: {error}"));
            Exit::FAILED
        }
    }
}
