//! Signals, process groups, zombies, and processes that a command leaves behind: also those that
//! leave its group by `setsid`, two forks or another environment.

use crate::agent::with_notes;
use crate::support::{Scene, lives, output, until_dead};
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::{now, until};
use std::fs;
use std::path::Path;

/// Notes the id of the shell, and works until it is stopped.
const WORK_ON: &str = "echo $$ >> $NOTES; while :; do sleep 0.1; done";

#[tokio::test]
async fn sigterm_is_passed_on_and_a_command_that_ends_in_time_is_not_killed() {
    let scene = Scene::open("sigterm").await;
    let script = format!("trap 'echo clean >> $NOTES; exit 0' TERM; {WORK_ON}");
    let mut run = scene.start(&[], &script);
    scene.ids(1).await;

    run.signal("TERM").await;

    assert_eq!(run.code().await, 143);
    assert!(scene.noted().ends_with("clean\n"));
    let outcome = scene.outcome().await;
    assert_eq!(outcome, Some(RunOutcome::Failed), "it was cut off");
    assert_eq!(scene.held().await, 0);
}

#[tokio::test]
async fn the_grace_ends_a_command_that_ignores_sigterm_and_its_group() {
    let scene = Scene::open("ignores").await;
    let script = "trap '' TERM; sleep 300 & echo $$ $! >> $NOTES; while :; do sleep 0.1; done";
    let mut run = scene.start(&["--grace", "1s"], script);
    let pids = scene.ids(2).await;

    run.signal("TERM").await;

    assert_eq!(run.code().await, 143);
    until_dead(&pids, 1).await;
    assert_eq!(scene.held().await, 0);
}

#[tokio::test]
async fn quit_and_hup_do_not_end_a_command_that_handles_them() {
    let scene = Scene::open("quit").await;
    let script = "dumps=0; trap 'echo dump >> $NOTES; dumps=$((dumps + 1))' QUIT HUP; \
        echo $$ >> $NOTES; while [ $dumps -lt 2 ]; do sleep 0.1; done; exit 0";
    let mut run = scene.start(&["--grace", "1s"], script);
    scene.ids(1).await;

    run.signal("QUIT").await;
    until("a dump", 5, async || scene.noted().ends_with("dump\n")).await;
    run.signal("HUP").await;

    assert_eq!(run.code().await, 0);
    assert!(scene.noted().ends_with("dump\ndump\n"));
}

#[tokio::test]
async fn usr1_is_passed_on_to_the_command() {
    let scene = Scene::open("usr1").await;
    let script = format!("trap 'echo usr1 >> $NOTES; exit 7' USR1; {WORK_ON}");
    let mut run = scene.start(&[], &script);
    scene.ids(1).await;

    run.signal("USR1").await;

    assert_eq!(run.code().await, 7);
    assert!(scene.noted().ends_with("usr1\n"));
}

#[tokio::test]
async fn timer_io_power_and_job_control_signals_are_passed_on() {
    let scene = Scene::open("all-signals").await;
    let signals = ["ALRM", "VTALRM", "PROF", "IO", "PWR", "USR2"];
    let traps = signals.map(|name| format!("trap 'echo {name} >> $NOTES' {name}; "));
    let work = "echo begun >> $NOTES; while :; do sleep 0.1; done";
    let mut run = scene.start(&[], &(traps.concat() + work));
    let until_noted = async |text: &str| {
        until(text, 5, async || scene.noted().ends_with(text)).await;
    };
    until("traps", 20, async || scene.noted() == "begun\n").await;

    for signal in signals {
        run.signal(signal).await;
        until_noted(&format!("{signal}\n")).await;
    }
    let stat = format!("/proc/{}/stat", run.children()[0].0);
    let is_stopped = async || fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T "));
    run.signal("TSTP").await;
    until("SIGTSTP", 5, is_stopped).await;
    run.signal("CONT").await;
    // A real-time signal is not passed on, and ends nothing.
    run.signal("RTMIN+3").await;
    run.signal("USR2").await;

    // The command handles it after SIGCONT.
    until_noted("USR2\nUSR2\n").await;
    run.signal("TERM").await;
    assert_eq!(run.code().await, 143);
}

/// A daemon that has 300 MB of memory, and its child. The more memory a process has, the longer its
/// end takes, and until then its child has no other parent.
const SLOW_DAEMON: &str = "setsid bash -c 'x=$(head -c 300000000 /dev/zero | tr \"\\0\" a); \
    setsid sleep 300 > /dev/null 2>&1 & echo $! >> $NOTES; wait' & \
    until test -s $NOTES; do sleep 0.1; done";
/// A chain of processes. Each is in a session of its own, and the parent of the next.
const CHAIN: &str = "echo '[ $1 -gt 0 ] && setsid sh $0 $(($1 - 1)) & echo $$ >> $NOTES; wait; sleep 300' \
    > $NOTES.link; setsid sh $NOTES.link 599 > /dev/null 2>&1 & \
    touch $NOTES; until [ \"$(wc -l < $NOTES)\" = 600 ]; do sleep 0.1; done";

#[tokio::test]
async fn no_process_of_a_command_outlives_its_lock() {
    let group_and_daemon = "sleep 300 & echo $! >> $NOTES; \
        setsid sh -c 'echo $$ >> $NOTES; exec sleep 300' & sleep 0.5";
    for (test, script, count) in [
        ("daemon", group_and_daemon, 2),
        ("slow-daemon", SLOW_DAEMON, 1),
        ("chain", CHAIN, 600),
    ] {
        let scene = Scene::open(test).await;

        let (code, _, stderr) = output(scene.bash(&[], script)).await;

        let mut left = scene.ids(count).await;
        left.retain(|pid| lives(*pid));
        assert_eq!((code, left), (0, vec![]), "{test}: {stderr}");
    }
}

#[tokio::test]
async fn orphans_of_a_command_leave_no_zombies() {
    let scene = Scene::open("zombie").await;
    // The process in the middle ends at once, so the last one becomes a child of lockstep. Then it
    // ends.
    let run = scene.start(&[], "(sh -c 'echo $$ >> $NOTES; sleep 0.2' &) ; sleep 30");
    let orphan = format!("/proc/{}", scene.ids(1).await[0]);

    until("no zombie", 10, async || !Path::new(&orphan).exists()).await;

    assert_eq!(run.children().len(), 1, "the command works on");
}

#[tokio::test]
async fn a_command_that_writes_much_is_neither_cut_nor_held_up() {
    let scene = Scene::open("pipe").await;

    let (code, out, _) = output(scene.bash(&[], "yes 0123456789 | head -n 200000")).await;

    assert_eq!((code, out.len()), (0, 200_000 * 11));
}

#[tokio::test]
async fn a_run_that_is_over_its_time_is_stopped_with_124() {
    let scene = Scene::open("max-run").await;

    let (code, _, stderr) = output(scene.bash(&["--max-run", "1s"], "sleep 300")).await;

    assert_eq!(code, 124, "{stderr}");
    assert!(stderr.contains("--max-run"), "{stderr}");
    assert_eq!(scene.held().await, 0);
}

/// A daemon in a session of its own, whose parent has ended. It notes its id.
const DAEMON: &str =
    "(setsid sh -c 'echo $$ >> $NOTES; exec sleep 300' > /dev/null 2>&1 &) ; sleep 300";

#[tokio::test]
async fn a_daemon_with_any_environment_dies_with_a_killed_run() {
    let other_environment =
        "setsid env -i NOTES=$NOTES sh -c 'echo $$ >> $NOTES; exec sleep 300' & sleep 300";
    let no_parent =
        "(setsid env -i NOTES=$NOTES sh -c 'echo $$ >> $NOTES; exec sleep 300' &) ; sleep 300";
    for script in [DAEMON, other_environment, no_parent] {
        let scene = Scene::open("daemon-killed").await;
        let mut run = scene.start(&[], script);
        let daemon = scene.ids(1).await;

        run.signal("KILL").await;

        assert_eq!(run.code().await, 137, "{script}");
        until_dead(&daemon, 5).await;
    }
}

#[tokio::test]
async fn a_daemon_of_a_run_that_is_stopped_is_dead_before_the_lease_ends() {
    let scene = Scene::open("daemon-stopped").await;
    let run = scene.start(&["--lease", "5s"], DAEMON);
    let daemon = scene.ids(1).await;

    run.signal("STOP").await;

    until_dead(&daemon, 10).await;
    let end = scene.lease_end().await;
    assert!(now() < end, "{end}");
    run.signal("KILL").await;
}

#[tokio::test]
async fn a_daemon_dies_with_an_agent_that_is_killed() {
    let scene = Scene::open("daemon-agent").await;
    let flags = ["--lease", "9s", "--", "sh", "-c", DAEMON];
    let mut agent = with_notes(&scene, &flags).await;
    let daemon = scene.ids(1).await;

    agent.process.signal("KILL").await;

    assert_eq!(agent.process.code().await, 137);
    until_dead(&daemon, 5).await;
}
