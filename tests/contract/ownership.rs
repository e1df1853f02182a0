//! Only the holder, under its token, renews and releases; twice is as good as once.

use crate::functions::Functions;
use crate::scene::assert_says;
use lockstep::domain::{HolderId, Timestamp};
use serde_json::json;

#[tokio::test]
async fn releasing_twice_is_harmless_and_says_so() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "run-1").await;

    let first = functions.succeed(&grant).await;
    let second = functions.succeed(&grant).await;

    assert_eq!(first["alreadyReleased"], false);
    assert_eq!(second["status"], "released");
    assert_eq!(second["alreadyReleased"], true);
}

#[tokio::test]
async fn a_late_finisher_cannot_touch_its_successor() {
    let functions = Functions::new();
    let old = functions.granted("nightly", "run-1").await;
    functions.wait(62);
    let new = functions.granted("nightly", "run-2").await;

    let late = json!({ "grant": old });
    let beat = functions.heartbeat(late).await.unwrap_err();
    let end = functions.succeed(&old).await;

    assert_eq!(beat.name().as_str(), "Lockstep.LeaseLost");
    assert_says(beat.message(), "run-2");
    assert_eq!(end, json!({ "status": "lost", "holders": ["run-2"] }));
    let record = functions.record("nightly").await.unwrap();
    let token = record.holders[&HolderId::new("run-2").unwrap()].token;
    assert_eq!(token.number(), new["token"].as_u64().unwrap());
}

#[tokio::test]
async fn only_the_holder_under_its_token_renews_or_releases() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "run-1").await;
    let before = functions.record("nightly").await;
    let token = grant["token"].as_u64().unwrap();

    for (field, value) in [("holder", json!("run-2")), ("token", json!(token + 1))] {
        let mut forged = grant.clone();
        forged[field] = value;

        let beat = functions.heartbeat(json!({ "grant": forged })).await;
        let release = functions.succeed(&forged).await;

        let refused = beat.unwrap_err().name().as_str();
        assert_eq!(refused, "Lockstep.LeaseLost", "{field}");
        let lost = json!({ "status": "lost", "holders": ["run-1"] });
        assert_eq!(release, lost, "{field}");
    }
    assert_eq!(functions.record("nightly").await, before);
}

#[tokio::test]
async fn a_permit_that_is_released_twice_is_one_free_permit() {
    let functions = Functions::new();
    let ask = |holder: &str| json!({ "lock": "api", "holder": holder, "permits": 2 });
    let first = functions.granted_with(ask("run-1")).await;
    functions.wait(1);
    functions.granted_with(ask("run-2")).await;

    functions.succeed(&first).await;
    functions.succeed(&first).await;
    functions.wait(1);

    let third = functions.acquire(ask("run-3")).await.unwrap();
    let fourth = functions.acquire(ask("run-4")).await.unwrap();
    assert_eq!(third["status"], "granted");
    assert_eq!(fourth["status"], "skipped");
    assert_eq!(fourth["held"], 2);
}

#[tokio::test]
async fn tokens_grow_although_the_clock_steps_back() {
    let functions = Functions::new();
    let first = functions.granted("nightly", "run-1").await;
    functions.succeed(&first).await;
    let earlier = functions.now().millis() - 600_000;
    functions.clock.set(Timestamp::from_millis(earlier));

    let second = functions.granted("nightly", "run-2").await;
    let beat = functions.renew(&second).await;
    let end = functions.succeed(&second).await;

    assert!(second["token"].as_u64() > first["token"].as_u64());
    assert_eq!(beat["status"], "renewed");
    assert_eq!(end["status"], "released");
    assert_eq!(end["heldSeconds"], 0.0);
}
