//! Tests that `run` and `weave` have a flag for each option of a lock, with the same range.

use super::{Cli, Command};
use clap::{CommandFactory, Parser};
use lockstep::contract::{LockOptions, Range, fields_of};
use lockstep::domain::{Retention, Seconds};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;

/// Options for which `run` has no flag: a process renews at a third of its lease, and stops its own command.
const NOT_OF_RUN: [&str; 3] = ["heartbeatSeconds", "maxHeartbeatSeconds", "stalePolicy"];
/// Options for which `weave` has no flag: states report no progress.
const NOT_OF_WEAVE: [&str; 1] = ["noProgressSeconds"];

fn flag(field: &str) -> String {
    let lower = |c: char| match c.is_ascii_uppercase() {
        true => format!("-{}", c.to_ascii_lowercase()),
        false => c.to_string(),
    };
    field.chars().map(lower).collect()
}

fn flags_of(subcommand: &str) -> BTreeSet<String> {
    let command = Cli::command();
    let command = command.find_subcommand(subcommand).unwrap();
    let long = command.get_arguments().filter_map(|arg| arg.get_long());
    long.map(str::to_owned).collect()
}

/// Returns the name of the flag of `run` for `field`. A flag with a duration has the unit in its value, not
/// in its name.
fn flag_of_run(field: &str) -> String {
    flag(field.strip_suffix("Seconds").unwrap_or(field))
}

/// Returns whether `lockstep run` accepts `value`. Checks that acquire-lock accepts the request that follows.
fn runs(field: &str, value: i64) -> bool {
    let flag = format!("--{}", flag_of_run(field));
    let value = match field.ends_with("Seconds") {
        true => format!("{value}s"),
        false => value.to_string(),
    };
    let line = [
        "lockstep",
        "run",
        "--lock",
        "l",
        "--overlap",
        "queue",
        &flag,
        &value,
        "--",
        "true",
    ];
    let Ok(Cli {
        command: Command::Run(args),
    }) = Cli::try_parse_from(line)
    else {
        return false;
    };
    args.check().unwrap();
    let request = args.request("l", "holder".into(), 58);
    let checked = request.check(Retention::both(Seconds::of(1)));
    assert!(checked.is_ok(), "{field} {value}: {checked:?}");
    true
}

#[test]
fn every_option_has_a_flag_of_run_and_of_weave() {
    let (run, weave) = (flags_of("run"), flags_of("weave"));
    for field in fields_of::<LockOptions>() {
        let in_run = run.contains(&flag_of_run(field));
        assert_eq!(in_run, !NOT_OF_RUN.contains(field), "run: {field}");
        let in_weave = weave.contains(&flag(field));
        assert_eq!(in_weave, !NOT_OF_WEAVE.contains(field), "weave: {field}");
    }
}

#[test]
fn the_docs_have_every_flag_of_run_and_weave() {
    for (subcommand, page) in [
        ("run", "inside-the-container.md"),
        ("weave", "ways/weave.md"),
    ] {
        let path = format!("{}/../docs/{page}", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(path).unwrap();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let words: BTreeSet<_> = words.collect();
        let command = Cli::command();
        let command = command.find_subcommand(subcommand).unwrap();
        for arg in command
            .get_arguments()
            .filter(|arg| arg.get_long().is_some())
        {
            let long = arg.get_long().map(|long| format!("--{long}"));
            let short = arg.get_short().map(|short| format!("-{short}"));
            let mut names = long.iter().chain(&short);
            let is_there = names.any(|name| words.contains(name.as_str()));
            assert!(is_there, "{page}: {long:?}");
        }
    }
}

#[test]
fn a_flag_of_run_has_the_range_of_its_option() {
    for (field, range, _) in LockOptions::default().numbers() {
        if NOT_OF_RUN.contains(&field) {
            continue;
        }
        let Range { least, most } = match field {
            // Two seconds of a lease allow for clock skew: below five, no time is left to renew it.
            "leaseSeconds" => Range::new(5, range.most),
            _ => range,
        };
        let (least, most) = (i64::from(least), i64::from(most));
        let taken = [least - 1, least, most, most + 1].map(|value| runs(field, value));
        assert_eq!(taken, [false, true, true, false], "{field}");
    }
}

#[test]
fn each_flag_of_weave_sets_its_option() {
    let mut line = vec![
        "lockstep".into(),
        "weave".into(),
        "-".into(),
        "--lock".into(),
        "l".into(),
    ];
    let words = [
        ("overlap", "queue"),
        ("onPaused", "wait"),
        ("catchUp", "once"),
        ("stalePolicy", "yield"),
        ("whenQueueFull", "skip"),
        ("runKey", "tick"),
    ];
    for (field, word) in words {
        line.extend([format!("--{}", flag(field)), word.to_owned()]);
    }
    for (field, range, _) in LockOptions::default().numbers() {
        if !NOT_OF_WEAVE.contains(&field) {
            line.extend([format!("--{}", flag(field)), range.most.to_string()]);
        }
    }
    let Command::Weave(args) = Cli::parse_from(line).command else {
        panic!("it is a weave");
    };

    let given = json!(args.options().options);

    for field in fields_of::<LockOptions>() {
        let is_given = given.get(field).is_some();
        assert_eq!(is_given, !NOT_OF_WEAVE.contains(field), "{field}");
    }
}
