//! Holders that are ECS tasks: a task that has stopped is evidence, and needs no end of a lease.

use crate::functions::Functions;
use crate::scene::{LATE, assert_says, task, work};
use lockstep::domain::RunOutcome;
use lockstep::tasks::TasksError;
use lockstep::tasks::memory::TasksCall;
use serde_json::{Value, json};

const GROUP: &str = "service:worker";

/// The job of the task called `name`, as the holder that it is.
fn job(name: &str) -> String {
    format!("{}#{name}-4711/a1b2c3d4e5f6", task(name, 1, false).arn)
}

fn ask(name: &str) -> Value {
    json!({ "lock": "nightly", "holder": job(name) })
}

/// A job of the task called `a` holds the lock, and its heartbeat is late.
async fn late() -> (Functions, Value) {
    let functions = Functions::new();
    functions.tasks.put(&work(), GROUP, task("a", 1, false));
    let grant = functions.granted_with(ask("a")).await;
    functions.wait(LATE);
    (functions, grant)
}

#[tokio::test]
async fn the_job_of_a_task_that_has_stopped_makes_way_before_its_lease_is_over() {
    let (functions, dead) = late().await;
    functions.tasks.put(&work(), GROUP, task("a", 2, true));

    let answer = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(answer["status"], "granted");
    assert_eq!(answer["takenFrom"], job("a"));
    let run = functions.run_of(&dead).unwrap();
    assert_eq!(run.outcome(), Some(RunOutcome::Recovered));
    assert_eq!(run.end.unwrap().evidence.unwrap(), "its task has stopped");
    let noted = run.task.unwrap();
    assert_eq!(noted.arn, task("a", 2, true).arn);
    assert_eq!(noted.runtime_id.as_deref(), Some("a-4711"));
    assert_eq!(noted.exit_code, Some(137));
}

#[tokio::test]
async fn the_job_of_a_task_is_shown_with_the_end_of_its_container() {
    let (functions, _) = late().await;
    let task_shown = async || functions.shown().await["holders"][0]["tasks"][0].take();

    let runs = task_shown().await;
    functions.tasks.put(&work(), GROUP, task("a", 2, true));
    let stopped = task_shown().await;

    let arn = task("a", 1, false).arn;
    assert_eq!(runs, json!({ "arn": arn, "stopped": false }));
    assert_eq!(stopped["stopped"], true);
    assert_eq!(stopped["exitCode"], 137);
}

#[tokio::test]
async fn the_job_of_a_task_that_runs_keeps_its_permit_while_its_lease_does() {
    let (functions, _) = late().await;
    let before = functions.record("nightly").await;

    let answer = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(answer["status"], "skipped");
    assert_eq!(functions.record("nightly").await, before);
    assert!(functions.tasks.stops().is_empty());
}

#[tokio::test]
async fn the_job_of_a_task_that_runs_loses_its_permit_with_its_lease_and_the_task_runs_on() {
    let (functions, lost) = late().await;
    functions.wait(62 - LATE);

    let answer = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(answer["takenFrom"], job("a"));
    let run = functions.run_of(&lost).unwrap();
    assert_eq!(run.outcome(), Some(RunOutcome::Lost));
    assert_eq!(run.task, None, "it has not ended");
    assert!(functions.tasks.stops().is_empty(), "it may have other work");
}

#[tokio::test]
async fn a_task_that_cannot_be_looked_at_is_judged_by_its_lease_alone() {
    let (functions, _) = late().await;
    functions.tasks.put(&work(), GROUP, task("a", 2, true));
    let denied = TasksError::Denied("not yours".into());
    functions.tasks.fail_every(TasksCall::Describe, denied);

    let early = functions.acquire(ask("b")).await.unwrap();
    functions.wait(62 - LATE);
    let in_time = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(early["status"], "skipped");
    assert_eq!(in_time["takenFrom"], job("a"));
}

#[tokio::test]
async fn the_sweep_frees_what_the_job_of_a_forgotten_task_held() {
    let (functions, lost) = late().await;
    functions.tasks.forget(&task("a", 1, false).arn);

    let early = functions.sweep().await;
    functions.wait(62 - LATE);
    let late = functions.sweep().await;

    assert_eq!(json!([early["freed"], late["freed"]]), json!([0, 1]));
    let end = functions.run_of(&lost).unwrap().end.unwrap();
    assert_eq!(end.outcome, RunOutcome::Recovered);
    assert!(end.evidence.unwrap().contains("does not know the task"));
}

#[tokio::test]
async fn a_message_whose_worker_was_killed_goes_to_the_worker_that_gets_it_next() {
    let functions = Functions::new();
    functions.tasks.put(&work(), GROUP, task("a", 1, false));
    let message =
        |name| json!({ "lock": "queue/00", "holder": job(name), "permits": 100, "runKey": "m-1" });
    functions.granted_with(message("a")).await;
    functions.tasks.put(&work(), GROUP, task("a", 2, true));
    functions.wait(LATE);

    let answer = functions.acquire(message("b")).await.unwrap();

    assert_eq!(answer["takenFrom"], job("a"));
}

#[tokio::test]
async fn a_skip_says_how_to_end_a_task_and_names_no_execution_where_there_is_none() {
    let (functions, _) = late().await;

    let by_task = functions.acquire(ask("b")).await.unwrap();
    let host = json!({ "lock": "other", "holder": "host:web-1#17/a1b2c3d4e5f6" });
    functions.granted_with(host).await;
    let next = json!({ "lock": "other", "holder": job("b") });
    let by_host = functions.acquire(next).await.unwrap();

    let arn = task("a", 1, false).arn;
    let stop = format!("aws ecs stop-task --cluster batch --task {arn}");
    assert_says(by_task["message"].as_str().unwrap(), &stop);
    let message = by_host["message"].as_str().unwrap();
    assert_says(message, "frees itself");
    assert!(!message.contains("aws "), "{message}");
}
