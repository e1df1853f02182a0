//! What a command of a worker gets, and what happens to a message whose command succeeds.

use super::{Scene, Sign};
use crate::support::assert_refused;
use lockstep::domain::RunOutcome;
use serde_json::json;

#[tokio::test]
async fn a_command_gets_the_body_on_stdin_and_its_grant_in_variables() {
    let scene = Scene::new("given", 3).await;
    let attributes = json!({
        "kind": { "DataType": "String", "StringValue": "re fund" },
        "size": { "DataType": "Number", "StringValue": "7" },
    });
    let body = "größe\nline 2 \u{1F600} no end of line";
    let id = scene.queue.send_with(&scene.inside.stack, body, attributes);
    let id = id.await;

    let worker = scene.worker(
        &["--lock", &scene.queue.name],
        "say \"$(base64 -w0)\"; say $LOCKSTEP_MESSAGE_ID; say $LOCKSTEP_RECEIVE_COUNT; \
         say \"$LOCKSTEP_MESSAGE_ATTRIBUTES\"; test -p $LOCKSTEP_PROGRESS && say $LOCKSTEP_LOCK",
    );
    scene.until_empty(30).await;
    let log = worker.end().await;

    let [body_received, id_received, count, attributes, lock] = &scene.received()[..] else {
        panic!("{:?} {log}", scene.received());
    };
    let encoded = "Z3LDtsOfZQpsaW5lIDIg8J+YgCBubyBlbmQgb2YgbGluZQ==";
    assert_eq!(body_received, encoded);
    assert_eq!((id_received, count.as_str()), (&id, "1"));
    assert_eq!(attributes, r#"{"kind":"re fund","size":"7"}"#);
    let run = scene.inside.latest_run(lock).await.expect("an entry");
    assert_eq!(run.outcome(), Some(RunOutcome::Succeeded));
    assert_eq!(run.run_key.expect("a run key").as_str(), id);
    let lines = ["command started", "command succeeded", "shut down"];
    let parts = lines.map(|line| format!("\"{line}\""));
    for part in parts.iter().chain([&id, &"MessagesSucceeded".to_owned()]) {
        assert!(log.contains(part), "{part} not in: {log}");
    }
}

#[tokio::test]
async fn a_long_run_outlives_many_leases_and_is_received_once() {
    let scene = Scene::new("long", 3).await;
    let script = "say \"start $LOCKSTEP_RECEIVE_COUNT\"; sleep 16; say end";
    let workers = [(); 2].map(|()| scene.worker(&["--lease", "5s"], script));

    scene.send("work").await;
    scene.until_empty(60).await;
    for worker in workers {
        let log = worker.end().await;
        let is_skipped = log.contains("skipped: ");
        assert!(!is_skipped, "no other worker received it: {log}");
    }

    assert_eq!(scene.received(), ["start 1", "end"]);
}

#[tokio::test]
async fn a_worker_has_as_many_commands_as_it_may_and_no_more() {
    let scene = Scene::new("concurrency", 3).await;
    let go = Sign::new();
    for n in 0..5 {
        scene.send(&format!("{n}")).await;
    }

    let script = format!("say start; {} say end", go.wait());
    let worker = scene.worker(&["--concurrency", "3"], &script);
    scene.resource.until_received("start", 3, 30).await;
    let children = worker.process.children().len();
    go.give();
    scene.until_empty(30).await;
    worker.end().await;

    let received = scene.received();
    assert_eq!(children, 3);
    let first = ["start", "start", "start", "end"];
    assert_eq!(received[..4], first, "{received:?}");
    assert_eq!(scene.resource.received("end").len(), 5);
}

#[tokio::test]
async fn a_bad_flag_or_queue_gives_one_clear_line_and_64() {
    let scene = Scene::new("bad-flags", 3).await;
    let url = scene.queue.url.as_str();
    let missing = format!("{url}-not-there");
    let fifo = format!("{url}.fifo");
    for (url, flags, named) in [
        (missing.as_str(), &[][..], "no such queue"),
        (&fifo, &[], "standard queue"),
        ("orders", &[], "--queue-url"),
        (url, &["--once-key", "a.["], "--once-key"),
        (url, &["--once-key", "from_jso(Message).id"], "from_jso()"),
        (url, &["--once-key", "to_string(a, b)"], "takes 1"),
        (
            url,
            &["--once-key", "'orderId'"],
            "the same for every message",
        ),
        (url, &["--once-key", "[orderId]"], "always finds an array"),
        (url, &["--concurrency", "0"], "--concurrency"),
        (url, &["--lock", "a b"], "--lock"),
        (url, &["--backoff-max", "12h"], "--backoff-max"),
    ] {
        let parts = [&["worker", "--queue-url", url], flags, &["--", "true"]];
        assert_refused(scene.inside.command(&parts.concat()), 64, named).await;
    }
    let no_queue = ["worker", "--lease", "60s", "--", "true"];
    assert_refused(scene.inside.command(&no_queue), 64, "--queue-url").await;
}

/// Returns what a command of a worker reads when it opens its standard input by name, behind
/// `become_other`, which starts a script.
pub(crate) async fn read_as(become_other: &[&str]) -> String {
    let scene = Scene::new("opens-stdin", 3).await;
    let words: Vec<_> = become_other
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', "'\\''")))
        .collect();
    let script = format!("say \"$({} 'cat /dev/stdin')\"", words.join(" "));
    let worker = scene.worker(&[], &script);
    scene.send("the body").await;
    scene.until_empty(30).await;
    worker.end().await;
    scene.received().concat()
}
