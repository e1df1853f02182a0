//! Whether a command is there at all, and what kind of file it is.

use super::shim::SELF;
use crate::exit::Exit;
use crate::platform::env::variable;
use nix::unistd::{AccessFlags, access};
use std::fs::File;
use std::io::{Error, Read};
use std::path::{Path, PathBuf};

/// How much of a file shows its kind.
const HEAD: u64 = 256;
/// What a file of machine code begins with, in the format of Linux.
const ELF: &[u8] = b"\x7fELF";

/// Looks for `program` as the system will when it starts it: along the path, unless its name has a
/// slash.
///
/// # Errors
/// The exit code that starting it would end with, and why.
pub(crate) fn check_program(program: &str) -> Result<(), (Exit, String)> {
    find(program).map(drop)
}

/// The file of `program`.
///
/// # Errors
/// As [`check_program`].
pub(super) fn find(program: &str) -> Result<PathBuf, (Exit, String)> {
    let there = if program.contains('/') {
        vec![PathBuf::from(program)]
    } else {
        let path = variable("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path);
        folders.map(|folder| folder.join(program)).collect()
    };
    if let Some(file) = there.iter().find(|file| can_run(file)) {
        return Ok(file.clone());
    }
    if there.iter().any(|file| file.exists()) {
        let why = format!("{program} is no program that this user may run");
        return Err((Exit::CANNOT_RUN, why));
    }
    Err((Exit::NOT_FOUND, format!("{program} is not there")))
}

/// Whether a shell can make nothing of `file`, and the kernel perhaps neither: data, or machine code for
/// another machine. A file that cannot be read is taken for a program.
pub(super) fn is_foreign(file: &Path) -> bool {
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
        // Class and byte order, and the machine
        // (<https://man7.org/linux/man-pages/man5/elf.5.html>).
        let mut parts = [4..6, 18..20].into_iter();
        return parts.any(|part| head.get(part.clone()) != own.get(part));
    }
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut bytes = line.iter();
    let is_text = match std::str::from_utf8(line) {
        Ok(_) => true,
        // A letter that the end of the head cuts in two.
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
    fn a_program_is_found_by_its_path_or_along_the_path() {
        let code = |program| check_program(program).map_err(|(exit, _)| exit);

        assert_eq!(code("/bin/sh"), Ok(()));
        assert_eq!(code("sh"), Ok(()));
        assert_eq!(code("no-such-program"), Err(Exit::NOT_FOUND));
        assert_eq!(code("/no/such/program"), Err(Exit::NOT_FOUND));
        assert_eq!(code("/etc/passwd"), Err(Exit::CANNOT_RUN));
        assert_eq!(code("/tmp"), Err(Exit::CANNOT_RUN));
    }
}
