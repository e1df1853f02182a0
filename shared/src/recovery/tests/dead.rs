//! Holders that are dead.

use super::*;

#[test]
fn a_run_whose_execution_ended_and_whose_tasks_stopped_is_recovered_at_once() {
    let stopped = TasksSight::Seen(vec![task("t", true)]);
    for tasks in [TasksSight::NotNamed, TasksSight::Seen(vec![]), stopped] {
        for end in ENDS {
            let evidence = look(ended(end), tasks.clone());

            let words = recovered(judge(&lease(), &evidence, after(1)), Death::Seen);

            assert!(words.contains(end.as_str()), "{words}");
        }
    }
}

#[test]
fn an_execution_that_is_not_known_has_ended_once_its_lease_is_over() {
    let evidence = look(ExecutionSight::Unknown, TasksSight::NotNamed);

    let early = judge(&lease(), &evidence, after(60));
    let late = judge(&lease(), &evidence, after(62));

    assert_eq!(early, Action::Leave, "it may have begun a moment ago");
    let words = recovered(late, Death::Seen);
    assert!(words.contains("does not know"), "{words}");
}

#[test]
fn a_task_that_outlives_its_execution_is_stopped_before_the_permit_is_free() {
    let tasks = vec![task("over", true), task("alive", false)];
    for execution in [ended(ExecutionEnd::Aborted), ExecutionSight::Unknown] {
        let evidence = look(execution, TasksSight::Seen(tasks.clone()));

        let action = judge(&lease(), &evidence, after(62));

        let Action::Stop {
            execution: false,
            tasks,
            ..
        } = action
        else {
            panic!("{action:?}");
        };
        assert_eq!(tasks, ["alive"]);
    }
}

#[test]
fn tasks_that_cannot_be_seen_keep_the_permit_and_call_somebody_once_the_lease_is_over() {
    let tasks = TasksSight::Hidden("throttled".into());
    let evidence = look(ended(ExecutionEnd::Failed), tasks);

    let early = judge(&lease(), &evidence, after(10));
    let late = judge(&lease(), &evidence, after(62));

    assert_eq!(early, Action::Leave);
    let why = "throttled".into();
    assert_eq!(late, Action::Alert { why });
}

#[test]
fn a_holder_that_is_no_execution_is_dead_when_its_lease_is_over_for_longer_than_clocks_differ() {
    let evidence = look(ExecutionSight::NotOne, TasksSight::NotNamed);
    let last = Timestamp::from_millis(after(62).millis() - 1);

    let early = judge(&lease(), &evidence, last);
    let late = judge(&lease(), &evidence, after(62));

    assert_eq!(early, Action::Leave);
    recovered(late, Death::Expired);
}
