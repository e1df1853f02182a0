//! Bounds that follow from shares: how often something happens in a world, and how much that
//! varies.
//!
//! Worlds are independent. So the sum over many of them is within seven standard deviations of its
//! mean, whatever their seeds: no bound is tuned to the seeds of the gate.

use crate::world::Tally;
use lockstep_tests::repository;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// How many standard deviations a bound allows.
const DEVIATIONS: f64 = 7.0;

/// How often something happens in one world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share {
    mean: f64,
    deviation: f64,
    /// In how many worlds that was counted.
    sample: u64,
}

/// Sums over worlds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums(BTreeMap<&'static str, Sum>);

/// How often something was counted, the squares of these counts, and in how many worlds it was
/// counted.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    times: u64,
    squares: u64,
    worlds: u64,
}

/// What a bound is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// How often it happened.
    Times,
    /// In how many worlds it happened, which varies less.
    Worlds,
}

impl Share {
    /// Returns the share of worlds in which something happens: it did in `times` of `sample`.
    #[expect(clippy::cast_precision_loss, reason = "counts of worlds are small")]
    pub(crate) fn of_worlds(times: u64, sample: u64) -> Self {
        let mean = times as f64 / sample as f64;
        Self {
            mean,
            deviation: (mean * (1.0 - mean)).sqrt(),
            sample,
        }
    }

    /// Returns the least and the most in `worlds` worlds. Both the worlds and the sample vary.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are small, and a bound below zero is zero"
    )]
    pub(crate) fn bounds(self, worlds: u64) -> (u64, u64) {
        let (worlds, sample) = (worlds as f64, self.sample as f64);
        let (mean, spread) = (
            worlds * self.mean,
            (worlds * (1.0 + worlds / sample)).sqrt(),
        );
        // What the sample never met may still happen in one of as many worlds.
        let deviation = self.deviation.max((1.0 / sample).sqrt());
        let apart = DEVIATIONS * spread * deviation;
        (
            (mean - apart).max(0.0).floor() as u64,
            (mean + apart).ceil() as u64,
        )
    }
}

impl Sums {
    /// Adds one world.
    pub(crate) fn add(&mut self, tally: &Tally) {
        for (what, times) in tally {
            let sum = self.0.entry(what).or_default();
            sum.times += times;
            sum.squares += times * times;
            sum.worlds += u64::from(*times > 0);
        }
    }

    pub(crate) fn of(&self, what: &str, of: Of) -> u64 {
        let sum = self.0.get(what).copied().unwrap_or_default();
        match of {
            Of::Times => sum.times,
            Of::Worlds => sum.worlds,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of worlds are small")]
    fn share(&self, what: &str, of: Of, sample: u64) -> Share {
        let sum = self.0.get(what).copied().unwrap_or_default();
        if of == Of::Worlds {
            return Share::of_worlds(sum.worlds, sample);
        }
        let mean = sum.times as f64 / sample as f64;
        let variance = sum.squares as f64 / sample as f64 - mean * mean;
        let deviation = variance.max(0.0).sqrt();
        Share {
            mean,
            deviation,
            sample,
        }
    }
}

fn path() -> PathBuf {
    repository().join("tests/simulation/shares.md")
}

/// Writes how often each of `names` happened in `worlds` worlds.
pub(crate) fn write(sums: &Sums, names: &[(&str, Of)], worlds: u64) {
    let mut text = format!(
        "# How often things happen in a simulated world\n\n\
         Counted in {worlds} worlds. A bound of the gate follows from mean and deviation, with seven standard deviations \
         for its own worlds.\n\
         An excuse is counted by runs, everything else by worlds in which it happens. \
         `LOCKSTEP_SHARES=accept LOCKSTEP_SEEDS={worlds} make test-sim` writes this page.\n\n\
         | what | mean | deviation |\n|---|---:|---:|\n"
    );
    for (name, of) in names {
        let Share {
            mean, deviation, ..
        } = sums.share(name, *of, worlds);
        let _ = writeln!(text, "| {name} | {mean:.4} | {deviation:.4} |");
    }
    fs::write(path(), text).expect("the shares can be written");
}

/// Returns the share of `what` that the file contains.
pub(crate) fn known(what: &str) -> Option<Share> {
    let text = fs::read_to_string(path()).ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("| {what} |")))?;
    let numbers: Vec<f64> = line
        .split('|')
        .filter_map(|cell| cell.trim().parse().ok())
        .collect();
    let mut words = text
        .split_whitespace()
        .skip_while(|word| *word != "Counted")
        .skip(2);
    Some(Share {
        mean: *numbers.first()?,
        deviation: *numbers.get(1)?,
        sample: words.next()?.parse().ok()?,
    })
}
