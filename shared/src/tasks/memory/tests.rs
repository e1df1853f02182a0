//! What tests may rely on when ECS is in memory.

use super::*;
use lockstep_core::testing::now;

fn work(cluster: &str, family: Option<&str>) -> TaskSet {
    TaskSet {
        family: family.map(str::to_owned),
        ..lockstep_core::testing::work(cluster)
    }
}

fn arn(id: &str) -> TaskArn {
    TaskArn::new(format!("arn:aws:ecs:eu-west-1:1:task/batch/{id}")).unwrap()
}

fn task(version: u64) -> Task {
    Task {
        version,
        ..lockstep_core::testing::task(&arn("a").to_string(), false)
    }
}

#[test]
fn a_task_is_found_by_group_cluster_and_family() {
    let tasks = MemoryTasks::default();
    tasks.put(&work("batch", Some("report")), "ours", task(1));

    let found = |cluster, family, group| {
        let work = work(cluster, family);
        now(tasks.of_group(&work, group)).unwrap()
    };

    assert_eq!(found("batch", None, "ours"), [task(1)]);
    let arn = "arn:aws:ecs:eu-west-1:1:cluster/batch";
    assert_eq!(found(arn, Some("report"), "ours"), [task(1)]);
    assert_eq!(found("batch", Some("other"), "ours"), []);
    assert_eq!(found("other", None, "ours"), []);
    assert_eq!(found("batch", None, "theirs"), []);
    // A task that is put again replaces the earlier one.
    tasks.put(&work("batch", Some("report")), "ours", task(2));
    assert_eq!(found("batch", None, "ours"), [task(2)]);
}

#[test]
fn a_task_is_described_by_its_name_until_it_is_forgotten() {
    let tasks = MemoryTasks::default();
    let (a, b) = (arn("a"), arn("b"));
    tasks.put(&work("batch", None), "service:api", task(1));

    let (known, unknown) = (now(tasks.describe(&a)), now(tasks.describe(&b)));
    tasks.forget(a.as_str());

    assert_eq!(known, Ok(Some(task(1))));
    assert_eq!(unknown, Ok(None));
    assert_eq!(now(tasks.describe(&a)), Ok(None));
}

#[test]
fn a_call_fails_once_or_until_it_is_healed() {
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
