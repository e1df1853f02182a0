//! What tests may rely on when ECS is in memory.

use super::*;
use crate::faults::now;

fn work(cluster: &str, family: Option<&str>) -> Work {
    Work {
        cluster: cluster.into(),
        family: family.map(str::to_owned),
    }
}

fn task(version: u64) -> Task {
    Task {
        arn: "arn:aws:ecs:eu-west-1:1:task/batch/a".into(),
        version,
        stopped: false,
        containers: Vec::new(),
        stopped_reason: None,
        started_at: None,
        stopped_at: None,
    }
}

#[test]
fn a_task_is_found_by_group_cluster_and_family() {
    let tasks = MemoryTasks::default();
    tasks.put(&work("batch", Some("report")), "ours", task(1));

    let found = |cluster, family, group| {
        let work = work(cluster, family);
        now(tasks.of_group(&work, group)).unwrap().len()
    };

    assert_eq!(found("batch", None, "ours"), 1);
    let arn = "arn:aws:ecs:eu-west-1:1:cluster/batch";
    assert_eq!(found(arn, Some("report"), "ours"), 1);
    assert_eq!(found("batch", Some("other"), "ours"), 0);
    assert_eq!(found("other", None, "ours"), 0);
    assert_eq!(found("batch", None, "theirs"), 0);
}

#[test]
fn a_task_that_is_put_again_has_changed() {
    let (tasks, work) = (MemoryTasks::default(), work("batch", None));
    tasks.put(&work, "ours", task(1));
    tasks.put(&work, "ours", task(2));

    let found = now(tasks.of_group(&work, "ours")).unwrap();

    assert_eq!(found, [task(2)]);
}

#[test]
fn a_call_fails_as_often_as_it_is_told_to() {
    let (tasks, work) = (MemoryTasks::default(), work("batch", None));
    let denied = TasksError::Denied("no".into());
    tasks.fail_next(TasksCall::OfGroup, denied.clone());
    tasks.fail_every(TasksCall::Stop, denied.clone());

    let stop = || now(tasks.stop("batch", "a", "why"));

    assert_eq!(now(tasks.of_group(&work, "ours")), Err(denied.clone()));
    assert_eq!(now(tasks.of_group(&work, "ours")), Ok(vec![]));
    assert_eq!([stop(), stop()], [Err(denied.clone()), Err(denied)]);
    assert_eq!(tasks.stops(), [], "a stop that failed was none");
    tasks.heal();
    assert_eq!(stop(), Ok(()));
    assert_eq!(tasks.stops().len(), 1);
}
