//! What a proof found: what worked, and what of it is wrong.

mod report;

use super::plan::{Plan, Run};
use crate::judge::{Container, Expected, Violation};
use std::collections::BTreeMap;

/// The work of a run, as its witnesses saw it.
#[derive(Clone, Debug)]
pub struct Work {
    /// The number of its run.
    pub run: usize,
    /// The container, process or state that worked.
    pub container: Container,
}

/// What the starter of a run was told at its end, such as `SUCCEEDED` or `exit 0`. `None`: it has not ended.
pub type Told = BTreeMap<usize, Option<String>>;

/// A deployment, from its begin to its end in epoch milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Deployment {
    /// When it began.
    pub began: u64,
    /// When it had ended.
    pub ended: u64,
    /// How many runs were in the queues when it began.
    pub waiting: usize,
}

impl Deployment {
    /// Returns how long it took.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        (self.ended - self.began) as f64 / 1000.0
    }
}

/// All that a proof has seen.
#[derive(Debug)]
pub struct Seen {
    /// Which runs there were.
    pub plan: Plan,
    /// What worked.
    pub works: Vec<Work>,
    /// What the starters were told.
    pub told: Told,
    /// The upgrade and the rollback.
    pub deployments: [Deployment; 2],
    /// How many functions and definitions the upgrade changed.
    pub changed: usize,
    /// What the functions of one version refused to the commands of an operator, of either version.
    pub refused: Vec<String>,
    /// What was not in flight at a deployment, so that the proof shows less than it was asked for.
    pub lacks: Vec<String>,
}

/// What is wrong, by kind. Each entry is a line for a reader.
#[derive(Debug, Default)]
pub struct Faults {
    /// More runs of a lock at once than it has permits.
    pub overlaps: Vec<String>,
    /// Runs that were accepted and whose work was not done.
    pub lost: Vec<String>,
    /// Runs whose work was done more than once.
    pub twice: Vec<String>,
    /// Work that was stopped or failed before its end.
    pub cut_off: Vec<String>,
    /// Fencing tokens that two runs share, or that fell.
    pub tokens: Vec<String>,
    /// Commands of operators that the functions of the other version refused.
    pub refused: Vec<String>,
}

impl Seen {
    /// Returns what is wrong with what the witnesses saw.
    #[must_use]
    pub fn faults(&self) -> Faults {
        let mut faults = Faults {
            refused: self.refused.clone(),
            ..Faults::default()
        };
        for lock in &self.plan.locks {
            let of_lock: Vec<_> = self
                .works
                .iter()
                .map(|work| work.container.clone())
                .collect();
            let of_lock: Vec<_> = of_lock
                .into_iter()
                .filter(|one| one.lock == lock.name)
                .collect();
            for violation in Expected::permits(lock.permits).violations(&of_lock) {
                let line = format!("{}: {violation}", lock.name);
                match violation {
                    Violation::Overlap { .. } => faults.overlaps.push(line),
                    Violation::SharedToken { .. } | Violation::TokenFell { .. } => {
                        faults.tokens.push(line)
                    }
                    // A second success is found below, and so is a stop, also of a run without a key.
                    Violation::SucceededTwice { .. } | Violation::LiveStopped { .. } => {}
                }
            }
        }
        for work in self.works.iter().filter(|work| !work.container.succeeded()) {
            let Container {
                exit_code,
                stopped,
                ended,
                ..
            } = &work.container;
            let line = format!(
                "{}: exit code {exit_code:?}, end {ended:?}, order {stopped:?}",
                self.name(work.run)
            );
            faults.cut_off.push(line);
        }
        let mut groups: BTreeMap<String, Vec<&Run>> = BTreeMap::new();
        for run in self
            .plan
            .runs
            .iter()
            .filter(|run| self.told.contains_key(&run.id))
        {
            let key = run
                .run_key
                .clone()
                .unwrap_or_else(|| format!("run {}", run.id));
            groups.entry(key).or_default().push(run);
        }
        for runs in groups.values() {
            self.count(runs, &mut faults);
        }
        faults
    }

    /// Notes runs with one work between them of which none or more than one was done.
    fn count(&self, runs: &[&Run], faults: &mut Faults) {
        let own = |work: &&Work| runs.iter().any(|run| run.id == work.run);
        let done = self
            .works
            .iter()
            .filter(own)
            .filter(|work| work.container.succeeded());
        let names = runs.iter().map(|run| {
            let told = self.told[&run.id].as_deref().unwrap_or("still runs");
            format!("{}: {told}", self.name(run.id))
        });
        match done.count() {
            0 => faults.lost.push(names.collect::<Vec<_>>().join("; ")),
            1 => {}
            _ => faults.twice.push(names.collect::<Vec<_>>().join("; ")),
        }
    }

    fn name(&self, run: usize) -> String {
        let Run {
            lock,
            way,
            version,
            stage,
            ..
        } = &self.plan.runs[run];
        let lock = &self.plan.locks[*lock].name;
        format!("run {run} of {lock} ({way:?} by {version:?}, {stage:?})")
    }
}

impl Faults {
    /// Returns the faults of each kind, with the kind's name.
    #[must_use]
    pub fn kinds(&self) -> [(&'static str, &[String]); 6] {
        [
            ("overlaps", &self.overlaps),
            ("lost", &self.lost),
            ("twice", &self.twice),
            ("cut off", &self.cut_off),
            ("tokens", &self.tokens),
            ("refused", &self.refused),
        ]
    }

    /// Returns whether nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kinds().iter().all(|(_, lines)| lines.is_empty())
    }
}

#[cfg(test)]
mod tests;
