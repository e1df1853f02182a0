//! Containers that die without a word: the next in line starts on evidence.

use super::{Fleet, Logged, Task, Work};
use crate::support::lock;
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::{ending, now};

/// So long that only evidence explains a start before its end.
const LEASE: &str = "60s";

/// A batch at work for long, and one that waits for its lock.
async fn pair(fleet: &Fleet, lock: &str, work: impl Fn(&[&str]) -> Work) -> (Task, Logged, Task) {
    let flags = ["--lease", LEASE, "--overlap", "queue"];
    let (first, start) = fleet.at_work(&work(&flags).seconds(300.0)).await;
    let next = work(&flags).seconds(0.3);
    let next = fleet.start_in_line(lock, &next, 1).await;
    (first, start, next)
}

/// The end of the lease that is held, in epoch milliseconds.
async fn lease_end(fleet: &Fleet, lock: &str) -> u64 {
    let record = fleet.record(lock).await.expect("a record");
    let lease = record.holders.values().next().expect("a holder");
    lease.expires_at.millis()
}

#[tokio::test]
async fn the_next_in_line_starts_before_the_lease_ends_when_a_container_is_killed() {
    let fleet = Fleet::open().await;
    let lock = lock("container-kill");
    let (first, start, next) = pair(&fleet, &lock, |flags| Work::guarded(&lock, flags)).await;
    let container = first.runtime_id(fleet.stack()).await;

    let (killed, lease) = (now(), lease_end(&fleet, &lock).await);
    fleet.docker("kill", &first).await;
    let began = fleet.until_logged(&next, "start", 90).await;

    let dead = fleet.ended(&first, 10).await;
    eprintln!(
        "figure: container killed, lease {LEASE}: the next starts {} ms later",
        began.at.saturating_sub(killed)
    );
    assert_eq!(dead.code, 137);
    assert!(
        dead.at <= began.at && began.at < lease,
        "{dead:?} {began:?}"
    );
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
async fn without_the_right_to_ask_ecs_the_next_in_line_starts_when_the_lease_is_over() {
    let fleet = Fleet::open().await;
    let lock = lock("blind");
    let blind = fleet.stack().fixture("InsideBlindRoleArn");
    let work = |next: &str| {
        let flags = ["--lease", next, "--overlap", "queue"];
        Work::guarded(&lock, &flags).of_task("taskRoleArn", blind)
    };
    let (first, _) = fleet.at_work(&work("10s").seconds(300.0)).await;
    let next = fleet
        .start_in_line(&lock, &work("10s").seconds(0.3), 1)
        .await;

    fleet.docker("kill", &first).await;
    fleet.ended(&first, 10).await;
    let lease = lease_end(&fleet, &lock).await;
    let began = fleet.until_logged(&next, "start", 40).await;

    assert!(began.at > lease, "{began:?}, though the lease ends {lease}");
    assert_eq!(fleet.ended(&next, 30).await.code, 0);
}

#[tokio::test]
async fn a_batch_out_of_memory_is_survived_by_its_guard_which_gives_the_lock_back() {
    let fleet = Fleet::open().await;
    let lock = lock("memory");
    let flags = ["--lease", LEASE, "--overlap", "queue"];
    let greedy = Work::guarded(&lock, &flags)
        .seconds(300.0)
        .env("BATCH_MEMORY_MB", 900);
    let (first, start) = fleet.at_work(&greedy).await;

    let next = fleet
        .start(&Work::guarded(&lock, &flags).seconds(0.3))
        .await;
    let ended = fleet.ended(&first, 60).await;
    let began = fleet.until_logged(&next, "start", 30).await;

    eprintln!(
        "figure: out of memory: the next starts {} ms after the task's end",
        i128::from(began.at) - i128::from(ended.at)
    );
    assert_eq!(ended.code, 137, "{:#?}", fleet.lines(&first).await);
    let run = fleet.stack().entry(&lock, start.token()).await;
    let run = run.expect("an entry");
    assert_eq!(run.outcome(), Some(RunOutcome::Failed), "{run:?}");
    assert_eq!(fleet.ended(&next, 30).await.code, 0);
}
