//! `--signal-scope`: whether signals reach only the first process of a command, or its whole group.

use crate::agent::with_notes;
use crate::support::{Scene, Started};
use lockstep_tests::stack::until;

/// A parent that begins no more work after SIGTERM, and waits for what its three workers have
/// begun. SIGTERM ends a worker.
const DRAINS: &str = r#"
    trap 'echo drains >> $NOTES.got' TERM
    for i in 1 2 3; do
        sh -c 'echo $$ >> $NOTES; until [ -e $NOTES.end ]; do sleep 0.05; done; echo finished >> $NOTES.got' &
    done
    until wait; [ "$(jobs -r | wc -l)" = 0 ]; do :; done"#;

/// A wrapper that passes SIGTERM on to its program, which takes a second one as an order to stop
/// now. The wrapper is ready for the signal before its program is. It passes the signal on after
/// the program has got its own.
const PASSES_ON: &str = r#"
    trap 'sleep 1; kill -TERM $!' TERM
    bash -c '
        trap "echo TERM >> $NOTES.got" TERM
        echo $$ >> $NOTES
        until [ -e $NOTES.end ]; do sleep 0.05; done
        echo saved >> $NOTES.got' &
    until wait $!; ! kill -0 $! 2> /dev/null; do :; done"#;

/// A shell that ends at SIGTERM, with work in its group and work in a session of its own.
const ENDS: &str = r#"
    work='trap "echo TERM >> $NOTES.got" TERM; echo $$ >> $NOTES
        until [ -e $NOTES.end ]; do sleep 0.05; done; echo saved >> $NOTES.got'
    bash -c "$work" & setsid bash -c "$work" & exec sleep 300"#;

/// The same work behind a first process that ignores SIGTERM.
const IGNORES: &str = r#"
    work='trap "echo TERM >> $NOTES.got; exit" TERM; echo $$ >> $NOTES; while :; do sleep 0.05; done'
    bash -c "$work" & setsid bash -c "$work" &
    trap '' TERM; echo $$ >> $NOTES; while :; do sleep 0.1; done"#;

/// Returns the lines that scripts have written to `$NOTES.got`.
fn got(scene: &Scene) -> Vec<String> {
    let got = std::fs::read_to_string(scene.notes.with_extension("got"));
    got.unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Stops `script` by SIGTERM, lets it end once it has noted `count` signals, and returns all notes.
async fn stopped(scope: &str, script: &str, processes: usize, count: usize) -> Vec<String> {
    let scene = Scene::open("scope").await;
    let flags = ["--signal-scope", scope, "--grace", "60s"];
    let mut run = scene.start(&flags, script);
    scene.ids(processes).await;
    run.signal("TERM").await;
    end(&scene, count).await;
    assert_eq!(run.code().await, 143);
    assert_eq!(scene.held().await, 0);
    got(&scene)
}

async fn end(scene: &Scene, count: usize) {
    until("signals", 20, async || got(scene).len() >= count).await;
    // A second signal would have come by now.
    lockstep_tests::stack::pause(1_400).await;
    std::fs::write(scene.notes.with_extension("end"), "").expect("a file");
}

#[tokio::test]
async fn scope_program_lets_workers_finish_and_scope_group_ends_them() {
    let alone = stopped("program", DRAINS, 3, 1).await;
    let group = stopped("group", DRAINS, 3, 1).await;

    assert_eq!(alone, ["drains", "finished", "finished", "finished"]);
    assert_eq!(group, ["drains"]);
}

#[tokio::test]
async fn with_scope_program_the_program_of_a_wrapper_gets_one_sigterm() {
    let alone = stopped("program", PASSES_ON, 1, 1).await;
    let group = stopped("group", PASSES_ON, 1, 2).await;

    assert_eq!(alone, ["TERM", "saved"]);
    assert_eq!(group, ["TERM", "TERM", "saved"]);
}

#[tokio::test]
async fn processes_that_outlive_the_program_get_sigterm_at_its_end() {
    let got = stopped("program", ENDS, 2, 2).await;

    assert_eq!(got, ["TERM", "TERM", "saved", "saved"]);
}

#[tokio::test]
async fn a_program_over_its_grace_keeps_no_signal_from_the_others() {
    let scene = Scene::open("scope-ignores").await;
    let flags = ["--signal-scope", "program", "--grace", "4s"];
    let mut run = scene.start(&flags, IGNORES);
    scene.ids(3).await;

    run.signal("TERM").await;

    assert_eq!(run.code().await, 143);
    assert_eq!(got(&scene), ["TERM", "TERM"]);
}

#[tokio::test]
async fn other_signals_have_the_same_scope() {
    let script = ENDS.replace(
        "exec sleep 300",
        "trap 'echo first >> $NOTES.got' USR1; echo $$ >> $NOTES; while :; do sleep 0.1; done",
    );
    let script = script.replace("TERM; echo", "TERM USR1; echo");
    for (scope, expected) in [("program", &["first"][..]), ("group", &["TERM", "first"])] {
        let scene = Scene::open("scope-usr1").await;
        let run = scene.start(&["--signal-scope", scope], &script);
        scene.ids(3).await;

        run.signal("USR1").await;
        until("signals", 20, async || got(&scene).len() >= expected.len()).await;
        lockstep_tests::stack::pause(500).await;

        let mut got = got(&scene);
        got.sort();
        assert_eq!(got, expected, "{scope}");
    }
}

#[tokio::test]
async fn an_agent_and_a_time_limit_keep_the_scope_too() {
    let scene = Scene::open("scope-agent").await;
    let scope = ["--signal-scope", "program", "--grace", "60s"];
    let flags = [&scope[..], &["--", "bash", "-c", DRAINS]].concat();
    let mut agent = with_notes(&scene, &flags).await;
    scene.ids(3).await;
    agent.process.signal("TERM").await;
    end(&scene, 1).await;
    assert_eq!(agent.process.code().await, 143);
    assert_eq!(got(&scene), ["drains", "finished", "finished", "finished"]);

    let scene = Scene::open("scope-limit").await;
    let flags = [&scope[..], &["--max-run", "3s"]].concat();
    let mut run: Started = scene.start(&flags, DRAINS);
    end(&scene, 1).await;
    assert_eq!(run.code().await, 124);
    assert_eq!(got(&scene), ["drains", "finished", "finished", "finished"]);
}
