//! Manual pages and shell completions, generated from the definitions of the flags.

use crate::args::Cli;
use crate::exit::Exit;
use crate::log;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::{Write, stdout};
use std::path::Path;

/// Prints the completions for `shell`.
pub(crate) fn completions(shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "lockstep", &mut script);
    print(&script)
}

/// Writes a manual page for `lockstep` and one for each subcommand into `folder`.
pub(crate) fn man(folder: &Path) -> Exit {
    match clap_mangen::generate_to(Cli::command(), folder) {
        Ok(()) => Exit::OK,
        Err(error) => {
            log::print_line(format!("{} cannot be written: {error}", folder.display()));
            Exit::CANNOT_WRITE
        }
    }
}

fn print(text: &[u8]) -> Exit {
    match stdout().lock().write_all(text) {
        Ok(()) => Exit::OK,
        Err(_) => Exit::CANNOT_WRITE,
    }
}
