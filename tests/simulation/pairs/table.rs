//! The table of pairs: in how many worlds each pair met each event, and the bounds that follow for
//! other worlds.

use super::{Event, Facet, impossible};
use crate::shares::Share;
use lockstep_tests::repository;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

/// Which pairs have met which events in one world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Met(BTreeMap<(Event, Facet), u32>);

/// In how many worlds each pair has met each event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worlds(BTreeMap<(Event, Facet, Facet), u64>);

impl Met {
    /// Notes that a run with the options `own` meets an event, beside runs with the options `all`.
    pub(super) fn add(&mut self, event: Event, own: u32, all: u32) {
        for facet in Facet::ALL.iter().filter(|facet| own & facet.bit() > 0) {
            let others = (own | all & facet.family()) & !facet.bit();
            *self.0.entry((event, *facet)).or_default() |= others;
        }
    }
}

impl Worlds {
    /// Adds one world.
    pub(crate) fn add(&mut self, met: &Met) {
        for ((event, one), others) in &met.0 {
            let others = Facet::ALL.iter().filter(|other| others & other.bit() > 0);
            for other in others.filter(|other| *other > one) {
                *self.0.entry((*event, *one, *other)).or_default() += 1;
            }
        }
    }

    fn of(&self, cell: (Event, Facet, Facet)) -> u64 {
        self.0.get(&cell).copied().unwrap_or_default()
    }
}

/// Returns every pair, in the order of the table.
fn cells() -> impl Iterator<Item = (Facet, Facet)> {
    let all = Facet::ALL.iter();
    all.flat_map(|one| {
        let behind = Facet::ALL.iter().filter(move |other| *other > one);
        behind.map(move |other| (*one, *other))
    })
}

fn path() -> std::path::PathBuf {
    repository().join("tests/simulation/pairs.md")
}

/// Writes the table of `worlds` worlds.
pub(crate) fn write(met: &Worlds, worlds: u64) {
    let text = render(met, worlds);
    fs::write(path(), text).expect("the table can be written");
}

fn render(met: &Worlds, worlds: u64) -> String {
    let mut text = format!(
        "# Which options meet which events\n\n\
         Of {worlds} simulated worlds (`make test-sim`), each cell has the number of those in which a pair of options met an event. A pair is of one run, or, for two \
         values of one option, of two runs at one lock.\n\
         An eviction, a redrive and an ignored SIGTERM happen to a run, the others to its lock or to everybody. `-` stands for a \
         combination that cannot occur.\n\n\
         The gate asserts for each cell that its worlds agree with the table within seven standard deviations, and that a cell that \
         this lets it expect is not empty. `LOCKSTEP_SHARES=accept LOCKSTEP_SEEDS={worlds} make test-sim` writes this page.\n\n## What cannot occur\n\n"
    );
    let mut reasons = BTreeMap::<&str, Vec<String>>::new();
    for (one, other) in cells() {
        let always = Event::ALL
            .iter()
            .map(|event| impossible(one, other, *event));
        if let Some(why) = always
            .clone()
            .next()
            .flatten()
            .filter(|why| always.clone().all(|it| it == Some(*why)))
        {
            let pair = format!("{} with {}", one.name(), other.name());
            reasons.entry(why).or_default().push(pair);
        }
    }
    for (why, pairs) in reasons {
        let _ = writeln!(text, "- {}: {why}.", pairs.join("; "));
    }
    for event in Event::ALL {
        for facet in Facet::ALL {
            let alone = Facet::ALL.iter().find(|other| **other != *facet).copied();
            let why = alone.and_then(|other| impossible(*facet, other, *event));
            let whatever = Facet::ALL.iter().filter(|other| *other != facet);
            let mut whatever = whatever.map(|other| impossible(*facet, *other, *event).is_some());
            if let Some(why) = why.filter(|_| whatever.all(|is| is)) {
                let _ = writeln!(text, "- {} with {}: {why}.", facet.name(), event.name());
            }
        }
    }
    text.push_str("\n## The counts\n\n| pair |");
    Event::ALL.iter().for_each(|event| {
        let _ = write!(text, " {} |", event.name());
    });
    text.push_str("\n|---|");
    Event::ALL.iter().for_each(|_| text.push_str("---:|"));
    for (one, other) in cells() {
        let _ = write!(text, "\n| {}, {} |", one.name(), other.name());
        for event in Event::ALL {
            let _ = match impossible(one, other, *event) {
                Some(_) => write!(text, " - |"),
                None => write!(text, " {} |", met.of((*event, one, other))),
            };
        }
    }
    text.push('\n');
    text
}

/// Compares the pairs of `worlds` worlds with the table. Returns what is wrong, and how many cells
/// must not be empty.
pub(crate) fn check(met: &Worlds, worlds: u64) -> (Vec<String>, usize) {
    let text = fs::read_to_string(path()).unwrap_or_default();
    let mut words = text
        .split_whitespace()
        .skip_while(|word| *word != "Of")
        .skip(1);
    let sample: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    let lines = text
        .lines()
        .filter(|line| line.starts_with("| `") || line.starts_with("| a"));
    let lines: Vec<Vec<&str>> = lines
        .chain(text.lines().filter(|line| line.starts_with("| the states")))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let mut wrong = Vec::new();
    let mut asserted = 0;
    for (one, other) in cells() {
        let name = format!("{}, {}", one.name(), other.name());
        let row = lines.iter().find(|row| row.get(1) == Some(&name.as_str()));
        for (column, event) in (2..).zip(Event::ALL) {
            let cell = row
                .and_then(|row| row.get(column))
                .copied()
                .unwrap_or_default();
            let counted = met.of((*event, one, other));
            if impossible(one, other, *event).is_some() {
                if counted > 0 || cell != "-" {
                    wrong.push(format!(
                        "{name}, {}: {counted}, but it cannot occur",
                        event.name()
                    ));
                }
                continue;
            }
            let Ok(known) = cell.parse::<u64>() else {
                wrong.push(format!("{name}, {}: not in the table", event.name()));
                continue;
            };
            let (least, most) = Share::of_worlds(known, sample).bounds(worlds);
            asserted += usize::from(least > 0);
            if counted < least || counted > most {
                wrong.push(format!(
                    "{name}, {}: {counted}, but {least} to {most} expected",
                    event.name()
                ));
            }
        }
    }
    (wrong, asserted)
}
