//! Containers that die or freeze without a release: the next waiter, also a workflow, starts on
//! evidence.

use super::fleet::relay;
use super::{Fleet, Logged, Task, Work};
use crate::support::{FencedResource, lock};
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::{ending, now};

/// A lease so long that only evidence explains a start before its end.
const LEASE: &str = "60s";

/// Starts a batch that works for long, and one that waits for its lock.
async fn pair(fleet: &Fleet, lock: &str, work: impl Fn(&[&str]) -> Work) -> (Task, Logged, Task) {
    let flags = ["--lease", LEASE, "--overlap", "queue"];
    let (first, start) = fleet.at_work(&work(&flags).seconds(300.0)).await;
    let next = work(&flags).seconds(0.3);
    let next = fleet.start_in_line(lock, &next, 1).await;
    (first, start, next)
}

#[tokio::test]
async fn the_next_waiter_starts_before_a_killed_containers_lease_ends() {
    let (fleet, lock) = Fleet::with_lock("container-kill").await;
    let (first, start, next) = pair(&fleet, &lock, |flags| Work::guarded(&lock, flags)).await;
    let container = first.runtime_id(fleet.stack()).await;

    let (killed, lease) = (now(), fleet.lease_end(&lock).await);
    fleet.docker("kill", &first).await;
    let began = fleet.until_logged(&next, "start", 90).await;

    let dead = fleet.ended(&first, 10).await;
    let took = began.at.saturating_sub(killed);
    eprintln!("figure: container killed, lease {LEASE}: the next starts {took} ms later");
    assert_eq!(dead.code, 137);
    let is_in_time = dead.at <= began.at && began.at < lease;
    assert!(is_in_time, "{dead:?} {began:?}");
    assert!(began.token() > start.token());
    assert_eq!(fleet.ended(&next, 30).await.code, 0);
    let run = fleet.stack().whole_entry(&lock, start.token(), 10).await;
    let (outcome, evidence) = ending(&run);
    assert_eq!(outcome, RunOutcome::Recovered, "{run:?}");
    assert!(evidence.to_lowercase().contains("stopped"), "{evidence}");
    let recorded = run.task.expect("the task");
    assert_eq!(recorded.arn, first.arn);
    assert_eq!(recorded.runtime_id, Some(container));
    assert_eq!(recorded.exit_code, Some(137));
}

#[tokio::test]
async fn without_rights_at_ecs_the_next_waiter_starts_when_the_lease_ends() {
    let (fleet, lock) = Fleet::with_lock("blind").await;
    let blind = fleet.stack().fixture("InsideBlindRoleArn");
    let flags = ["--lease", "10s", "--overlap", "queue"];
    let work = Work::guarded(&lock, &flags).of_task("taskRoleArn", blind);
    let (first, _) = fleet.at_work(&work.clone().seconds(300.0)).await;
    let next = work.seconds(0.3);
    let next = fleet.start_in_line(&lock, &next, 1).await;

    fleet.docker("kill", &first).await;
    fleet.ended(&first, 10).await;
    let lease = fleet.lease_end(&lock).await;
    let began = fleet.until_logged(&next, "start", 40).await;

    assert!(began.at > lease, "{began:?}, though the lease ends {lease}");
    assert_eq!(fleet.ended(&next, 30).await.code, 0);
}

#[tokio::test]
async fn lockstep_outlives_a_batch_out_of_memory_and_releases_its_lock() {
    let (fleet, lock) = Fleet::with_lock("memory").await;
    let flags = ["--lease", LEASE, "--overlap", "queue"];
    let work = Work::guarded(&lock, &flags);
    let greedy = work.clone().seconds(300.0).env("BATCH_MEMORY_MB", 900);
    let (first, start) = fleet.at_work(&greedy).await;

    let next = fleet.start(&work.seconds(0.3)).await;
    let ended = fleet.ended(&first, 60).await;
    let began = fleet.until_logged(&next, "start", 30).await;

    let gap = i128::from(began.at) - i128::from(ended.at);
    eprintln!("figure: out of memory: the next starts {gap} ms after the task's end");
    assert_eq!(ended.code, 137, "{:#?}", fleet.lines(&first).await);
    let run = fleet.stack().entry(&lock, start.token()).await;
    let run = run.expect("an entry");
    assert_eq!(run.outcome(), Some(RunOutcome::Failed), "{run:?}");
    assert_eq!(fleet.ended(&next, 30).await.code, 0);
}

#[tokio::test]
async fn a_workflow_that_waits_behind_a_container_is_woken() {
    let (fleet, lock) = Fleet::with_lock("handed-over").await;
    let (first, _) = fleet.at_work(&Work::guarded(&lock, &[]).seconds(8.0)).await;
    let input = fleet.stack().batch_input(&lock).seconds(0.3).queued();
    let next = fleet.stack().start(&input).await;
    fleet.until_waiting(&lock, 1, 20).await;

    assert_eq!(fleet.ended(&first, 30).await.code, 0);
    let released = now();

    // The interval of the workflow is 300 s, and the sweep starts every minute.
    assert!(fleet.stack().wait(&next, 20).await.ran(), "it is woken");
    let took = now() - released;
    eprintln!("figure: a workflow behind a container has run {took} ms after its end");
}

/// Writes to the resource fifty times a second, from a session of its own. A process that left the
/// group of the command lives a few moments longer than the command, and writes late.
const WRITER: &str = r#"
    host=${AWS_ENDPOINT_URL#http://}; host=${host%%:*}
    export host
    /bin/busybox setsid /bin/sh -c '
        while :; do echo "$LOCKSTEP_LOCK $LOCKSTEP_FENCING_TOKEN $ROLE"; sleep 0.02; done |
            /bin/busybox nc "$host" "$LEDGER_PORT" > /dev/null' &
    wait"#;

#[tokio::test]
async fn a_container_that_wakes_up_late_is_fenced_off_and_ends_with_76() {
    let fleet = Fleet::open().await;
    let (lock, resource) = (lock("frozen"), FencedResource::open().await);
    let relay = relay(resource.variable()).await;
    let flags = ["--lease", "6s", "--overlap", "queue", "--grace", "1s"];
    let work = |role| {
        let work = Work::guarded(&lock, &flags).script(WRITER);
        work.env("LEDGER_PORT", relay.port).env("ROLE", role)
    };
    let active = fleet.start(&work("active")).await;
    resource.until_received("active", 5, 30).await;
    let standby = fleet.start_in_line(&lock, &work("standby"), 1).await;

    let frozen = now();
    fleet.docker("pause", &active).await;
    resource.until_received("standby", 20, 40).await;
    // The container was never seen to stop, so only the end of its lease freed its permit.
    let status = fleet.stack().task(&active.arn).await["lastStatus"].clone();
    let resumed = now();
    fleet.docker("unpause", &active).await;
    let ended = fleet.ended(&active, 20).await;

    let begun = resource.received("standby")[0].at;
    let late = resource.received("active").into_iter();
    let late: Vec<_> = late.filter(|entry| entry.at >= resumed).collect();
    eprintln!(
        "figure: frozen, lease 6s: the next works {} ms later; woken up, the first ends after {} ms, \
         {} late writes came, none was taken",
        begun - frozen,
        ended.at.saturating_sub(resumed),
        late.len()
    );
    assert_eq!((status.as_str(), ended.code), (Some("RUNNING"), 76));
    assert!(late.iter().all(|entry| !entry.taken), "{late:?}");
    assert!(resource.received("standby").iter().all(|entry| entry.taken));
    fleet.stop(&standby).await;
    assert_eq!(fleet.ended(&standby, 20).await.code, 143);
}
