//! Holders that are ECS tasks: a task that has stopped is evidence, so its permit is freed before the lease
//! ends.

use crate::functions::Functions;
use crate::scene::{LATE, assert_has, assert_says, merged, task, work};
use lockstep::domain::RunOutcome;
use lockstep::tasks::TasksError;
use lockstep::tasks::memory::TasksCall;
use serde_json::{Value, json};

const GROUP: &str = "service:worker";

/// Returns the holder that a job in the task `name` is.
fn job(name: &str) -> String {
    format!("{}#{name}-4711/a1b2c3d4e5f6", task(name, 1, false).arn)
}

fn ask(name: &str) -> Value {
    json!({ "lock": "nightly", "holder": job(name) })
}

/// Returns the functions with a job of the task `a` as the holder, whose heartbeat is late, and its grant.
async fn late() -> (Functions, Value) {
    late_with(json!({})).await
}

/// Returns the same as [`late`], with a holder on the terms of `more`.
async fn late_with(more: Value) -> (Functions, Value) {
    let functions = Functions::new();
    functions.tasks.put(&work(), GROUP, task("a", 1, false));
    let grant = functions.granted_with(merged(ask("a"), &more)).await;
    functions.wait(LATE);
    (functions, grant)
}

#[tokio::test]
async fn a_job_loses_its_permit_when_its_task_stopped_or_its_lease_is_dead() {
    use RunOutcome::{Lost, Recovered};
    let (none, message) = (json!({}), json!({ "permits": 100, "runKey": "m-1" }));
    let in_time = 62 - LATE;
    // Columns: the case, the terms, whether the task has stopped, whether DescribeTasks may be called, how
    // many more seconds pass, and the outcome and the evidence of the run if its permit was taken.
    let stopped = Some((Recovered, "its task has stopped"));
    let expired = Some((
        Lost,
        "the lease expired, although the task is still running",
    ));
    let hidden = Some((Lost, "the task could not be described: "));
    for (case, more, stops, is_described, waited, expected) in [
        ("stopped", &none, true, true, 0, stopped),
        ("stopped, of a worker", &message, true, true, 0, stopped),
        ("runs", &none, false, true, 0, None),
        ("runs for longer", &none, false, true, in_time, expired),
        ("hidden", &none, true, false, 0, None),
        ("hidden for longer", &none, true, false, in_time, hidden),
    ] {
        let (functions, grant) = late_with(more.clone()).await;
        if stops {
            functions.tasks.put(&work(), GROUP, task("a", 2, true));
        }
        if !is_described {
            let denied = TasksError::Denied("not yours".into());
            functions.tasks.fail_every(TasksCall::Describe, denied);
        }
        functions.wait(waited);
        let before = functions.record("nightly").await;

        let answer = functions.acquire(merged(ask("b"), more)).await.unwrap();

        let stops = functions.tasks.stops();
        assert!(stops.is_empty(), "{case}: the task may have other work");
        let Some((outcome, evidence)) = expected else {
            assert_eq!(answer["status"], "skipped", "{case}");
            assert_eq!(functions.record("nightly").await, before, "{case}");
            continue;
        };
        assert_eq!(answer["status"], "granted", "{case}");
        assert_eq!(answer["takenFrom"], job("a"), "{case}");
        let run = functions.run_of(&grant).unwrap();
        let end = run.end.unwrap();
        assert_eq!(end.outcome, outcome, "{case}");
        assert_says(&end.evidence.unwrap(), evidence);
        let noted = run
            .task
            .map(|task| (task.arn, task.runtime_id, task.exit_code));
        let seen = (task("a", 2, true).arn, Some("a-4711".to_owned()), Some(137));
        assert_eq!(noted, (outcome == Recovered).then_some(seen), "{case}");
    }
}

#[tokio::test]
async fn the_job_of_a_task_is_shown_with_the_end_of_its_container() {
    let (functions, _) = late().await;
    let task_shown = async || functions.shown().await["holders"][0]["tasks"][0].take();

    let runs = task_shown().await;
    functions.tasks.put(&work(), GROUP, task("a", 2, true));
    let stopped = task_shown().await;

    let arn = task("a", 1, false).arn;
    let console = "https://eu-west-1.console.aws.amazon.com/ecs/v2/clusters/batch/tasks/a/logs?region=eu-west-1";
    assert_eq!(
        runs,
        json!({ "arn": arn, "console": console, "stopped": false })
    );
    assert_has(&stopped, json!({ "stopped": true, "exitCode": 137 }));
}

#[tokio::test]
async fn the_sweep_frees_the_permit_of_a_task_that_ecs_does_not_know() {
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
async fn a_skip_says_how_to_stop_the_task_that_holds_the_lock() {
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
    assert_says(message, "the permit becomes free when");
    assert!(!message.contains("aws "), "{message}");
}
