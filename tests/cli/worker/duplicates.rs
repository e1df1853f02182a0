//! Messages that come twice.

use super::{Scene, Sign};
use crate::support::FaultProxy;
use lockstep_tests::stack::until;
use serde_json::json;

const ONCE: [&str; 4] = ["--once-key", "order.id", "--lease", "5s"];
const BODY: &str = r#"{"order": {"id": "A-7"}}"#;

#[tokio::test]
async fn a_message_whose_work_has_succeeded_is_deleted_and_not_run() {
    let scene = Scene::new("succeeded", 3).await;
    let worker = scene.worker(&ONCE, "say start");
    scene.send(BODY).await;
    scene.until_empty(30).await;

    scene.send(BODY).await;
    scene.until_empty(30).await;
    let log = worker.end().await;

    assert_eq!(scene.received(), ["start"]);
    assert!(log.contains("skipped: ") && log.contains("A-7"), "{log}");
}

#[tokio::test]
async fn a_message_that_succeeded_but_was_not_deleted_is_not_run_again() {
    let scene = Scene::new("not-deleted", 3).await;
    let proxy = FaultProxy::open(&scene.inside.stack.endpoint).await;
    let go = Sign::new();
    let script = format!("say start; say $LOCKSTEP_LOCK; {}", go.wait());
    let sqs = proxy.endpoint();
    let mut first = scene.worker_with(&ONCE, &script, ("AWS_ENDPOINT_URL_SQS", &sqs));
    scene.send(BODY).await;
    scene.resource.until_received("start", 1, 30).await;
    until("lock", 10, async || scene.received().len() == 2).await;
    let lock = scene.received().remove(1);

    proxy.close();
    go.give();
    scene.inside.until_held(&lock, 0, 30).await;
    first.process.signal("KILL").await;
    first.process.code().await;
    let second = scene.worker(&ONCE, "say start");
    scene.until_empty(60).await;
    let log = second.end().await;

    assert_eq!(scene.resource.received("start").len(), 1);
    assert!(log.contains("skipped: "), "{log}");
}

#[tokio::test]
async fn a_duplicate_is_not_run_beside_the_first_and_is_deleted_after_it() {
    let scene = Scene::new("in-flight", 9).await;
    let go = Sign::new();
    let script = format!("say start; {} say end", go.wait());
    let flags = [&ONCE[..], &["--concurrency", "2"]].concat();
    let worker = scene.worker(&flags, &script);
    scene.send(BODY).await;
    scene.resource.until_received("start", 1, 30).await;

    scene.send(BODY).await;
    worker.until_logged("skipped: ", 30).await;
    let received_while_in_flight = scene.received();
    go.give();
    scene.until_empty(60).await;
    let log = worker.end().await;

    assert_eq!(received_while_in_flight, ["start"]);
    assert_eq!(scene.received(), ["start", "end"]);
    assert!(log.contains("host:"), "the holder is named: {log}");
}

#[tokio::test]
async fn a_failure_leaves_its_key_free_and_a_success_does_not() {
    let scene = Scene::new("try-again", 9).await;
    let flags = [&ONCE[..], &["--backoff-max", "1s"]].concat();
    let script = "say \"start $LOCKSTEP_RECEIVE_COUNT\"; [ $LOCKSTEP_RECEIVE_COUNT = 3 ]";

    let worker = scene.worker(&flags, script);
    scene.send(BODY).await;
    scene.until_empty(60).await;
    worker.end().await;

    assert_eq!(scene.received(), ["start 1", "start 2", "start 3"]);
    assert_eq!(scene.dead().await, [""; 0]);
}

#[tokio::test]
async fn two_notifications_of_one_order_are_one_piece_of_work() {
    let scene = Scene::new("sns", 3).await;
    // What SNS puts into a queue, without raw message delivery.
    let notification = |id: &str| {
        let message = json!({ "order": { "id": "A-7" } }).to_string();
        json!({ "Type": "Notification", "MessageId": id, "Message": message }).to_string()
    };
    let flags = ["--once-key", "from_json(Message).order.id", "--lease", "5s"];
    let worker = scene.worker(&flags, "say \"start $LOCKSTEP_RUN_KEY\"");

    for id in ["first", "second"] {
        scene.send(&notification(id)).await;
        scene.until_empty(30).await;
    }
    let log = worker.end().await;

    assert_eq!(scene.received(), ["start A-7"]);
    assert!(log.contains("skipped: "), "{log}");
}
