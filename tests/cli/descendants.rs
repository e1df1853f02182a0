//! Processes that leave the group of their command: `setsid`, two forks, another environment.

use crate::agent::Agent;
use crate::support::{Inside, Started, ids, lives, lock, output, scratch, until_dead};
use std::path::Path;

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
