//! Whether a command is there at all.

use crate::exit::Exit;
use crate::sys::env::variable;
use nix::unistd::{AccessFlags, access};
use std::path::{Path, PathBuf};

/// Looks for `program` as the system will when it starts it: along the path, unless its name has a
/// slash.
///
/// # Errors
/// The exit code that starting it would end with, and why.
pub(crate) fn look_for(program: &str) -> Result<(), (Exit, String)> {
    let there = if program.contains('/') {
        vec![PathBuf::from(program)]
    } else {
        let path = variable("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path);
        folders.map(|folder| folder.join(program)).collect()
    };
    if there.iter().any(|file| can_run(file)) {
        return Ok(());
    }
    if there.iter().any(|file| file.exists()) {
        let why = format!("{program} is no program that this user may run");
        return Err((Exit::CANNOT_RUN, why));
    }
    Err((Exit::NOT_FOUND, format!("{program} is not there")))
}

fn can_run(file: &Path) -> bool {
    file.is_file() && access(file, AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_path_or_along_the_path() {
        let code = |program| look_for(program).map_err(|(exit, _)| exit);

        assert_eq!(code("/bin/sh"), Ok(()));
        assert_eq!(code("sh"), Ok(()));
        assert_eq!(code("no-such-program"), Err(Exit::NOT_FOUND));
        assert_eq!(code("/no/such/program"), Err(Exit::NOT_FOUND));
        assert_eq!(code("/etc/passwd"), Err(Exit::CANNOT_RUN));
        assert_eq!(code("/tmp"), Err(Exit::CANNOT_RUN));
    }
}
