//! Signals, groups, zombies, and what a command leaves behind: also processes that leave its group by
//! `setsid`, two forks, another environment.

use crate::agent::Agent;
use crate::support::{Inside, Started, ids, lives, lock, output, scratch, until_dead};
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::until;
use std::fs;
use std::path::{Path, PathBuf};

fn text(path: &PathBuf) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[tokio::test]
async fn sigterm_is_passed_on_and_a_command_that_ends_in_time_is_not_killed() {
    let inside = Inside::open().await;
    let (lock, notes) = (lock("sigterm"), scratch("sigterm"));
    let script = format!(
        "trap 'echo clean >> {0}; exit 0' TERM; echo $$ >> {0}; while :; do sleep 0.1; done",
        notes.display()
    );
    let mut run = Started::of(inside.run(&lock, &[], &["bash", "-c", &script]));
    ids(&notes, 1).await;

    run.signal("TERM").await;

    assert_eq!(run.code().await, 143);
    assert!(text(&notes).ends_with("clean\n"));
    let entry = inside.latest_run(&lock).await.expect("an entry");
    assert_eq!(entry.outcome(), Some(RunOutcome::Failed), "it was cut off");
    assert_eq!(inside.held(&lock).await, 0);
}

#[tokio::test]
async fn a_command_that_ignores_sigterm_is_killed_with_its_whole_group_after_the_grace() {
    let inside = Inside::open().await;
    let (lock, notes) = (lock("ignores"), scratch("ignores"));
    let script = format!(
        "trap '' TERM; sleep 300 & echo $$ $! >> {}; while :; do sleep 0.1; done",
        notes.display()
    );
    let mut run = Started::of(inside.run(&lock, &["--grace", "1s"], &["bash", "-c", &script]));
    let pids = ids(&notes, 2).await;

    run.signal("TERM").await;

    assert_eq!(run.code().await, 143);
    until_dead(&pids, 1).await;
    assert_eq!(inside.held(&lock).await, 0);
}

#[tokio::test]
async fn a_signal_that_means_something_else_to_the_command_does_not_end_it() {
    let inside = Inside::open().await;
    let (lock, notes) = (lock("quit"), scratch("quit"));
    let script = format!(
        "dumps=0; trap 'echo dump >> {0}; dumps=$((dumps + 1))' QUIT HUP; echo $$ >> {0}
        while [ $dumps -lt 2 ]; do sleep 0.1; done; exit 0",
        notes.display()
    );
    let flags = ["--grace", "1s"];
    let mut run = Started::of(inside.run(&lock, &flags, &["bash", "-c", &script]));
    ids(&notes, 1).await;

    run.signal("QUIT").await;
    until("a dump", 5, async || text(&notes).ends_with("dump\n")).await;
    run.signal("HUP").await;

    assert_eq!(run.code().await, 0);
    assert!(text(&notes).ends_with("dump\ndump\n"));
}

#[tokio::test]
async fn signals_that_do_not_end_are_passed_on_and_the_command_works_on() {
    let inside = Inside::open().await;
    let (lock, notes) = (lock("usr1"), scratch("usr1"));
    let script = format!(
        "trap 'echo usr1 >> {0}; exit 7' USR1; echo $$ >> {0}; while :; do sleep 0.1; done",
        notes.display()
    );
    let mut run = Started::of(inside.run(&lock, &[], &["bash", "-c", &script]));
    ids(&notes, 1).await;

    run.signal("USR1").await;

    assert_eq!(run.code().await, 7);
    assert!(text(&notes).ends_with("usr1\n"));
}

#[tokio::test]
async fn timers_input_power_and_job_control_are_passed_on_too() {
    let inside = Inside::open().await;
    let (lock, notes) = (lock("all-signals"), scratch("all-signals"));
    let signals = ["ALRM", "VTALRM", "PROF", "IO", "PWR", "USR2"];
    let traps: String = signals
        .map(|name| format!("trap 'echo {name} >> {0}' {name}; ", notes.display()))
        .concat();
    let script = format!(
        "{traps} echo begun >> {}; while :; do sleep 0.1; done",
        notes.display()
    );
    let mut run = Started::of(inside.run(&lock, &[], &["bash", "-c", &script]));
    until("traps", 20, async || text(&notes) == "begun\n").await;

    for signal in signals {
        run.signal(signal).await;
        let what = format!("SIG{signal}");
        until(&what, 5, async || {
            text(&notes).ends_with(&format!("{signal}\n"))
        })
        .await;
    }
    let stat = PathBuf::from(format!("/proc/{}/stat", run.children()[0].0));
    run.signal("TSTP").await;
    until("SIGTSTP", 5, async || text(&stat).contains(") T ")).await;
    run.signal("CONT").await;
    // A real-time signal is not passed on. It ends nothing either.
    run.signal("RTMIN+3").await;
    run.signal("USR2").await;

    let both = async || text(&notes).ends_with("USR2\nUSR2\n");
    until("SIGCONT and SIGUSR2", 5, both).await;
    run.signal("TERM").await;
    assert_eq!(run.code().await, 143);
}

#[tokio::test]
async fn nothing_of_a_command_outlives_its_lock_neither_its_group_nor_a_daemon() {
    let inside = Inside::open().await;
    let (lock, notes) = (lock("daemon"), scratch("daemon"));
    let script = format!(
        "sleep 300 & echo $! >> {0}; setsid sh -c 'echo $$ >> {0}; exec sleep 300' & sleep 0.5",
        notes.display()
    );

    let (code, ..) = output(inside.run(&lock, &[], &["bash", "-c", &script])).await;

    let pids = ids(&notes, 2).await;
    assert_eq!(code, 0);
    assert!(!pids.iter().any(|pid| lives(*pid)), "{pids:?}");
}

#[tokio::test]
async fn what_a_daemon_started_does_not_outlive_the_lock_however_slowly_the_daemon_dies() {
    let inside = Inside::open().await;
    let (lock, notes) = (lock("slow-daemon"), scratch("slow-daemon"));
    // The more memory a process has, the longer its end takes. Until then its child has no other parent.
    let daemon = format!(
        "x=$(head -c 300000000 /dev/zero | tr '\\0' a); setsid sleep 300 > /dev/null 2>&1 & echo $! >> {0}; wait",
        notes.display()
    );
    let script = format!(
        "setsid bash -c \"$0\" & until test -s {0}; do sleep 0.1; done",
        notes.display()
    );

    let (code, _, stderr) = output(inside.run(&lock, &[], &["bash", "-c", &script, &daemon])).await;

    let pids = ids(&notes, 1).await;
    assert_eq!(code, 0, "{stderr}");
    assert!(!lives(pids[0]), "{stderr}");
}

#[tokio::test]
async fn processes_that_lost_their_parent_are_waited_for() {
    let inside = Inside::open().await;
    let (lock, notes) = (lock("zombie"), scratch("zombie"));
    // The one in the middle ends at once, so the last one becomes a child of lockstep, and ends.
    let script = format!(
        "(sh -c 'echo $$ >> {0}; sleep 0.2' &) ; sleep 30",
        notes.display()
    );
    let run = Started::of(inside.run(&lock, &[], &["bash", "-c", &script]));
    let orphan = ids(&notes, 1).await[0];

    until("no zombie", 10, async || {
        !PathBuf::from(format!("/proc/{orphan}")).exists()
    })
    .await;

    assert_eq!(run.children().len(), 1, "the command works on");
}

#[tokio::test]
async fn a_command_that_writes_much_is_neither_cut_nor_held_up() {
    let (inside, lock) = Inside::with_lock("pipe").await;

    let (code, out, _) =
        output(inside.run(&lock, &[], &["sh", "-c", "yes 0123456789 | head -n 200000"])).await;

    assert_eq!((code, out.len()), (0, 200_000 * 11));
}

#[tokio::test]
async fn a_run_that_is_over_its_time_is_stopped_with_124() {
    let (inside, lock) = Inside::with_lock("max-run").await;

    let (code, _, stderr) =
        output(inside.run(&lock, &["--max-run", "1s"], &["sleep", "300"])).await;

    assert_eq!(code, 124, "{stderr}");
    assert!(stderr.contains("--max-run"), "{stderr}");
    assert_eq!(inside.held(&lock).await, 0);
}

/// A daemon: in a session of its own, and its parent has ended. It writes its id.
fn daemon(notes: &Path) -> String {
    let notes = notes.display();
    format!("(setsid sh -c 'echo $$ >> {notes}; exec sleep 300' > /dev/null 2>&1 &) ; sleep 300")
}

#[tokio::test]
async fn a_daemon_dies_with_a_run_that_is_killed() {
    let inside = Inside::open().await;
    let (lock, notes) = (lock("daemon-killed"), scratch("daemon-killed"));
    let mut run = Started::of(inside.run(&lock, &[], &["sh", "-c", &daemon(&notes)]));
    let daemon = ids(&notes, 1).await;

    run.signal("KILL").await;

    assert_eq!(run.code().await, 137);
    until_dead(&daemon, 5).await;
}

#[tokio::test]
async fn a_daemon_of_a_run_that_is_stopped_is_dead_before_the_lease_ends() {
    let inside = Inside::open().await;
    let (lock, notes) = (lock("daemon-stopped"), scratch("daemon-stopped"));
    let flags = ["--lease", "5s"];
    let run = Started::of(inside.run(&lock, &flags, &["sh", "-c", &daemon(&notes)]));
    let daemon = ids(&notes, 1).await;

    run.signal("STOP").await;

    until_dead(&daemon, 10).await;
    let end = inside.lease_end(&lock).await;
    assert!(lockstep_tests::stack::now() < end, "{end}");
    run.signal("KILL").await;
}

#[tokio::test]
async fn a_daemon_dies_with_an_agent_that_is_killed() {
    let inside = Inside::open().await;
    let notes = scratch("daemon-agent");
    let flags = ["--lease", "9s", "--", "sh", "-c", &daemon(&notes)];
    let mut agent = Agent::start(&inside, &flags).await;
    let daemon = ids(&notes, 1).await;

    agent.process.signal("KILL").await;

    assert_eq!(agent.process.code().await, 137);
    until_dead(&daemon, 5).await;
}

#[tokio::test]
async fn a_daemon_with_another_environment_dies_too_once_it_was_seen_below_its_command() {
    let inside = Inside::open().await;
    let (lock, notes) = (lock("daemon-env"), scratch("daemon-env"));
    let script = format!(
        "setsid env -i sh -c 'echo $$ >> {}; exec sleep 300' & sleep 300",
        notes.display()
    );
    let mut run = Started::of(inside.run(&lock, &[], &["sh", "-c", &script]));
    let daemon = ids(&notes, 1).await;
    // The watchdog lists processes once a second.
    lockstep_tests::stack::pause(2_500).await;

    run.signal("KILL").await;

    assert_eq!(run.code().await, 137);
    until_dead(&daemon, 5).await;
}

#[tokio::test]
async fn a_long_chain_of_sessions_does_not_outlive_the_lock() {
    let inside = Inside::open().await;
    let (lock, notes, link) = (lock("chain"), scratch("chain"), scratch("chain-link"));
    let script = "[ $1 -gt 0 ] && setsid sh $0 $(($1 - 1)) $2 & echo $$ >> $2; wait; sleep 300";
    std::fs::write(&link, script).expect("a script");
    let (link, place) = (link.display(), notes.display());
    let script = format!(
        "setsid sh {link} 599 {place} > /dev/null 2>&1 & until [ \"$(wc -l < {place})\" = 600 ]; do sleep 0.1; done"
    );

    let (code, _, stderr) = output(inside.run(&lock, &[], &["sh", "-c", &script])).await;

    let chain = ids(&notes, 600).await;
    assert_eq!(code, 0, "{stderr}");
    let left = chain.iter().filter(|id| lives(**id)).count();
    assert_eq!(left, 0, "{stderr}");
}
