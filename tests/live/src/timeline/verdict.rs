//! Whether the demo came out as it should, judged afterwards from what was collected, and its
//! figures.

use super::{Execution, Fate, Scene, Timeline};
use crate::stack::{Run, overlaps};
use std::fmt;

/// Returns everything that is not as it should be. The list is empty when the demo succeeded.
pub fn problems(timeline: &Timeline) -> Vec<String> {
    let summary = Summary::of(timeline);
    let mut problems = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            problems.push(what);
        }
    };
    must(
        summary.overlaps == 0,
        format!("{} pairs of containers overlap", summary.overlaps),
    );
    must(summary.tokens_grow, "a fencing token did not grow".into());
    for scene in Scene::ALL {
        let right = came_out(timeline, scene);
        let wrong = || format!("{}: {}: did not come out so", scene.letter(), rule(scene));
        must(right, wrong());
    }
    for execution in &timeline.executions {
        let mut of_it = timeline.containers.iter();
        let ran = of_it.any(|container| container.holder() == execution.arn);
        let stepped_back = matches!(
            execution.fate,
            Fate::Skipped { .. } | Fate::Duplicate { .. }
        );
        let name = &execution.name;
        must(
            ran != stepped_back,
            format!("{name}: {:?}, but container ran: {ran}", execution.fate),
        );
    }
    problems
}

const fn rule(scene: Scene) -> &'static str {
    match scene {
        Scene::Burst => "one runs, longer than two leases; all others name it and step back",
        Scene::Overlap => "skipped, and names the holder",
        Scene::Redelivery => "duplicate of the run that had succeeded",
        Scene::Next => "runs",
        Scene::Failure => "fails with the task's error, and the next one runs",
        Scene::Eviction => "container gets SIGTERM, Lockstep.LeaseLost, and the next one runs",
        Scene::Kill => "recovered on evidence, and those that wait run one after the other",
    }
}

fn came_out(timeline: &Timeline, scene: Scene) -> bool {
    let of_scene: Vec<_> = timeline.of_scene(scene).collect();
    let succeeded = |execution: &Execution| execution.fate == Fate::Succeeded;
    let first = timeline
        .of_scene(Scene::Burst)
        .find(|execution| succeeded(execution));
    let is_first = |arn: &str| first.is_some_and(|first| first.arn == arn);
    let names_first = |execution: &Execution| match &execution.fate {
        Fate::Skipped { holder, .. } | Fate::Duplicate { holder, .. } => is_first(holder),
        _ => false,
    };
    let sigterm = |one: &Execution| timeline.container(&one.arn).and_then(|known| known.sigterm);
    match (scene, of_scene.as_slice()) {
        (Scene::Burst, all) => {
            let others = all.iter().filter(|one| !is_first(&one.arn));
            let two_leases = u64::from(timeline.lease_seconds) * 2000;
            let container = first.and_then(|first| timeline.container(&first.arn));
            let long = container.and_then(|it| Some(it.end? - it.start > two_leases));
            all.len() > 1 && others.into_iter().all(|one| names_first(one)) && long == Some(true)
        }
        (Scene::Overlap, [one]) => matches!(one.fate, Fate::Skipped { .. }) && names_first(one),
        (Scene::Redelivery, [one]) => {
            matches!(one.fate, Fate::Duplicate { .. }) && names_first(one)
        }
        (Scene::Next, [one]) => succeeded(one),
        (Scene::Failure, [one, next]) => {
            matches!(&one.fate, Fate::Failed { error, .. } if !error.starts_with("Lockstep."))
                && succeeded(next)
        }
        (Scene::Eviction, [one, next]) => {
            matches!(&one.fate, Fate::Failed { error, .. } if error == "Lockstep.LeaseLost")
                && sigterm(one).is_some()
                && succeeded(next)
        }
        (Scene::Kill, [one, second, third]) => {
            let journal = &timeline.journal;
            let in_turn = [one, second, third].map(|one| journal.grant(&one.arn));
            let waited = |one: &Execution| journal.wait(&one.arn).is_some();
            matches!(&one.fate, Fate::Failed { error, .. } if error == "ABORTED")
                && journal.recovered(&one.arn).is_some()
                && [second, third]
                    .into_iter()
                    .all(|one| succeeded(one) && waited(one))
                && in_turn.is_sorted()
        }
        _ => false,
    }
}

/// The figures at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Executions that were started.
    pub executions: usize,
    /// Containers that worked.
    pub runs: usize,
    /// Executions that found the lock held.
    pub skipped: usize,
    /// Executions whose run key was taken.
    pub duplicates: usize,
    /// Executions that failed.
    pub failed: usize,
    /// Executions that were found dead and whose permits were freed.
    pub recovered: usize,
    /// Executions that waited in the queue until they were granted.
    pub waited: usize,
    /// Renewals of leases.
    pub renewals: usize,
    /// Whether each container has a larger fencing token than the one before.
    pub tokens_grow: bool,
    /// Pairs of containers that worked at the same time.
    pub overlaps: usize,
}

impl Summary {
    /// Returns the figures of a timeline.
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
            overlaps: overlaps(&timeline.containers, 1),
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

/// Returns whether each container, in the order of their starts, has a larger token than the one
/// before.
fn tokens_grow(containers: &[Run]) -> bool {
    let mut by_start: Vec<_> = containers.iter().collect();
    by_start.sort_by_key(|container| container.start);
    let tokens = by_start.into_iter().map(Run::token);
    tokens.is_sorted_by(|one, next| one < next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::journal::Journal;
    use crate::timeline::sample::{arn, sample};

    /// Returns the problems of a sample that `spoil` has changed.
    fn problems_after(spoil: fn(&mut Timeline)) -> Vec<String> {
        let mut timeline = sample();
        spoil(&mut timeline);
        problems(&timeline)
    }

    #[test]
    fn a_demo_that_came_out_as_it_should_has_no_problem() {
        assert_eq!(problems(&sample()), Vec::<String>::new());
        let summary = Summary::of(&sample());
        assert_eq!((summary.runs, summary.skipped), (9, 2));
        assert_eq!((summary.duplicates, summary.failed), (1, 3));
        assert_eq!((summary.recovered, summary.waited), (1, 2));
    }

    #[test]
    fn two_containers_at_once_are_a_problem() {
        let found = problems_after(|timeline| timeline.containers[1].start -= 6_000);
        assert!(found[0].contains("1 pairs of containers overlap"));
    }

    #[test]
    fn a_token_that_does_not_grow_is_a_problem() {
        for token in [101, 100] {
            let mut timeline = sample();
            let env = &mut timeline.containers[1].env;
            env.insert("LOCKSTEP_FENCING_TOKEN".into(), token.to_string());
            assert_eq!(
                problems(&timeline),
                ["a fencing token did not grow"],
                "{token}"
            );
        }
    }

    #[test]
    fn a_skip_that_names_another_holder_is_a_problem() {
        let found = problems_after(|timeline| {
            timeline.executions[2].fate = Fate::Skipped {
                holder: arn("d1"),
                message: String::new(),
            };
        });
        assert!(found[0].starts_with("b: skipped"));
    }

    #[test]
    fn a_skipped_execution_whose_container_ran_is_a_problem() {
        let found = problems_after(|timeline| {
            let env = &mut timeline.containers[1].env;
            env.insert("LOCKSTEP_HOLDER".into(), arn("b1"));
        });
        assert!(found.iter().any(|problem| problem.starts_with("b1: ")));
    }

    #[test]
    fn an_evicted_container_that_got_no_sigterm_is_a_problem() {
        let found = problems_after(|timeline| timeline.containers[4].sigterm = None);
        assert!(found[0].starts_with("f: container gets SIGTERM"));
    }

    #[test]
    fn a_killed_run_without_a_recovery_is_a_problem() {
        let found = problems_after(|timeline| timeline.journal = Journal::default());
        assert!(
            found
                .iter()
                .any(|problem| problem.starts_with("g: recovered"))
        );
    }

    #[test]
    fn a_first_run_no_longer_than_two_leases_is_a_problem() {
        let found = problems_after(|timeline| timeline.lease_seconds = 5);
        assert!(found[0].starts_with("a: one runs"));
    }
}
