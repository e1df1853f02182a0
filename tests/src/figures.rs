//! Compares the committed figures of `benches/figures.toml` with freshly counted ones.
//!
//! A line of a section is `"name" = { value = 26, tolerance = "0" }`. The tolerance is a number in the
//! figure's unit, or a share of the value such as `2%`. The file may have comments, and each name is unique
//! in its section. Other TOML is refused. `benches/lib/figures.py` reads the same file in Python.
//!
//! A section belongs to one test. [`check`] compares the whole section at once, so that a figure which no
//! test counts any more fails too. With `LOCKSTEP_FIGURES=accept`, which `make figures` sets, [`check`]
//! writes the counted values instead.

use crate::repository;
use lockstep::config::variable;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A committed figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Figure {
    value: u64,
    tolerance: Tolerance,
    /// The index of its line in the file, from 0.
    line: usize,
}

/// How far a counted value may be above or below the committed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tolerance {
    Units(u64),
    Percent(u64),
}

impl Figure {
    fn allows(self, counted: u64) -> bool {
        let apart = self.value.abs_diff(counted);
        match self.tolerance {
            Tolerance::Units(most) => apart <= most,
            Tolerance::Percent(most) => apart * 100 <= self.value * most,
        }
    }
}

/// Compares the counted figures of `section` with the committed ones.
///
/// # Panics
/// - A counted value is above or below the committed one by more than the tolerance.
/// - A counted figure is missing from the section.
/// - A figure of the section was not counted.
/// - The file cannot be read, cannot be written, or is not in the format above.
#[track_caller]
pub fn check(section: &str, counted: &[(String, u64)]) {
    // The tests of a program run in parallel, and each may write the file.
    static FILE: Mutex<()> = Mutex::new(());
    let guard = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let accept = variable("LOCKSTEP_FIGURES").is_some_and(|word| word == "accept");
    let outcome = check_in(&file(), section, counted, accept);
    drop(guard);
    outcome.unwrap_or_else(|why| panic!("{why}"));
}

fn file() -> PathBuf {
    repository().join("benches/figures.toml")
}

fn check_in(
    path: &Path,
    section: &str,
    counted: &[(String, u64)],
    accept: bool,
) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let committed = read(&text, section).map_err(|why| format!("{}: {why}", path.display()))?;
    let differences = differences(&committed, counted);
    if differences.is_empty() {
        return Ok(());
    }
    if accept {
        let text = accepted(&text, section, &committed, counted);
        return fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()));
    }
    Err(format!(
        "[{section}] of benches/figures.toml differs from what was counted:\n{differences}\
         If the change is intended, run `make figures` and say why in the commit, also for a smaller figure."
    ))
}

/// Returns a line for each figure that differs.
fn differences(committed: &BTreeMap<String, Figure>, counted: &[(String, u64)]) -> String {
    let mut text = String::new();
    for (name, value) in counted {
        let line = match committed.get(name) {
            Some(figure) if figure.allows(*value) => continue,
            Some(figure) => format!("committed {}, counted {value}", figure.value),
            None => format!("not committed, counted {value}"),
        };
        let _ = writeln!(text, "  {name}: {line}");
    }
    for (name, figure) in committed {
        if !counted.iter().any(|(other, _)| other == name) {
            let _ = writeln!(text, "  {name}: committed {}, not counted", figure.value);
        }
    }
    text
}

/// Returns the figures of a section by name.
fn read(text: &str, section: &str) -> Result<BTreeMap<String, Figure>, String> {
    let mut figures = BTreeMap::new();
    let mut current = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            current = Some(name);
            continue;
        }
        let wrong = |rule: &str| format!("line {} is {line:?}, but {rule}", number + 1);
        let (name, value, tolerance) = parts(line)
            .ok_or_else(|| wrong(r#"must be "name" = { value = 26, tolerance = "0" }"#))?;
        let value = value.parse();
        let figure = Figure {
            value: value.map_err(|_| wrong("value must be a whole number"))?,
            tolerance: parse_tolerance(tolerance)
                .ok_or_else(|| wrong("tolerance must be a whole number, or one with %"))?,
            line: number,
        };
        if current == Some(section) && figures.insert(name.to_owned(), figure).is_some() {
            return Err(wrong("must have a name that the section does not have yet"));
        }
    }
    Ok(figures)
}

fn parts(line: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = line.strip_prefix('"')?.split_once("\" = { value = ")?;
    let (value, rest) = rest.split_once(", tolerance = \"")?;
    Some((name, value, rest.strip_suffix("\" }")?))
}

fn parse_tolerance(text: &str) -> Option<Tolerance> {
    match text.strip_suffix('%') {
        Some(share) => share.parse().map(Tolerance::Percent).ok(),
        None => text.parse().map(Tolerance::Units).ok(),
    }
}

/// Returns the text with the counted values of a section. A figure within its tolerance keeps its line. A new
/// figure is added at the end of the section with a tolerance of 0, and one that was not counted is removed.
fn accepted(
    text: &str,
    section: &str,
    committed: &BTreeMap<String, Figure>,
    counted: &[(String, u64)],
) -> String {
    let mut lines: Vec<_> = text.lines().map(|line| Some(line.to_owned())).collect();
    for (name, figure) in committed {
        let fresh = counted.iter().find(|(other, _)| other == name);
        let line = &mut lines[figure.line];
        match fresh {
            Some((_, value)) if figure.allows(*value) => {}
            Some((_, value)) => {
                let old = format!("value = {},", figure.value);
                let new = format!("value = {value},");
                *line = line.as_deref().map(|line| line.replacen(&old, &new, 1));
            }
            None => *line = None,
        }
    }
    let new = counted
        .iter()
        .filter(|(name, _)| !committed.contains_key(name));
    let new =
        new.map(|(name, value)| format!(r#""{name}" = {{ value = {value}, tolerance = "0" }}"#));
    let header = format!("[{section}]");
    let start = lines
        .iter()
        .position(|line| line.as_deref() == Some(&header));
    let start = start.unwrap_or_else(|| {
        lines.extend([Some(String::new()), Some(header)]);
        lines.len() - 1
    });
    let within = lines[start + 1..].iter();
    let within = within.take_while(|line| !line.as_ref().is_some_and(|line| line.is_empty()));
    let end = start + 1 + within.count();
    lines.splice(end..end, new.map(Some));
    let lines: Vec<_> = lines.into_iter().flatten().collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Why.\n[runs]\n\"transitions\" = { value = 26, tolerance = \"0\" }\n\
        \"bytes\" = { value = 1000, tolerance = \"2%\" }\n\n[sizes]\n\"bytes\" = { value = 7, tolerance = \"1\" }\n";

    fn counted(figures: &[(&str, u64)]) -> Vec<(String, u64)> {
        let figures = figures.iter();
        figures
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect()
    }

    fn compared(section: &str, figures: &[(&str, u64)]) -> String {
        let committed = read(TEXT, section).expect("a valid file");
        differences(&committed, &counted(figures))
    }

    #[test]
    fn a_count_beyond_its_tolerance_above_or_below_differs() {
        for bytes in [980, 1000, 1020] {
            assert_eq!(
                compared("runs", &[("transitions", 26), ("bytes", bytes)]),
                ""
            );
        }
        for bytes in [979, 1021] {
            let expected = format!("  bytes: committed 1000, counted {bytes}\n");
            assert_eq!(
                compared("runs", &[("transitions", 26), ("bytes", bytes)]),
                expected
            );
        }
        assert_eq!(compared("sizes", &[("bytes", 8)]), "");
        assert_ne!(compared("sizes", &[("bytes", 9)]), "");
        for transitions in [25, 27] {
            let differs = compared("runs", &[("transitions", transitions), ("bytes", 1000)]);
            assert!(differs.contains("transitions: committed 26"), "{differs}");
        }
    }

    #[test]
    fn a_figure_that_is_only_committed_or_only_counted_differs() {
        let differs = compared("runs", &[("transitions", 26), ("events", 5)]);
        assert_eq!(
            differs,
            "  events: not committed, counted 5\n  bytes: committed 1000, not counted\n"
        );
    }

    #[test]
    fn accepting_figures_changes_only_those_that_differ() {
        let committed = read(TEXT, "runs").expect("a valid file");
        let fresh = counted(&[("transitions", 25), ("bytes", 1001), ("events", 5)]);
        let text = accepted(TEXT, "runs", &committed, &fresh);

        let lines = "\"bytes\" = { value = 1000, tolerance = \"2%\" }\n\
                     \"events\" = { value = 5, tolerance = \"0\" }\n\n[sizes]";
        let expected = TEXT.replace("value = 26", "value = 25");
        let bytes = lines.split_once('\n').map(|(first, _)| first);
        let expected =
            expected.replace(&format!("{}\n\n[sizes]", bytes.unwrap_or_default()), lines);
        assert_eq!(text, expected);
    }

    #[test]
    fn accepting_figures_adds_a_section_and_removes_uncounted_figures() {
        let text = accepted(TEXT, "new", &BTreeMap::new(), &counted(&[("a", 1)]));
        assert_eq!(
            text,
            format!("{TEXT}\n[new]\n\"a\" = {{ value = 1, tolerance = \"0\" }}\n")
        );

        let committed = read(TEXT, "sizes").expect("a valid file");
        let text = accepted(TEXT, "sizes", &committed, &[]);
        assert!(text.ends_with("\n[sizes]\n"), "{text}");
    }

    #[test]
    fn a_line_that_is_no_figure_is_named_with_its_number_and_the_rule() {
        for (line, rule) in [
            ("a = 1", "must be"),
            (
                r#""a" = { value = many, tolerance = "0" }"#,
                "value must be",
            ),
            (
                r#""a" = { value = 1, tolerance = "some" }"#,
                "tolerance must be",
            ),
            (
                r#""bytes" = { value = 1, tolerance = "0" }"#,
                "does not have yet",
            ),
        ] {
            let failure = read(&format!("{TEXT}{line}\n"), "sizes").expect_err(line);
            assert!(
                failure.starts_with("line 8 is") && failure.contains(rule),
                "{failure}"
            );
        }
    }

    #[test]
    fn the_committed_figures_can_be_read() {
        let text = fs::read_to_string(file()).expect("benches/figures.toml");
        read(&text, "").expect("a valid file");
    }
}
