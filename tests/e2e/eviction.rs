//! A waiter that leaves the queue at the moment of its turn: the one behind it is not forgotten.

use crate::stack;
use crate::support::{at_work, in_queue};
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{Stack, now, pause, runs, unique};

/// When the waiter in front leaves, in milliseconds from the end of the holder's work.
const MOMENTS: [i64; 6] = [-200, 0, 150, 300, 500, 800];

/// How long a waiting run may be left beside a free lock: far less than its own interval of five
/// minutes.
const LEFT_SECONDS: u64 = 45;

#[tokio::test]
async fn the_next_waiter_runs_when_the_one_in_front_dies_at_its_turn() {
    let stack = stack().await;
    let leaves = |index: usize| leaves_at(&stack, MOMENTS[index]);
    tokio::join!(leaves(0), leaves(1), leaves(2));
    tokio::join!(leaves(3), leaves(4), leaves(5));
}

async fn leaves_at(stack: &Stack, moment: i64) {
    const WORK_SECONDS: u32 = 8;
    let lock = unique("leaves");
    let input = stack.batch_input(&lock).seconds(0.5);
    let first = at_work(stack, &input.clone().seconds(WORK_SECONDS.into())).await;
    let front = in_queue(stack, &input, 1).await;
    let behind = in_queue(stack, &input, 2).await;
    let records = stack.records(&lock).await;
    let end = runs(&records)[0].start + 1000 * u64::from(WORK_SECONDS);
    let at = end.saturating_add_signed(moment);
    pause(at.saturating_sub(now())).await;
    stack.abort(&front).await;
    assert!(stack.wait(&first.arn, 30).await.ran(), "{moment} ms");
    let ended = stack.wait(&behind, LEFT_SECONDS + 10).await;
    assert!(ended.ran(), "{moment} ms: {ended:?}");
    let expected = Expected::permits(1).stops(&front);
    let containers = stack.judge(&lock, &expected).await;
    let own = containers.iter().find(|one| one.holder == behind);
    let left = own
        .expect("its container")
        .started
        .saturating_sub(end.max(at));
    eprintln!(
        "figure: the waiter in front leaves {moment} ms after the end: the next works {left} ms later"
    );
    assert!(
        left < LEFT_SECONDS * 1000,
        "{moment} ms: {left} ms beside a free lock"
    );
}
