//! Messages that fail, and tables that do not answer.

use super::{QUICK, Scene};
use crate::support::output;
use lockstep_tests::stack::until;

#[tokio::test]
async fn a_message_that_always_fails_becomes_a_dead_letter() {
    let scene = Scene::new("poison", 3).await;
    let script = "body=$(cat); say \"$body $LOCKSTEP_RECEIVE_COUNT\"; [ $body != bad ]";
    let poison = scene.send("bad").await;
    scene.send("good").await;

    let worker = scene.worker(&QUICK, script);
    scene.until_empty(60).await;
    let log = worker.end().await;

    let mut received = scene.received();
    received.sort();
    assert_eq!(received, ["bad 1", "bad 2", "bad 3", "good 1"]);
    assert_eq!(scene.dead().await, [poison.as_str()]);
    let parts = ["\"command failed\"", &poison, "exit code 1"];
    let has_all = |line: &&str| parts.iter().all(|part| line.contains(part));
    assert_eq!(log.lines().filter(has_all).count(), 3, "{log}");
}

#[tokio::test]
async fn a_malformed_message_is_never_run_and_its_body_is_in_no_log() {
    let scene = Scene::new("malformed", 2).await;
    let flags = [&QUICK[..], &["--once-key", "id"]].concat();
    let ends_early = [
        "ends too early at line 1",
        "\"bytes\":22",
        "sha256",
        "sent",
        "receive_count",
    ];
    let cases = [
        (r#"{"card": "4111-secret""#, &ends_early[..]),
        (r#"{"card": "4111-secret"}"#, &["finds nothing"]),
        (
            r#"{"id": 12345678901234567890123}"#,
            &["may have been rounded"],
        ),
    ];
    let mut expected = Vec::new();
    for (body, _) in cases {
        expected.push(scene.send(body).await);
    }

    let worker = scene.worker_with(&flags, "say start", ("LOCKSTEP_LOG", "trace"));
    scene.until_empty(60).await;
    let log = worker.end().await;

    assert!(!log.contains("4111-secret"), "{log}");
    for (id, (body, parts)) in expected.iter().zip(cases) {
        let mut lines = log.lines().filter(|line| line.contains("malformed: "));
        let line = lines.find(|line| line.contains(id)).expect(body);
        for part in parts {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    expected.sort();
    assert_eq!((scene.dead().await, scene.received()), (expected, vec![]));
}

#[tokio::test]
async fn max_run_and_no_progress_stop_a_command_and_its_message_fails() {
    let scene = Scene::new("over-time", 1).await;
    let flags = [&QUICK[..], &["--max-run", "1s", "--grace", "1s"]].concat();
    let worker = scene.worker(&flags, "say start; sleep 300; say end");
    scene.send("long").await;
    scene.until_empty(30).await;
    let first = worker.end().await;
    let script =
        "for n in 1 2 3; do echo $n > $LOCKSTEP_PROGRESS; sleep 0.7; done; say worked; sleep 300";
    let flags = [&QUICK[..], &["--no-progress", "2s", "--grace", "1s"]].concat();
    let worker = scene.worker(&flags, script);
    scene.send("stuck").await;
    scene.until_empty(30).await;
    let second = worker.end().await;

    assert_eq!(scene.received(), ["start", "worked"]);
    for part in ["--max-run exceeded", "TimedOut"] {
        assert!(first.contains(part), "{first}");
    }
    assert!(second.contains("no progress"), "{second}");
    assert_eq!(scene.dead().await.len(), 2);
}

#[tokio::test]
async fn a_message_of_a_paused_lock_is_deferred_until_the_resume() {
    let scene = Scene::new("paused", 9).await;
    let name = &scene.queue.name;
    let locks: Vec<_> = (0..64).map(|shard| format!("{name}/{shard:02x}")).collect();
    for lock in &locks {
        scene.inside.stack.pause_lock(lock, "a move").await;
    }
    let worker = scene.worker(&QUICK, "say \"run $LOCKSTEP_RECEIVE_COUNT\"");
    scene.send("work").await;
    worker.until_logged("deferred: ", 30).await;
    worker.until_logged("no message is received for", 10).await;

    let log = worker.log.text();
    let line = log.lines().find(|line| line.contains("deferred: "));
    let line = line.expect("a line");
    let own = locks.iter().find(|lock| line.contains(lock.as_str()));
    let own = own.expect("one of its locks");
    scene.inside.stack.resume_lock(own, "moved").await;
    scene.until_empty(60).await;
    worker.end().await;

    assert!(line.contains("a move"), "{line}");
    assert_eq!(scene.received(), ["run 2"]);
}

#[tokio::test]
async fn a_worker_whose_table_is_cut_off_goes_on_and_leaves_messages_to_others() {
    let scene = Scene::new("no-table", 9).await;
    let proxy = scene.inside.table_proxy().await;
    let mut cut = scene.worker_behind(&proxy, "say before");
    scene.send("work").await;
    scene.until_empty(30).await;

    proxy.close();
    scene.send("work").await;
    cut.until_logged("deferred: ", 60).await;
    cut.until_logged("no message is received for", 10).await;
    // The worker that is cut off tries the table without a message, so this one gets all messages.
    let healthy = scene.worker(&QUICK, "say \"after $LOCKSTEP_RECEIVE_COUNT\"");
    until("the other", 60, async || scene.received().len() == 2).await;
    scene.until_empty(60).await;
    healthy.end().await;
    cut.process.signal("INT").await;

    assert_eq!(scene.received(), ["before", "after 2"]);
    assert_eq!(cut.process.code().await, 130);
}

#[tokio::test]
async fn a_worker_waits_for_a_silent_table_and_receives_no_message() {
    let scene = Scene::new("silent", 9).await;
    let proxy = scene.inside.table_proxy().await;
    proxy.close();
    scene.send("work").await;
    let mut cut = scene.worker_behind(&proxy, "say cut");
    cut.until_logged("no message is received for", 30).await;

    scene.assert_untouched().await;
    cut.process.signal("INT").await;

    assert_eq!(cut.process.code().await, 130);
}

#[tokio::test]
async fn a_worker_without_its_table_ends_with_69_and_receives_no_message() {
    let scene = Scene::new("wrong-table", 9).await;
    scene.send("work").await;
    let mut wrong = scene.worker_with(&QUICK, "say wrong", ("LOCKSTEP_TABLE", "no-such-table"));
    let code = wrong.process.code().await;
    let log = wrong.log.text();

    assert_eq!(code, 69, "{log}");
    assert!(log.contains("--table no-such-table: "), "{log}");
    scene.assert_untouched().await;
}

#[tokio::test]
async fn a_worker_without_its_program_ends_with_127_and_receives_nothing() {
    let scene = Scene::new("no-program", 9).await;
    scene.send("work").await;
    let queue = ["worker", "--queue-url", &scene.queue.url];
    let flags = [&queue[..], &QUICK, &["--", "no-such-program"]].concat();

    let (code, _, stderr) = output(scene.inside.command(&flags)).await;

    assert_eq!(code, 127, "{stderr}");
    let missing = "no-such-program: command not found";
    assert!(stderr.contains(missing), "{stderr}");
    scene.assert_untouched().await;
}

#[tokio::test]
async fn a_max_receive_count_that_deploys_use_up_is_warned_of() {
    for (receives, is_warned) in [(1, true), (5, false)] {
        let scene = Scene::new("few-receives", receives).await;
        let worker = scene.worker(&QUICK, "true");
        worker.until_logged("worker_started", 30).await;

        let log = worker.end().await;

        let warned = log.contains("queue_settings_risky") && log.contains("maxReceiveCount");
        assert_eq!(warned, is_warned, "{log}");
    }
}
