//! Containers and workflows in one queue: a container wakes no workflow itself.

use super::{Fleet, Work};
use crate::support::lock;
use lockstep_tests::stack::{now, until};

#[tokio::test]
async fn a_workflow_that_waits_behind_a_container_is_woken_although_that_may_end_no_state() {
    let fleet = Fleet::open().await;
    let lock = lock("handed-over");
    let (first, _) = fleet.at_work(&Work::guarded(&lock, &[]).seconds(8.0)).await;
    let input = fleet.stack().batch_input(&lock).seconds(0.3).queued();
    let next = fleet.stack().start(&input).await;
    let what = format!("a workflow in the queue of {lock}");
    until(&what, 20, async || fleet.waiting(&lock).await == 1).await;

    assert_eq!(fleet.ended(&first, 30).await.code, 0);
    let released = now();

    // Its own interval is 300 s, and the sweep starts every minute.
    assert!(fleet.stack().wait(&next, 20).await.ran(), "it is woken");
    eprintln!(
        "figure: a workflow behind a container has run {} ms after its end",
        now() - released
    );
}
