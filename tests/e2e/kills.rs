//! Runs that die at work. The events of their end free their lock within seconds. Where the events
//! of AWS never arrive, the sweep finds the death.
//!
//! Leases last a minute unless a test shortens them, so an expired lease frees no lock.

use crate::support::{at_work, in_queue, is_usable, runs_after};
use crate::{ran_alone, ran_alone_but_stopped, stack};
use lockstep::domain::{Run, RunOutcome};
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{
    BatchInput, Event, Habit, Stack, deadline, ending, now, pause, runs, unique,
};
use serde_json::json;

/// Returns a lock of its own for one way to die, with these habits of AWS switched on for it.
async fn lock_with(stack: &Stack, name: &str, habits: &[Habit]) -> String {
    let lock = unique(name);
    for habit in habits {
        stack.switch_on(*habit, &lock).await;
    }
    lock
}

/// Makes two tests of each row, named after its rule: one on a healthy AWS, and one on an AWS where
/// STOPPED comes late, time-outs stop nothing and reads lag.
macro_rules! ways_to_die {
    ($(fn $rule:ident: $way:ident;)+) => {
        $(#[tokio::test]
        async fn $rule() {
            $way(&[]).await;
        })+

        mod on_a_degraded_aws {
            use super::Habit;
            $(#[tokio::test]
            async fn $rule() {
                super::$way(&Habit::degraded()).await;
            })+
        }
    };
}

ways_to_die! {
    fn a_stopped_execution_is_recovered_and_the_next_waiter_runs: stopped;
    fn a_killed_container_fails_its_run_and_the_next_waiter_runs: killed;
    fn a_container_out_of_memory_leaves_its_reason_and_the_next_waiter_runs: out_of_memory;
    fn a_task_that_outlives_its_execution_is_stopped_before_the_next_run_starts: outlived;
}

async fn stopped(habits: &[Habit]) {
    let stack = stack().await;
    let lock = lock_with(&stack, "stopped", habits).await;
    let input = stack.batch_input(&lock).seconds(0.5);
    let first = at_work(&stack, &input.clone().seconds(60.0)).await;
    let next = in_queue(&stack, &input, 1).await;
    // A run that dies before ECS lists its task counts as a run without a task.
    stack.wait_task(&first.task, "RUNNING", 15).await;
    let killed = now();
    stack.abort(&first.arn).await;
    assert_eq!(stack.wait(&first.arn, 10).await.status, "ABORTED");
    runs_after(&stack, "StopExecution", &lock, &next, killed).await;
    let records = ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
    let is_signalled = records.iter().any(|r| r.event == Event::Sigterm);
    assert!(is_signalled, "a SIGTERM in {records:?}");

    let entry = died_with(&stack, &lock, first.token, &first.task).await;
    let (outcome, evidence) = ending(&entry);
    assert_eq!(outcome, RunOutcome::Recovered, "{entry:?}");
    assert!(evidence.contains("ABORTED"), "{evidence}");
    assert!(evidence.contains("stopped"), "{evidence}");
    let task = entry.task.expect("the task");
    assert_eq!(task.exit_code, Some(143), "{task:?}");
    ends_well(&stack, &input, &first.arn).await;
}

async fn killed(habits: &[Habit]) {
    let stack = stack().await;
    let lock = lock_with(&stack, "killed", habits).await;
    let input = stack.batch_input(&lock).seconds(0.5);
    let first = at_work(&stack, &input.clone().seconds(60.0)).await;
    let next = in_queue(&stack, &input, 1).await;
    let killed = now();
    stack.kill_container(&first.task).await;
    let ended = stack.wait(&first.arn, 20).await;
    assert_eq!(ended.status, "FAILED", "{ended:?}");
    assert_eq!(ended.error, "States.TaskFailed", "{ended:?}");
    runs_after(&stack, "docker kill", &lock, &next, killed).await;
    ran_alone(&stack, &lock, 2).await;

    let entry = died_with(&stack, &lock, first.token, &first.task).await;
    assert_eq!(ending(&entry).0, RunOutcome::Failed, "{entry:?}");
    assert_eq!(entry.task.expect("the task").exit_code, Some(137));
    ends_well(&stack, &input, &first.arn).await;
}

async fn out_of_memory(habits: &[Habit]) {
    let stack = stack().await;
    let lock = lock_with(&stack, "memory", habits).await;
    let input = stack.batch_input(&lock).seconds(0.5);
    let greedy = input.clone().seconds(60.0).env("BATCH_MEMORY_MB", "900");
    let first = at_work(&stack, &greedy).await;
    let next = stack.start(&input.clone().queued()).await;
    let ended = stack.wait(&first.arn, 40).await;
    assert_eq!(ended.status, "FAILED", "{ended:?}");
    let killed = stack.stopped_at(&first.task).await.expect("its end");
    runs_after(&stack, "out of memory", &lock, &next, killed).await;
    ran_alone(&stack, &lock, 2).await;

    let entry = died_with(&stack, &lock, first.token, &first.task).await;
    assert_eq!(ending(&entry).0, RunOutcome::Failed, "{entry:?}");
    let task = entry.task.expect("the task");
    assert_eq!(task.exit_code, Some(137), "{task:?}");
    let reason = task.reason.unwrap_or_default();
    assert!(reason.starts_with("OutOfMemoryError"), "{reason}");
    ends_well(&stack, &input, &first.arn).await;
}

async fn outlived(habits: &[Habit]) {
    let stack = stack().await;
    let lock = lock_with(&stack, "outlives", habits).await;
    let input = stack.batch_input(&lock).seconds(0.5);
    let long = input.clone().seconds(60.0);
    let first = at_work(&stack, &long).await;
    stack.wait_task(&first.task, "RUNNING", 15).await;
    let group = stack.task(&first.task).await["group"].clone();
    let group = group.as_str().expect("a group").to_owned();
    // Step Functions did not start this task, so StopExecution does not stop it.
    let stubborn = long.env("BATCH_IGNORE_SIGTERM", "1");
    let stray = stack.start_stray(&group, &stubborn).await;
    stack.wait_task(&stray, "RUNNING", 30).await;
    let next = in_queue(&stack, &input, 1).await;
    let killed = now();
    stack.abort(&first.arn).await;
    runs_after(&stack, "a stray task", &lock, &next, killed).await;

    let response = stack.task(&stray).await;
    assert_eq!(response["lastStatus"], "STOPPED", "{response}");
    let reason = response["stoppedReason"].as_str().unwrap_or_default();
    assert!(reason.contains(&lock), "stopped by Lockstep: {response}");
    assert_eq!(response["containers"][0]["exitCode"], 137, "{response}");
    let stopped = stack.stopped_at(&stray).await.expect("its end");
    let records = stack.records(&lock).await;
    let start = runs(&records).last().expect("the next run").start;
    assert!(start >= stopped, "begins at {start}, stopped at {stopped}");
    let entry = stack.whole_entry(&lock, first.token, 10).await;
    assert_eq!(ending(&entry).0, RunOutcome::Recovered, "{entry:?}");
    ends_well(&stack, &input, &first.arn).await;
}

/// Checks that the lock of `input` is usable, and that of its containers only those of `dead` were
/// stopped.
async fn ends_well(stack: &Stack, input: &BatchInput, dead: &str) {
    is_usable(stack, input).await;
    let expected = Expected::permits(1).stops(dead);
    stack.judge(input.lock(), &expected).await;
}

/// Returns the history entry of a run that died. Checks that the entry names its task and its
/// container.
async fn died_with(stack: &Stack, lock: &str, token: u64, task: &str) -> Run {
    let entry = stack.whole_entry(lock, token, 15).await;
    let noted = entry.task.as_ref().expect("the task");
    assert!(noted.arn.ends_with(task), "{noted:?}, not {task}");
    let response = stack.task(task).await;
    let container = response["containers"][0]["runtimeId"].as_str();
    assert_eq!(noted.runtime_id.as_deref(), container, "{response}");
    entry
}

#[tokio::test]
async fn without_events_the_sweep_recovers_a_dead_run() {
    let (stack, lock) = (stack().await, unique("sweep"));
    let input = stack.batch_input(&lock).short_lease().seconds(0.5);
    stack.drop_events(&lock).await;
    let first = at_work(&stack, &input.clone().seconds(60.0)).await;
    let next = in_queue(&stack, &input, 1).await;
    let killed = now();
    stack.abort(&first.arn).await;
    stack.wait_fired(&lock, 1, 10).await;
    let reaper = stack.output("ReaperFunctionArn");
    // A sweep sets its next check of the lock 30 s later if the task has not stopped yet, or if a
    // heartbeat was under way at the end of the execution.
    let (mut sweeps, deadline) = (0, deadline(30));
    while stack.waiting(&lock).await > 0 {
        assert!(now() < deadline, "{sweeps} sweeps granted no permit");
        let swept = stack.invoke(reaper, &json!({ "sweep": true })).await;
        assert!(swept.is_ok(), "{swept:?}");
        sweeps += 1;
        pause(500).await;
    }
    runs_after(&stack, "a death without events", &lock, &next, killed).await;
    stack.deliver_events(&lock).await;
    ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
    let entry = stack.whole_entry(&lock, first.token, 5).await;
    let (outcome, evidence) = ending(&entry);
    assert_eq!(outcome, RunOutcome::Recovered, "{entry:?}");
    assert!(evidence.contains("ABORTED"), "{evidence}");
    let task = entry.task.expect("the sweep notes the task");
    assert!(task.arn.ends_with(&first.task), "{task:?}");
    assert_eq!(task.exit_code, Some(143), "{task:?}");
}

#[tokio::test]
async fn the_schedule_of_the_sweep_frees_a_dead_holder() {
    let (stack, lock) = (stack().await, unique("schedule-sweep"));
    let input = stack.batch_input(&lock).short_lease();
    stack.drop_events(&lock).await;
    let first = at_work(&stack, &input.clone().seconds(60.0)).await;
    let killed = now();
    stack.abort(&first.arn).await;
    let (reaper, deadline) = (stack.output("ReaperFunctionArn"), deadline(30));
    while stack.held(&lock).await > 0 {
        // AWS fires the schedule once a minute. A sweep leaves a lease that has only just expired
        // to the next.
        stack.fire_schedule(reaper).await;
        assert!(now() < deadline, "the schedule recovers nothing");
        pause(1000).await;
    }
    let millis = now() - killed;
    eprintln!("figure: a death without events or waiter: free {millis} ms after it");
    stack.deliver_events(&lock).await;
    assert!(stack.run(&input.seconds(0.2), 30).await.ran());
    ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
}
