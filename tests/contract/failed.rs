//! Which failed runs become messages of the topic, and what the messages say.

use crate::faulty::Faulty;
use crate::functions::{Answer, Functions};
use crate::scene::{CLUSTER, ask_with, assert_has, assert_says, execution, merged};
use lockstep::contract::EventKind;
use lockstep::domain::ExecutionEnd;
use lockstep::events::EventDetail;
use serde_json::{Value, json};

/// Returns the end of a failed run, with the error and the cause that its state machine reports.
fn failure() -> Value {
    let task = json!({
        "TaskArn": "arn:aws:ecs:eu-west-1:123456789012:task/batch/4f0c",
        "Containers": [{ "Name": "app", "ExitCode": 3 }],
        "Overrides": { "ContainerOverrides": [{ "Environment": [{ "Value": "hunter2" }] }] },
        "StoppedReason": "Essential container in task exited",
    });
    json!({ "outcome": "failed", "failure": { "error": "States.TaskFailed", "cause": task.to_string() } })
}

impl Functions {
    /// Releases `grant` with the fields of `end`, and returns the answer.
    async fn end_run(&self, grant: &Value, end: &Value) -> Answer {
        self.release(merged(json!({ "grant": grant }), end)).await
    }

    /// Carries out a run of the execution `name` on the terms of `more`. The run sends a heartbeat and fails
    /// with `end`.
    async fn fails(&self, name: &str, more: Value, end: &Value) {
        let grant = self.granted_with(ask_with(name, more)).await;
        let beat = json!({ "grant": grant, "taskToken": format!("beat-{name}") });
        self.heartbeat(beat).await.unwrap();
        self.end_run(&grant, end).await.unwrap();
        self.wait(5);
    }

    /// Returns the kinds of all events that become messages of the topic.
    fn told(&self) -> Vec<EventKind> {
        let published = self.events.published().into_iter();
        let told = published.filter(|event| {
            event.kind.calls_for_action() && EventDetail::from(event).message.is_some()
        });
        told.map(|event| event.kind).collect()
    }

    /// Returns the details of all events *Run Failed*.
    fn failures(&self) -> Vec<Value> {
        let published = self.events.published().into_iter();
        let failed = published.filter(|event| event.kind == EventKind::RunFailed);
        failed
            .map(|event| serde_json::to_value(EventDetail::from(&event)).unwrap())
            .collect()
    }
}

#[tokio::test]
async fn a_failed_run_is_one_message_with_its_error_and_a_short_cause() {
    let functions = Functions::new();
    let grant = functions
        .granted_with(ask_with("a", json!({ "runKey": "day" })))
        .await;
    for _ in 0..2 {
        functions.end_run(&grant, &failure()).await.unwrap();
    }

    let failures = functions.failures();

    assert_eq!(
        functions.events.kinds(),
        [EventKind::RunFailed],
        "a repeated release publishes nothing"
    );
    let short = "container app exited with 3; Essential container in task exited";
    assert_has(
        &failures[0],
        json!({
            "lock": "nightly", "holder": execution("a"), "token": grant["token"], "runKey": "day",
            "error": "States.TaskFailed", "cause": short,
            "reason": format!("States.TaskFailed: {short}"),
        }),
    );
    let content = &failures[0]["message"]["content"];
    assert_says(content["description"].as_str().unwrap(), short);
    let steps = content["nextSteps"].to_string();
    for link in [
        &execution("a"),
        "tasks/4f0c/logs",
        "docs/runbook.md#run-failed",
    ] {
        assert_says(&steps, link);
    }
    let all = failures[0].to_string();
    assert!(!all.contains("hunter2") && !all.contains("ttempt"), "{all}");
}

#[tokio::test]
async fn only_a_failure_that_a_run_reports_is_a_message() {
    let by_holder = |holder: &str| json!({ "lock": "nightly", "holder": holder });
    let older = json!({ "outcome": "failed" });
    let process = json!({ "outcome": "failed", "failure": { "cause": "exit code 1" } });
    for (request, end, expected) in [
        (by_holder(&execution("a")), &failure(), 1),
        // A definition from before the field `failure`.
        (by_holder(&execution("a")), &older, 1),
        (by_holder("host:a"), &process, 1),
        // A worker reports no failure, because SQS delivers the message again.
        (by_holder("host:a"), &older, 0),
        (
            by_holder(&execution("a")),
            &json!({ "outcome": "succeeded" }),
            0,
        ),
        (
            by_holder(&execution("a")),
            &json!({ "outcome": "stopping" }),
            0,
        ),
    ] {
        let functions = Functions::new();
        let grant = functions.granted_with(request).await;
        functions.end_run(&grant, end).await.unwrap();

        let failures = functions.failures();

        assert_eq!(failures.len(), expected, "{end} {failures:?}");
        assert!(
            failures.iter().all(|one| one["message"].is_object()),
            "{failures:?}"
        );
    }
}

#[tokio::test]
async fn an_unreadable_failure_does_not_fail_the_release() {
    for odd in [json!("no"), json!({ "error": 1 }), Value::Null, json!([])] {
        let functions = Functions::new();
        let grant = functions.granted_with(ask_with("a", json!({}))).await;
        let request = json!({ "grant": grant, "outcome": "failed", "failure": odd });

        let deps = functions.deps_on(&functions.store);
        let released = lockstep::service::release::handle(&deps, request).await;

        assert!(released.is_ok(), "{odd}");
        assert!(functions.holders("nightly").await.is_empty());
        assert_eq!(functions.failures().len(), 1, "{odd}");
    }
}

#[tokio::test]
async fn the_failure_of_a_retry_has_the_number_of_its_attempt() {
    let functions = Functions::new();
    let of = |parent: &str, key: &str| json!({ "parent": execution(parent), "runKey": key });
    for (name, more) in [
        ("a", of("caller", "day")),
        ("other-caller", of("another", "day")),
        ("other-key", of("caller", "night")),
        ("no-caller", json!({ "runKey": "day" })),
        ("b", of("caller", "day")),
        ("c", of("caller", "day")),
    ] {
        functions.fails(name, more, &failure()).await;
    }

    let attempts = functions.failures();

    let attempts = attempts.iter().map(|one| one["attempt"].as_u64());
    let expected = [None, None, None, None, Some(2), Some(3)];
    assert_eq!(attempts.collect::<Vec<_>>(), expected);
    let last = functions.failures().pop().unwrap();
    assert_says(
        last["message"]["content"]["description"].as_str().unwrap(),
        "Attempt: 3; failed attempts of the same caller before it: 2",
    );
}

#[tokio::test]
async fn the_failure_of_a_guarded_workflow_links_its_execution() {
    let functions = Functions::new();
    let machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:etl";
    let work = json!({ "work": { "stateMachineArn": machine } });

    functions.fails("a", work, &failure()).await;

    let [failed] = &functions.failures()[..] else {
        panic!("not one failure");
    };
    let related = failed["message"]["metadata"]["relatedResources"].to_string();
    let token = failed["token"].to_string();
    assert_says(
        &related,
        &format!("execution:etl:lockstep-nightly-{token}-0"),
    );
}

#[tokio::test]
async fn a_run_found_dead_is_one_message_with_or_without_run_events() {
    for run_events in [false, true] {
        let mut functions = Functions::new();
        functions.run_events = run_events;
        functions.start(&["a"]);
        let work = json!({ "work": { "cluster": CLUSTER } });
        functions.granted_with(ask_with("a", work)).await;
        functions.end("a", ExecutionEnd::Aborted);
        functions.wait(1_000);
        functions.sweep().await;

        let published = functions.events.published();
        let called_for = published
            .iter()
            .filter(|event| event.kind.calls_for_action());
        let details: Vec<_> = called_for
            .map(|event| serde_json::to_value(EventDetail::from(event)).unwrap())
            .collect();

        let messages = details
            .iter()
            .filter(|detail| detail["message"].is_object());
        assert_eq!(messages.count(), 1, "{details:?}");
        assert_eq!(details.len(), 1 + usize::from(run_events), "{details:?}");
    }
}

#[tokio::test]
async fn a_failed_attempt_is_one_message_whoever_reports_its_end_first() {
    /// What happens after the heartbeat of a run, in order.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Release,
        Dies,
        Reaper,
        Silence,
        Redrive,
    }
    use EventKind::{LeaseLost, RunFailed, RunRecovered};
    use Step::{Dies, Reaper, Redrive, Release, Silence};
    for (policy, steps, expected) in [
        ("hold", &[Release, Release][..], &[RunFailed][..]),
        ("hold", &[Release, Dies, Reaper, Silence], &[RunFailed]),
        ("hold", &[Dies, Reaper, Release, Silence], &[RunRecovered]),
        ("hold", &[Dies, Silence, Reaper, Release], &[RunRecovered]),
        ("yield", &[Silence, Release, Dies, Reaper], &[LeaseLost]),
        (
            "hold",
            &[Release, Dies, Reaper, Redrive, Release, Release, Silence],
            &[RunFailed, RunFailed],
        ),
        (
            "hold",
            &[Dies, Reaper, Redrive, Release, Dies, Reaper],
            &[RunRecovered, RunFailed],
        ),
    ] {
        for run_events in [false, true] {
            let policy = json!({ "stalePolicy": policy });
            let (mut functions, grant) = Functions::held_with(&["a"], policy).await;
            functions.run_events = run_events;
            functions.beat(&grant, "beat-1").await;

            for step in steps {
                match step {
                    Release => drop(functions.end_run(&grant, &failure()).await),
                    Dies => functions.end("a", ExecutionEnd::Failed),
                    Reaper => drop(functions.reap_end("a", "FAILED").await),
                    Silence => {
                        // The first sweep marks the silent holder as a suspect.
                        for seconds in [1_000, 200] {
                            functions.wait(seconds);
                            functions.sweep().await;
                        }
                    }
                    Redrive => {
                        functions.wait(3600);
                        functions.start(&["a"]);
                        functions.beat(&grant, "beat-2").await;
                    }
                }
            }

            assert_eq!(functions.told(), expected, "{steps:?} {run_events}");
        }
    }
}

#[tokio::test]
async fn skips_and_duplicates_are_no_messages_however_many() {
    let functions = Functions::new();
    let key = json!({ "runKey": "day" });
    functions.granted_with(ask_with("a", key.clone())).await;

    for number in 0..20 {
        let name = format!("skipped-{number}");
        assert_eq!(
            functions.status(ask_with(&name, json!({}))).await,
            "skipped"
        );
        assert_eq!(
            functions.status(ask_with(&name, key.clone())).await,
            "duplicate"
        );
    }

    assert_eq!(functions.events.published().len(), 40);
    assert_eq!(functions.told(), []);
}

#[tokio::test]
async fn a_failed_run_has_its_length_and_the_usual_one_of_the_successes() {
    let functions = Functions::new();
    for (name, seconds) in [("a", 60), ("b", 100), ("c", 4000)] {
        let grant = functions.granted_with(ask_with(name, json!({}))).await;
        functions.wait(seconds);
        functions.succeed(&grant).await;
    }
    functions.fails("d", json!({}), &failure()).await;
    let grant = functions.granted_with(ask_with("e", json!({}))).await;
    functions.wait(125);

    functions.end_run(&grant, &failure()).await.unwrap();

    let last = functions.failures().pop().unwrap();
    let description = last["message"]["content"]["description"].as_str().unwrap();
    assert_says(
        description,
        "Took: 2 min 5 s; usually 1 min 40 s, the median of 3 successes\n",
    );
    let process = functions.granted_with(json!({ "lock": "other", "holder": "host:a" }));
    let process = process.await;
    functions.wait(5);
    functions.end_run(&process, &failure()).await.unwrap();
    let last = functions.failures().pop().unwrap();
    let description = last["message"]["content"]["description"].as_str().unwrap();
    assert_says(description, "Took: 5.0 s\n");
}

#[tokio::test]
async fn the_usual_length_is_that_of_the_latest_fifty_runs() {
    let functions = Functions::new();
    for _ in 0..55 {
        let grant = functions.granted_with(ask_with("a", json!({}))).await;
        functions.wait(60);
        functions.succeed(&grant).await;
    }

    functions.fails("b", json!({}), &failure()).await;

    let last = functions.failures().pop().unwrap();
    let description = last["message"]["content"]["description"].as_str().unwrap();
    assert_says(description, "the median of 49 successes\n");
}

#[tokio::test]
async fn the_failure_of_a_redriven_run_says_how_often_it_was_redriven() {
    let functions = Functions::running(&["a"]);
    let grant = functions.granted_with(ask_with("a", json!({}))).await;
    let redrive = json!({ "redrive": { "grant": grant, "count": 2 } });
    let again = functions.acquire(ask_with("a", redrive)).await.unwrap();
    assert_eq!(again["status"], "alreadyHeld");
    functions.beat(&grant, "beat-a").await;

    functions.end_run(&grant, &failure()).await.unwrap();

    let last = functions.failures().pop().unwrap();
    let description = last["message"]["content"]["description"].as_str().unwrap();
    assert_says(description, "Redrives: 2\n");
}

#[tokio::test]
async fn a_failure_is_reported_without_its_attempt_if_no_history_comes() {
    for answered in 0..10 {
        let functions = Functions::new();
        let parent = json!({ "parent": execution("caller") });
        functions.fails("a", parent.clone(), &failure()).await;
        let grant = functions.granted_with(ask_with("b", parent)).await;
        let table = Faulty::silent_after(&functions, answered);
        let start = functions.now();

        let request = merged(json!({ "grant": grant }), &failure());
        let released = functions.release_on(&table, request).await;

        let last = functions.failures().pop().unwrap();
        assert!(functions.now().millis_since(start) <= 6_500, "{answered}");
        if released.is_ok() && table.is_silent() {
            assert!(
                last["message"].is_object() && last.get("attempt").is_none(),
                "{last}"
            );
            return;
        }
    }
    panic!("no request for the history went without a response");
}
