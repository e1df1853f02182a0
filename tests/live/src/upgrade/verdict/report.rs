//! What a proof reports: a table, and the same as JSON.

use super::{Deployment, Seen, Work};
use crate::judge::Container;
use crate::upgrade::plan::{Run, Stage, Way};
use serde_json::{Value, json};
use std::fmt;

/// The columns of the table: each name in JSON, and the head.
const COLUMNS: [(&str, &str); 7] = [
    ("accepted", "accepted"),
    ("atWorkAcrossUpgrade", "at work, upgrade"),
    ("waitedAcrossUpgrade", "in queue, upgrade"),
    ("atWorkAcrossRollback", "at work, rollback"),
    ("waitedAcrossRollback", "in queue, rollback"),
    ("done", "done"),
    ("duplicates", "duplicates"),
];
const ROWS: [(&str, Option<Way>); 4] = [
    ("tasks", Some(Way::Task)),
    ("workflows", Some(Way::Workflow)),
    ("processes", Some(Way::Process)),
    ("all", None),
];

impl Seen {
    /// Returns the counts of the runs of one way, or of all, in the order of [`COLUMNS`].
    fn counts(&self, way: Option<Way>) -> [usize; COLUMNS.len()] {
        let is_of = |run: usize| way.is_none_or(|way| self.plan.runs[run].way == way);
        let works: Vec<_> = self.works.iter().filter(|work| is_of(work.run)).collect();
        let across = |deployment: Deployment| {
            let during = |work: &&&Work| {
                let Container { started, ended, .. } = work.container;
                started < deployment.began && ended.is_none_or(|end| end > deployment.ended)
            };
            works.iter().filter(during).count()
        };
        let waited = |deployment: Deployment, stage: Stage| {
            let waits = |run: &&Run| {
                let mut own = works.iter().filter(|work| work.run == run.id);
                run.stage <= stage
                    && is_of(run.id)
                    && own.any(|work| work.container.started > deployment.ended)
            };
            self.plan.runs.iter().filter(waits).count()
        };
        let [upgrade, rollback] = self.deployments;
        let accepted = self.told.keys().filter(|run| is_of(**run)).count();
        let done = works
            .iter()
            .filter(|work| work.container.succeeded())
            .count();
        let duplicates = self
            .told
            .keys()
            .filter(|run| is_of(**run) && self.is_duplicate(**run));
        [
            accepted,
            across(upgrade),
            waited(upgrade, Stage::First),
            across(rollback),
            waited(rollback, Stage::Upgraded),
            done,
            duplicates.count(),
        ]
    }

    /// Returns what was not in flight at a deployment, so that the proof shows less than it was asked for. What a stage
    /// found before its deployment is in `lacks`; whether a run outlasted the deployment is known only at the end.
    #[must_use]
    pub fn not_shown(&self) -> Vec<String> {
        let all = self.counts(None);
        let at_work = [("upgrade", all[1]), ("rollback", all[3])];
        let none = at_work.into_iter().filter(|(_, count)| *count == 0);
        let none = none.map(|(what, _)| {
            format!("no run worked from before the {what} until after it: raise HOLD")
        });
        self.lacks.iter().cloned().chain(none).collect()
    }

    /// Returns whether a run did nothing because another one with its key has done its work.
    fn is_duplicate(&self, run: usize) -> bool {
        let of_key = |work: &&Work| {
            let key = &self.plan.runs[run].run_key;
            key.is_some() && self.plan.runs[work.run].run_key == *key
        };
        let mut of_key = self.works.iter().filter(of_key);
        self.works.iter().all(|work| work.run != run)
            && of_key.any(|work| work.container.succeeded())
    }

    /// Returns what was seen as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let faults = self.faults();
        let rows = ROWS.map(|(name, way)| {
            let counts = COLUMNS.iter().zip(self.counts(way));
            (
                name.to_owned(),
                counts
                    .map(|((name, _), count)| ((*name).to_owned(), json!(count)))
                    .collect(),
            )
        });
        let rows: serde_json::Map<String, Value> = rows.into_iter().collect();
        let deployments = self
            .deployments
            .map(|one| json!({ "seconds": one.seconds(), "inQueues": one.waiting }));
        let [upgrade, rollback] = deployments;
        json!({
            "runs": rows, "upgrade": upgrade, "rollback": rollback, "changed": self.changed, "notShown": self.not_shown(),
            "faults": faults.kinds().into_iter().map(|(kind, lines)| (kind.to_owned(), json!(lines)))
                .collect::<serde_json::Map<_, _>>(),
        })
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = COLUMNS.map(|(_, head)| head).join(" | ");
        writeln!(f, "| | {heads} |\n|---|{}", "---|".repeat(COLUMNS.len()))?;
        for (name, way) in ROWS {
            let counts = self.counts(way).map(|count| count.to_string()).join(" | ");
            writeln!(f, "| {name} | {counts} |")?;
        }
        let faults = self.faults();
        let counts = faults
            .kinds()
            .map(|(kind, lines)| format!("{kind}: {}", lines.len()));
        let seconds = self.deployments.map(|one| one.seconds());
        writeln!(
            f,
            "functions and definitions changed: {}; upgrade in {} s, rollback in {} s",
            self.changed, seconds[0], seconds[1]
        )?;
        writeln!(f, "{}", counts.join(", "))?;
        for line in self.not_shown() {
            writeln!(f, "not shown: {line}")?;
        }
        for (kind, lines) in faults.kinds() {
            for line in lines.iter().take(20) {
                writeln!(f, "{kind}: {line}")?;
            }
        }
        Ok(())
    }
}
