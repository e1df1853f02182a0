//! What both pictures, in the terminal and as SVG, have in common: rows, words and the time scale.

use super::{Execution, Fate, Millis, Timeline};
use lockstep::domain::{Timestamp, rfc3339};
use serde_json::Value;

/// The style of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its batch succeeded.
    Succeeded,
    /// It ended with an error.
    Failed,
    /// It found the lock held.
    Skipped,
    /// Its run key was taken.
    Duplicate,
}

/// One execution, ready to be drawn.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its style.
    pub kind: Kind,
    /// When it was started.
    pub started: Millis,
    /// When it ended.
    pub ended: Millis,
    /// From its entry in the queue to its grant.
    pub waited: Option<(Millis, Millis)>,
    /// From the grant to the end of the permit.
    pub held: Option<(Millis, Millis)>,
    /// From the container's first line to its last.
    pub worked: Option<(Millis, Millis)>,
    /// Renewals: when, and the new end of the lease.
    pub renewals: Vec<(Millis, Millis)>,
    /// When it was evicted.
    pub evicted: Option<Millis>,
    /// When its execution was killed.
    pub killed: Option<Millis>,
    /// When it was found dead.
    pub recovered: Option<Millis>,
    /// When its container got SIGTERM.
    pub sigterm: Option<Millis>,
    /// A few words beside the bar.
    pub note: String,
    /// Everything that is known of it, one line for each fact.
    pub details: Vec<String>,
}

impl Row {
    /// Returns the row of an execution.
    pub fn of(timeline: &Timeline, execution: &Execution) -> Self {
        let (journal, holder) = (&timeline.journal, &execution.arn);
        let container = timeline.container(holder);
        // An evicted holder learns later that its permit ended, but it ended with the eviction.
        let end = timeline.evicted(holder).or_else(|| journal.end(holder));
        let held = journal.grant(holder);
        let held = held.map(|(at, _)| (at, end.unwrap_or(execution.ended)));
        let stop = |stopped: Option<Millis>| stopped.unwrap_or(execution.ended);
        let mut row = Self {
            name: execution.name.clone(),
            kind: match execution.fate {
                Fate::Succeeded => Kind::Succeeded,
                Fate::Failed { .. } => Kind::Failed,
                Fate::Skipped { .. } => Kind::Skipped,
                Fate::Duplicate { .. } => Kind::Duplicate,
            },
            started: execution.started,
            ended: execution.ended,
            waited: journal.wait(holder),
            held,
            worked: container.map(|known| (known.start, stop(known.end))),
            renewals: journal.renewals(holder).collect(),
            evicted: timeline.evicted(holder),
            killed: timeline.killed(holder),
            recovered: journal.recovered(holder),
            sigterm: container.and_then(|known| known.sigterm),
            note: String::new(),
            details: Vec::new(),
        };
        row.note = row.words(timeline, execution);
        row.details = row.all(timeline, execution);
        row
    }

    fn words(&self, timeline: &Timeline, execution: &Execution) -> String {
        match &execution.fate {
            Fate::Skipped { holder, .. } => {
                format!("skipped: {} holds the lock", timeline.name_of(holder))
            }
            Fate::Duplicate { holder, .. } => {
                format!("duplicate: {} has done this tick", timeline.name_of(holder))
            }
            Fate::Succeeded => {
                let token = timeline.journal.grant(&execution.arn);
                let token = token.map_or("?".into(), |(_, token)| token.to_string());
                let renewals = match self.renewals.len() {
                    1 => "1 renewal".into(),
                    count => format!("{count} renewals"),
                };
                match self.waited {
                    Some((from, to)) => {
                        let waited = seconds(to.saturating_sub(from));
                        format!("token {token}, waited {waited}")
                    }
                    None => format!("token {token}, {renewals}"),
                }
            }
            Fate::Failed { error, .. } if self.killed.is_some() => self.death(error),
            Fate::Failed { error, cause } => match (self.evicted, self.sigterm, exit_code(cause)) {
                (Some(evicted), Some(sigterm), _) => {
                    let after = seconds(sigterm.saturating_sub(evicted));
                    format!("{error}, SIGTERM after {after}")
                }
                (_, _, Some(code)) => format!("{error}, exit code {code}"),
                _ => error.clone(),
            },
        }
    }

    fn death(&self, error: &str) -> String {
        let (Some(killed), Some(recovered)) = (self.killed, self.recovered) else {
            return format!("{error}, never recovered");
        };
        let after = seconds(recovered.saturating_sub(killed));
        format!("{error}, recovered after {after}")
    }

    /// Returns its last moment in the picture.
    pub fn last(&self) -> Millis {
        let bars = [self.held, self.worked].into_iter().flatten();
        bars.map(|(_, to)| to).fold(self.ended, Millis::max)
    }

    fn all(&self, timeline: &Timeline, execution: &Execution) -> Vec<String> {
        let clock = |at: Millis| rfc3339(Timestamp::from_millis(at));
        let mut lines = vec![
            format!("{}: {}", self.name, self.note),
            execution.arn.clone(),
            format!("started {}", clock(self.started)),
        ];
        lines.extend(self.waited.map(|(at, _)| format!("queued {}", clock(at))));
        let grant = timeline.journal.grant(&execution.arn);
        lines.extend(grant.map(|(at, token)| format!("granted {} with token {token}", clock(at))));
        if let Some(container) = timeline.container(&execution.arn) {
            let (id, from) = (&container.id, clock(container.start));
            lines.push(format!("container {id} started {from}"));
            lines.extend(self.sigterm.map(|at| format!("SIGTERM {}", clock(at))));
            lines.extend(
                container
                    .done()
                    .map(|at| format!("work done {}", clock(at))),
            );
        }
        lines.extend(self.killed.map(|at| format!("killed {}", clock(at))));
        lines.extend(self.recovered.map(|at| format!("recovered {}", clock(at))));
        let span = seconds(self.ended.saturating_sub(self.started));
        lines.push(format!("ended {} after {span}", clock(self.ended)));
        match &execution.fate {
            Fate::Skipped { message, .. } | Fate::Duplicate { message, .. } => {
                lines.push(message.clone());
            }
            Fate::Failed { cause, .. } => lines.push(cause.chars().take(300).collect()),
            Fate::Succeeded => {}
        }
        lines
    }
}

/// Reads the exit code in the cause of a failed task: `ecs:runTask.sync` gives the task as JSON.
fn exit_code(cause: &str) -> Option<i64> {
    let task: Value = serde_json::from_str(cause).ok()?;
    let mut containers = task["Containers"].as_array()?.iter();
    containers.find_map(|container| container["ExitCode"].as_i64())
}

/// Returns a length of time in seconds, with one decimal.
pub fn seconds(millis: Millis) -> String {
    let tenths = (millis + 50) / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

/// Places in the picture for moments.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    start: Millis,
    length: Millis,
    width: f64,
}

impl Scale {
    /// Returns a scale with places from 0 to `width` for all of a timeline.
    pub fn new(timeline: &Timeline, width: f64) -> Self {
        let start = timeline.start();
        Self {
            start,
            length: timeline.end() - start,
            width,
        }
    }

    /// Returns the place of a moment.
    pub fn at(&self, moment: Millis) -> f64 {
        let since = moment.saturating_sub(self.start).min(self.length);
        since as f64 / self.length as f64 * self.width
    }

    /// Returns how long after the start a moment is.
    pub fn since(&self, moment: Millis) -> String {
        seconds(moment.saturating_sub(self.start))
    }

    /// Returns round seconds since the start, at most ten of them, and their places.
    pub fn marks(&self) -> impl Iterator<Item = (Millis, f64)> + '_ {
        let steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600];
        let fits = |step: &Millis| self.length / (step * 1000) < 10;
        let step = steps.into_iter().find(fits).unwrap_or(3600);
        let marks = (0..).map(move |index| index * step);
        marks
            .take_while(|second| second * 1000 <= self.length)
            .map(|second| (second, self.at(self.start + second * 1000)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::sample::sample;

    #[test]
    fn notes_say_who_held_the_lock_and_how_a_run_ended() {
        let timeline = sample();
        let rows = timeline.executions.iter();
        let rows = rows.map(|execution| Row::of(&timeline, execution));
        let notes: Vec<_> = rows.map(|row| row.note).collect();

        assert_eq!(notes[0], "skipped: a2 holds the lock");
        assert_eq!(notes[1], "token 101, 2 renewals");
        let find = |part: &str| notes.iter().any(|note| note == part);
        assert!(find("duplicate: a2 has done this tick"));
        assert!(find("States.TaskFailed, exit code 1"));
        assert!(find("Lockstep.LeaseLost, SIGTERM after 0.7 s"));
        assert!(find("ABORTED, recovered after 1.2 s"));
        assert!(find("token 108, waited 2.6 s"));
    }

    #[test]
    fn marks_are_round_seconds_within_the_picture() {
        let timeline = sample();
        let scale = Scale::new(&timeline, 100.0);
        let marks: Vec<_> = scale.marks().collect();

        assert_eq!(marks[0], (0, 0.0));
        assert!(marks.len() > 3 && marks.len() <= 10);
        assert!(marks.iter().all(|(_, place)| *place <= 100.0));
    }

    #[test]
    fn moments_outside_the_picture_stay_at_its_border() {
        let timeline = sample();
        let scale = Scale::new(&timeline, 100.0);

        assert_eq!(scale.at(0), 0.0);
        assert_eq!(scale.at(crate::timeline::sample::END + 999_999), 100.0);
    }
}
