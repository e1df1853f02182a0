//! The figures of a demo.

use crate::stack::{Run, overlaps_of};
use crate::timeline::{Execution, Fate, Timeline};
use std::fmt;

/// The figures at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Executions started.
    pub executions: usize,
    /// Containers that worked.
    pub runs: usize,
    /// Executions that found the lock held.
    pub skipped: usize,
    /// Executions whose run key was taken.
    pub duplicates: usize,
    /// Executions that failed.
    pub failed: usize,
    /// Executions that were found dead, and their permits freed.
    pub recovered: usize,
    /// Executions that waited in the queue until their turn came.
    pub waited: usize,
    /// Renewals of leases.
    pub renewals: usize,
    /// Whether the containers' fencing tokens grow from each to the next.
    pub tokens_grow: bool,
    /// Pairs of containers that worked at the same time.
    pub overlaps: usize,
}

impl Summary {
    /// The figures of a timeline.
    pub fn of(timeline: &Timeline) -> Self {
        let executions = &timeline.executions;
        let count = |wanted: fn(&Fate) -> bool| {
            let fates = executions.iter().map(|execution| &execution.fate);
            fates.filter(|fate| wanted(fate)).count()
        };
        let renewals = |execution: &Execution| timeline.journal.renewals(&execution.arn).count();
        Self {
            executions: executions.len(),
            runs: timeline.containers.len(),
            skipped: count(|fate| matches!(fate, Fate::Skipped { .. })),
            duplicates: count(|fate| matches!(fate, Fate::Duplicate { .. })),
            failed: count(|fate| matches!(fate, Fate::Failed { .. })),
            recovered: number(executions, |one| {
                timeline.journal.recovered(&one.arn).is_some()
            }),
            waited: number(executions, |one| timeline.journal.wait(&one.arn).is_some()),
            renewals: executions.iter().map(renewals).sum(),
            tokens_grow: tokens_grow(&timeline.containers),
            overlaps: overlaps_of(&timeline.containers, 1),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grow = if self.tokens_grow { "yes" } else { "no" };
        writeln!(f, "executions: {}", self.executions)?;
        writeln!(f, "runs: {}", self.runs)?;
        writeln!(f, "skipped: {}", self.skipped)?;
        writeln!(f, "duplicates: {}", self.duplicates)?;
        writeln!(f, "failed: {}", self.failed)?;
        writeln!(f, "recovered: {}", self.recovered)?;
        writeln!(f, "waited in the queue: {}", self.waited)?;
        writeln!(f, "renewals: {}", self.renewals)?;
        writeln!(f, "tokens strictly growing: {grow}")?;
        write!(f, "overlaps: {}", self.overlaps)
    }
}

fn number(executions: &[Execution], wanted: impl Fn(&Execution) -> bool) -> usize {
    executions.iter().filter(|one| wanted(one)).count()
}

/// Whether each container, in the order of their starts, has a larger token than the one before.
fn tokens_grow(containers: &[Run]) -> bool {
    let mut by_start: Vec<_> = containers.iter().collect();
    by_start.sort_by_key(|container| container.start);
    let tokens = by_start.into_iter().map(Run::token);
    tokens.is_sorted_by(|one, next| one < next)
}
