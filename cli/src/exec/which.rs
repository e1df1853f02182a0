//! Finds the file of a command, and determines whether the kernel can execute it.

use crate::exit::{EarlyExit, Exit};
use crate::platform::children::SELF;
use crate::platform::env::variable;
use nix::unistd::{AccessFlags, access};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Bytes read from a file to determine its kind.
const HEAD: u64 = 256;
/// The first bytes of an ELF file.
const ELF: &[u8] = b"\x7fELF";

/// Checks that `program` can be found and executed. As `execvp` does, looks it up in `PATH`, unless its name
/// has a slash.
///
/// # Errors
/// The exit code that a start of the program would give, and the reason.
pub(crate) fn check_program(program: &OsStr) -> Result<(), EarlyExit> {
    find(program).map(drop)
}

/// Returns the file of `program`.
///
/// # Errors
/// As [`check_program`].
pub(super) fn find(program: &OsStr) -> Result<PathBuf, EarlyExit> {
    let candidates = if program.as_bytes().contains(&b'/') {
        vec![PathBuf::from(program)]
    } else {
        let path = variable("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path);
        folders.map(|folder| folder.join(program)).collect()
    };
    if let Some(file) = candidates.iter().find(|file| can_run(file)) {
        return Ok(file.clone());
    }
    if candidates.iter().any(|file| file.exists()) {
        let why = format!(
            "{} is not a file that this user may execute",
            program.display()
        );
        return Err((Exit::CANNOT_RUN, why));
    }
    Err((
        Exit::NOT_FOUND,
        format!("{}: command not found", program.display()),
    ))
}

/// Returns whether `file` is data, or machine code for another machine: no shell can run such a file, and the
/// kernel may reject it. A file that cannot be read counts as a program, for which this returns `false`.
pub(super) fn cannot_be_executed(file: &Path) -> bool {
    match (head(file), head(Path::new(SELF))) {
        (Ok(head), Ok(own)) => is_foreign_to(&own, &head),
        _ => false,
    }
}

fn is_foreign_to(own: &[u8], head: &[u8]) -> bool {
    if head.starts_with(b"#!") {
        return false;
    }
    if head.starts_with(ELF) {
        // Compares class, byte order and machine (<https://man7.org/linux/man-pages/man5/elf.5.html>).
        let mut parts = [4..6, 18..20].into_iter();
        return parts.any(|part| head.get(part.clone()) != own.get(part));
    }
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut bytes = line.iter();
    let is_text = match std::str::from_utf8(line) {
        Ok(_) => true,
        // The end of the head may cut a character in two.
        Err(error) => error.error_len().is_none(),
    };
    !is_text || bytes.any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

fn head(file: &Path) -> Result<Vec<u8>, Error> {
    let mut head = Vec::new();
    File::open(file)?.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

fn can_run(file: &Path) -> bool {
    file.is_file() && access(file, AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_code_for_another_machine_are_foreign_and_scripts_are_not() {
        let own = head(Path::new(SELF)).unwrap();
        let mut other = own.clone();
        other[18] ^= 0xff;

        for (head, foreign) in [
            (&own[..], false),
            (&other[..], true),
            (&own[..10], true),
            (b"#!/bin/sh\n\0\0", false),
            (b"echo a script without a first line\n\0\0", false),
            ("echo größe\n".as_bytes(), false),
            (b"", false),
            (b"\0\0\0\0", true),
            (b"\xff\xd8\xff\xe0 a picture", true),
        ] {
            assert_eq!(is_foreign_to(&own, head), foreign, "{head:?}");
        }
    }

    #[test]
    fn a_program_is_found_by_its_path_or_in_the_search_path() {
        let code = |program: &str| check_program(program.as_ref()).map_err(|(exit, _)| exit);

        assert_eq!(code("/bin/sh"), Ok(()));
        assert_eq!(code("sh"), Ok(()));
        assert_eq!(code("no-such-program"), Err(Exit::NOT_FOUND));
        assert_eq!(code("/no/such/program"), Err(Exit::NOT_FOUND));
        assert_eq!(code("/etc/passwd"), Err(Exit::CANNOT_RUN));
        assert_eq!(code("/tmp"), Err(Exit::CANNOT_RUN));
    }
}
