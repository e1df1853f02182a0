//! The responses of the functions, word for word.

use crate::functions::Functions;
use crate::scene::{ask_with, assert_fails, assert_has, assert_says, merged};
use lockstep::contract::EventKind;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_grant_carries_receipt_group_and_environment() {
    let functions = Functions::new();
    let request = json!({
        "lock": "nightly", "holder": "arn:aws:states:eu-west-1:1:execution:m:x",
        "leaseSeconds": 30, "runKey": "tick-6", "maxRunSeconds": 600
    });

    let answer = functions.acquire(request).await.unwrap();

    let holder = "arn:aws:states:eu-west-1:1:execution:m:x";
    let expected = json!({
        "status": "granted",
        "grant": {
            "lock": "nightly", "holder": holder, "token": 1_772_344_800_000_u64, "runKey": "tick-6"
        },
        "expiresAt": "2026-03-01T06:00:30Z",
        "leaseSeconds": 30,
        "heartbeatSeconds": 10,
        "taskGroup": answer["taskGroup"],
        "environment": [
            { "Name": "LOCKSTEP_LOCK", "Value": "nightly" },
            { "Name": "LOCKSTEP_HOLDER", "Value": holder },
            { "Name": "LOCKSTEP_FENCING_TOKEN", "Value": "1772344800000" },
            { "Name": "LOCKSTEP_TABLE", "Value": "locks" },
            { "Name": "LOCKSTEP_RUN_KEY", "Value": "tick-6" }
        ]
    });
    assert_eq!(answer, expected);
    let group = answer["taskGroup"].as_str().unwrap();
    assert!(group.starts_with("lockstep:nightly:"), "{group}");
}

#[tokio::test]
async fn a_run_whose_work_is_known_begins_with_heartbeats_of_five_minutes() {
    let work = json!({ "work": { "cluster": "batch", "family": "job", "container": "app" } });
    // Columns: the options next to `work`, the lease, and the time to the next heartbeat, in seconds.
    for (options, lease, heartbeat) in [
        (json!({}), 900, 300),
        (json!({ "maxHeartbeatSeconds": 3_600 }), 900, 300),
        (json!({ "maxHeartbeatSeconds": 40 }), 120, 40),
        (json!({ "maxHeartbeatSeconds": 1 }), 3, 1),
        (json!({ "noProgressSeconds": 60 }), 60, 20),
        (json!({ "noProgressSeconds": 1 }), 3, 1),
        (json!({ "noProgressSeconds": 3_600 }), 900, 300),
        (json!({ "leaseSeconds": 60 }), 60, 20),
        (json!({ "heartbeatSeconds": 10 }), 60, 10),
        (
            json!({ "leaseSeconds": 90, "heartbeatSeconds": 10 }),
            90,
            10,
        ),
        (json!({ "work": null }), 60, 20),
    ] {
        let functions = Functions::new();
        let ask = merged(ask_with("a", work.clone()), &options);

        let answer = functions.acquire(ask).await.unwrap();

        let pace = json!({ "leaseSeconds": lease, "heartbeatSeconds": heartbeat });
        assert_has(&answer, pace);
    }
}

#[tokio::test]
async fn a_repeated_acquire_of_a_holder_returns_its_grant() {
    let functions = Functions::new();
    let first = functions.granted("nightly", "run-1").await;
    functions.wait(5);

    let same = json!({ "lock": "nightly", "holder": "run-1" });
    let again = functions.acquire(same).await.unwrap();

    assert_has(&again, json!({ "status": "alreadyHeld", "grant": first }));
    let has_key = again.to_string().contains("LOCKSTEP_RUN_KEY");
    assert!(!has_key, "a run without a key has no variable for it");
}

#[tokio::test]
async fn a_skip_says_who_holds_the_lock_since_and_until_when() {
    let functions = Functions::new();
    functions.granted("nightly", "arn:x:execution:m:a#1").await;
    functions.wait(5);

    let other = json!({ "lock": "nightly", "holder": "run-2" });
    let answer = functions.acquire(other).await.unwrap();

    let expected = json!({
        "status": "skipped", "lock": "nightly", "held": 1, "queueLength": 0,
        "holder": "arn:x:execution:m:a#1", "since": "2026-03-01T06:00:00Z",
        "expiresAt": "2026-03-01T06:01:00Z", "message": answer["message"]
    });
    assert_eq!(answer, expected);
    let stop = "stop-execution --execution-arn arn:x:execution:m:a";
    assert_says(answer["message"].as_str().unwrap(), stop);
}

#[tokio::test]
async fn a_skip_in_a_rest_says_when_the_rest_ends() {
    let functions = Functions::new();
    let ask = json!({ "lock": "nightly", "holder": "run-1", "minIntervalSeconds": 600 });
    let grant = functions.granted_with(ask).await;
    functions.succeed(&grant).await;
    let next = json!({ "lock": "nightly", "holder": "run-2" });

    let early = functions.acquire(next.clone()).await.unwrap();
    let skipped = functions.event(EventKind::RunSkipped).reason;
    functions.wait(600);
    let later = functions.status(next).await;

    assert_has(
        &early,
        json!({ "status": "skipped", "notBefore": "2026-03-01T06:10:00Z" }),
    );
    assert_says(&skipped, "2026-03-01T06:10:00Z");
    assert_eq!(later, "granted");
}

#[tokio::test]
async fn overlap_fail_names_the_holder_in_a_named_error() {
    let functions = Functions::new();
    functions.granted("nightly", "run-1").await;
    let ask = json!({ "lock": "nightly", "holder": "run-2", "overlap": "fail" });

    let answer = functions.acquire(ask).await;

    let who = "held by run-1 since 2026-03-01T06:00:00Z";
    assert_fails(answer, "Lockstep.LockHeld", &[who]);
    assert!(
        functions.events.published().is_empty(),
        "a failed start is not a skip"
    );
}

#[tokio::test]
async fn a_heartbeat_has_expires_at_and_a_release_held_seconds() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "run-1").await;
    let beat = json!({ "grant": grant, "taskToken": "AQC" });
    let release = json!({ "grant": grant, "outcome": "succeeded" });

    let renewed = functions.heartbeat(beat.clone()).await.unwrap();
    functions.clock.advance(Duration::from_millis(1500));
    let released = functions.release(release).await.unwrap();
    let ended = functions.heartbeat(beat).await.unwrap();

    assert_eq!(
        renewed,
        json!({ "status": "renewed", "expiresAt": "2026-03-01T06:01:00Z" })
    );
    assert_eq!(
        released,
        json!({ "status": "released", "heldSeconds": 1.5, "alreadyReleased": false })
    );
    assert_eq!(ended, json!({ "status": "ended" }));
}

#[tokio::test]
async fn check_running_executions_says_advisory_and_who_is_ahead() {
    let arn = |name: &str| format!("arn:aws:states:eu-west-1:1:execution:report:{name}");
    let mut functions = Functions::new();
    let read = |name: &str, at: &str| {
        let event = json!({ "executionArn": arn(name), "startedAt": at });
        lockstep::contract::CheckRunningRequest::read(event)
            .unwrap()
            .caller
    };
    functions.executions = lockstep::executions::memory::MemoryExecutions::with_running(vec![
        read("b", "2026-03-01T06:00:01Z"),
        read("a", "2026-03-01T06:00:00Z"),
    ]);
    let ask = json!({ "executionArn": arn("b"), "startedAt": "2026-03-01T06:00:01Z" });

    let answer = functions.check_running(ask).await.unwrap();

    let expected = json!({
        "proceed": false,
        "ahead": [{ "executionArn": arn("a"), "startedAt": "2026-03-01T06:00:00Z" }],
        "aheadCount": 1,
        "runningCount": 2,
        "advisory": true
    });
    assert_eq!(answer, expected);
}
