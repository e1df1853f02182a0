//! Runs under the policy `terminate` that send heartbeats and are over `noProgressSeconds` or
//! `maxRunSeconds`.

use crate::scene::{assert_fails, assert_says, execution, status_of};
use crate::stale::{beat, held};
use lockstep::contract::EventKind;
use serde_json::json;

#[tokio::test]
async fn a_run_is_renewed_while_it_makes_progress_within_its_time() {
    let stalled = Some(["noProgressSeconds", "2026-03-01T06:00:50Z"]);
    let overran = Some(["maxRunSeconds", "2026-03-01T06:01:40Z"]);
    // Columns: the seconds before each heartbeat with its progress, and the error of the last one.
    for (case, beats, refused) in [
        ("steps", &[(20, "1"), (20, "2"), (20, "3")][..], None),
        (
            "the same words",
            &[(20, "1"), (29, "1"), (1, "1")][..],
            stalled,
        ),
        ("the last moment", &[(31, "1")][..], None),
        (
            "overran",
            &[(20, "1"), (20, "2"), (20, "3"), (20, "4"), (20, "5")][..],
            overran,
        ),
    ] {
        let (functions, grant) = held("terminate").await;
        for (number, (seconds, words)) in beats.iter().enumerate() {
            functions.wait(*seconds);

            let answer = beat(&functions, &grant, words).await;

            match refused.filter(|_| number + 1 == beats.len()) {
                Some(parts) => assert_fails(answer, "Lockstep.LeaseLost", &parts),
                None => assert_eq!(status_of(&answer), "renewed", "{case}: {words}"),
            }
        }
    }
}

#[tokio::test]
async fn terminate_fails_the_heartbeat_and_leaves_the_release_to_the_run() {
    let (functions, grant) = held("terminate").await;
    functions.wait(31);

    let lost = functions.heartbeat(json!({ "grant": grant })).await;
    let between = functions.holders("nightly").await;
    let released = functions.finish(&grant, "failed").await;

    assert_eq!(status_of(&lost), "Lockstep.LeaseLost");
    assert_eq!(between, [execution("a")]);
    assert_eq!(released["status"], "released");
    let event = functions.event(EventKind::LeaseLost);
    assert_says(&event.reason, "noProgressSeconds");
    assert_says(&event.advice, "stops the work");
    assert!(functions.has_counted("LeaseLost"));
}
