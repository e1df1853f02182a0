//! Did the demo come out as it should? Judged from what was collected, after the fact.

mod summary;

pub use summary::Summary;

use super::{Execution, Fate, Scene, Timeline};

/// All that is not as it should be; empty when the demo succeeded.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::journal::Journal;
    use crate::timeline::sample::{arn, sample};

    /// The problems of a sample that `spoil` has changed.
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
    fn a_killed_run_that_nobody_recovered_is_a_problem() {
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
