//! `lockstep weave` and `lockstep unweave`: change the definition of a workflow from file to file.
//!
//! The library `lockstep-weave` works on text. This module reads, compares and writes the files. If a
//! definition is refused, nothing is written, and its file stays as it was.

use crate::args::weave::{FilesArg, UnweaveArgs, WeaveArgs};
use crate::exit::{EarlyExit, Exit};
use crate::log;
use crate::platform::file::write_whole;
use lockstep_weave::Error;
use similar::TextDiff;
use std::fs;
use std::io::{Read, Write, stdin, stdout};
use std::path::Path;

/// Exit code of `--check` for a definition that weaving would change.
const NOT_WOVEN: Exit = Exit::FAILED;

/// Weaves a definition, or checks that it is woven.
pub(crate) fn weave(args: &WeaveArgs) -> Exit {
    let options = args.options();
    if args.check {
        return report(check(&args.files.file));
    }
    report(convert(&args.files, |text| {
        lockstep_weave::weave(text, &options)
    }))
}

/// Takes the lock out of a definition.
pub(crate) fn unweave(args: &UnweaveArgs) -> Exit {
    report(convert(&args.files, lockstep_weave::unweave))
}

fn report(result: Result<(), EarlyExit>) -> Exit {
    result.map_or_else(
        |(exit, why)| {
            log::print_line(why);
            exit
        },
        |()| Exit::OK,
    )
}

fn check(file: &Path) -> Result<(), EarlyExit> {
    let checked = lockstep_weave::check(&read(file)?);
    checked.map(|_| ()).map_err(|error| match &error {
        Error::NotWoven(_) => (NOT_WOVEN, format!("{}: {error}", file.display())),
        _ => refused(file, &error),
    })
}

fn convert(
    files: &FilesArg,
    change: impl Fn(&str) -> Result<String, Error>,
) -> Result<(), EarlyExit> {
    let before = read(&files.file)?;
    let after = change(&before).map_err(|error| refused(&files.file, &error))?;
    if files.diff {
        let name = files.file.display().to_string();
        let diff = TextDiff::from_lines(before.as_str(), after.as_str());
        return print(&diff.unified_diff().header(&name, &name).to_string());
    }
    match &files.out {
        Some(out) => write_whole(out, &after).map_err(|error| {
            let why = format!("{} cannot be written: {error}", out.display());
            (Exit::CANNOT_WRITE, why)
        }),
        None => print(&after),
    }
}

fn refused(file: &Path, error: &Error) -> EarlyExit {
    match error {
        Error::Option(why) => (Exit::CONFIGURATION, why.clone()),
        _ => (Exit::BAD_DATA, format!("{}: {error}", file.display())),
    }
}

fn read(file: &Path) -> Result<String, EarlyExit> {
    let mut text = String::new();
    let result = match file.as_os_str() == "-" {
        true => stdin().read_to_string(&mut text),
        false => fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text)),
    };
    let unreadable = |error| {
        let why = format!("{} cannot be read: {error}", file.display());
        (Exit::NO_INPUT, why)
    };
    result.map_err(unreadable)?;
    Ok(text)
}

fn print(text: &str) -> Result<(), EarlyExit> {
    let mut out = stdout();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    let unwritten = |error| {
        let why = format!("standard output cannot be written: {error}");
        (Exit::CANNOT_WRITE, why)
    };
    written.map_err(unwritten)
}
