//! The example of an EventBridge schedule, deployed with sam as the head of its file says.

use crate::{ran_alone, stack};
use lockstep::domain::{Timestamp, rfc3339};
use lockstep_tests::stack::{Event, Stack, now, unique};

#[tokio::test]
async fn a_scheduled_tick_runs_under_the_schedules_run_key() {
    let (stack, lock) = (stack().await, unique("scheduled"));
    // A time in whole seconds, twenty seconds ahead: the deployment is over by then.
    let at = rfc3339(Timestamp::from_millis((now() / 1000 + 20) * 1000));
    let at = at.trim_end_matches('Z');
    deploy(&stack, &lock, at).await;
    stack.wait_for(&lock, Event::End, 1, 60).await;

    let run = ended_run(&stack, &lock).await;
    let key = run["sk"].as_s().expect("a sort key").clone();
    let key = key.strip_prefix("run#key/").expect("the run of a key");
    let (schedule, time) = key.rsplit_once('#').expect("schedule and time");
    assert!(
        schedule.starts_with("arn:aws:scheduler:us-east-1:"),
        "{key}"
    );
    assert_eq!(time, format!("{at}Z"), "{key}");
    assert_eq!(run["outcome"].as_s().expect("a word"), "succeeded");

    let again = stack.batch_input(&lock).with("runKey", key);
    let again = stack.run(&again, 20).await;
    assert_eq!(again.answer(), "duplicate", "{again:?}");
    ran_alone(&stack, &lock, 1).await;
}

/// Waits until the one run of `lock` has ended, and returns its item.
async fn ended_run(stack: &Stack, lock: &str) -> lockstep_tests::stack::Item {
    for _ in 0..100 {
        let items = stack.items(lock).await;
        let ended = items.into_iter().find(|item| item.contains_key("endedAt"));
        if let Some(run) = ended {
            return run;
        }
        lockstep_tests::stack::pause(100).await;
    }
    panic!("no run of {lock} ended: {:?}", stack.items(lock).await)
}

async fn deploy(stack: &Stack, lock: &str, at: &str) {
    let parameters = [
        ("LockName", lock),
        ("ScheduleExpression", &format!("at({at})")),
        ("ClusterArn", stack.fixture("ClusterArn")),
        ("TaskDefinitionArn", stack.fixture("BatchTaskDefinitionArn")),
        ("ContainerName", "batch"),
        ("SubnetIds", "subnet-1"),
        ("SecurityGroupIds", "sg-1"),
    ];
    stack
        .deploy_example("schedule.yaml", lock, &parameters)
        .await;
}
