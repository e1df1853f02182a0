//! Tests weaving and unweaving with examples.

mod refusals;
mod samples;
mod sections;

use super::{OnSkip, Options, check, document, guard, options_of, unweave, weave};
use lockstep::contract::{LockOptions, Overlap};
use samples::{SAMPLES, SECTIONS};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns options with only the name of a lock.
fn lock() -> Options {
    Options {
        lock: "nightly".into(),
        ..Options::default()
    }
}

/// Returns options for the section from the state `from` to the state `to`.
fn section(from: &str, to: &str) -> Options {
    Options {
        from: Some(from.into()),
        to: Some(to.into()),
        ..lock()
    }
}

/// Returns the lines of `text` without their indentation. A line that is indented deeper than the first line
/// continues the line before it.
fn unindented(text: &str) -> Vec<String> {
    let text = text.trim_matches('\n').trim_end();
    let first = text.trim_start();
    let indentation = format!("\n{}", " ".repeat(text.len() - first.len()));
    let whole = first.replace(&format!("{indentation}    "), " ");
    whole.split(&indentation).map(str::to_owned).collect()
}

#[test]
fn unweave_gives_each_sample_back_byte_for_byte_in_every_layout() {
    for (name, sample) in SAMPLES {
        for text in layouts(sample) {
            let woven =
                weave(&text, &lock()).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));

            assert_ne!(woven, text, "{name}");
            assert_eq!(unweave(&woven).unwrap(), text, "{name}");
        }
    }
}

#[test]
fn unweave_restores_each_section_byte_for_byte() {
    for (name, from, to, sample) in SECTIONS {
        for text in layouts(sample) {
            let woven = weave(&text, &section(from, to));
            let woven = woven.unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));

            assert_eq!(unweave(&woven).unwrap(), text, "{name}");
        }
    }
}

/// Returns a text as it is, with the line ends of Windows, with a byte order mark, and without its last
/// newline.
fn layouts(text: &str) -> Vec<String> {
    let windows = text.replace('\n', "\r\n");
    let marked = format!("\u{feff}{text}");
    let cut = text.trim_end_matches('\n').to_owned();
    vec![text.to_owned(), windows, marked, cut]
}

#[test]
fn weaving_again_changes_nothing_unless_the_options_differ() {
    let other = Options {
        options: LockOptions {
            permits: Some(3),
            overlap: Some(Overlap::Queue),
            run_key: Some("{% $states.input.'a b' & \"c\" %}".into()),
            ..LockOptions::default()
        },
        wait_seconds: Some(600),
        on_skip: Some(OnSkip::Fail),
        set: [("Partition".into(), "aws-cn".into())].into(),
        ..lock()
    };
    for (name, sample) in SAMPLES {
        let woven = weave(sample, &lock()).unwrap();

        assert_eq!(weave(&woven, &lock()).unwrap(), woven, "{name}");
        let rewoven = weave(&woven, &other).unwrap();
        assert_eq!(rewoven, weave(sample, &other).unwrap(), "{name}");
        assert_eq!(options_of(&rewoven).unwrap(), Some(other.clone()), "{name}");
        assert_eq!(check(&rewoven).unwrap(), other, "{name}");
    }
}

#[test]
fn the_example_is_what_this_version_weaves_from_the_workflow_beside_it() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../statemachines/examples");
    let read = |name| fs::read_to_string(examples.join(name)).unwrap();
    let woven = read("nightly-etl.woven.asl.json");

    assert_eq!(check(&woven).unwrap().lock, "${LockName}");
    assert_eq!(unweave(&woven).unwrap(), read("nightly-etl.asl.json"));
}

#[test]
fn the_guard_has_no_state_of_exclusive_run_that_only_its_own_work_needs() {
    let names: BTreeSet<_> = guard::own_names().unwrap().into_iter().collect();

    let expected = "Acquire Lock, Confirm Grant, Fail On Skip, Fail Work, Is Confirmed, Is Woken, Keep Lease, \
                    Let Work Stop, Lock Is Ours, May Task Be Running, Release After Failure, Release Lock, Report Skip, \
                    Report Stopping, Request Lock, Rethrow, Run Exclusively, Run Work, Wait For Turn";
    let expected: BTreeSet<_> = expected.split(", ").map(str::to_owned).collect();
    assert_eq!(names, expected);
}

/// When a state fails, Step Functions stops the states that run beside it on a best-effort basis.
#[test]
fn failed_work_waits_30_s_before_it_releases_the_lock() {
    let woven = weave(SAMPLES[0].1, &lock()).unwrap();

    let woven: serde_json::Value = serde_json::from_str(&woven).unwrap();
    let states = &woven["States"]["Run Exclusively"]["Branches"][0]["States"];
    let failed = &states["Run Work"]["Catch"][0]["Next"];
    assert_eq!(states[failed.as_str().unwrap()]["Default"], "Let Work Stop");
    let wait = &states["Let Work Stop"];
    assert_eq!(
        [&wait["Type"], &wait["Next"]],
        ["Wait", "Release After Failure"]
    );
    assert_eq!(wait["Seconds"], 30);
}

#[test]
fn every_variable_that_the_guard_reads_is_one_that_it_assigns() {
    let woven = weave(SAMPLES[0].1, &lock()).unwrap();
    let document = document::Document::parse(&woven).unwrap();
    let mut assigned = BTreeSet::new();
    document.root.walk(&mut |node| {
        let names = node
            .get("Assign")
            .map(document::Node::entries)
            .unwrap_or_default();
        assigned.extend(names.iter().map(|entry| entry.name.clone()));
    });
    // These are functions of JSONata, `$states`, and variables that an expression binds itself.
    let others = "states beat floor max merge exists not type ceil min fromMillis millis contains string name";
    let mut read: BTreeSet<_> = guard::variables_of(&document.root).into_iter().collect();
    read.retain(|name| !others.split(' ').any(|other| other == name) && !assigned.contains(name));

    assert_eq!(read, BTreeSet::new(), "read and never assigned");
    let is_own = |name: &String| name.starts_with("lockstep");
    assert!(assigned.iter().all(is_own), "{assigned:?}");
}
