//! What the tests share: the stack, a run at work, and what must be true of every lock.

use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{BatchInput, Ended, Record, Stack};
pub(crate) use lockstep_tests::stack::{at_work, in_queue};
use std::ops::Deref;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Held shared by most tests, and alone by a storm, which leaves no room for other tests'
/// heartbeats.
static ROOM: RwLock<()> = RwLock::const_new(());

/// The stack, for a test that runs beside others.
pub(crate) struct Shared {
    stack: Stack,
    _room: RwLockReadGuard<'static, ()>,
}

impl Deref for Shared {
    type Target = Stack;

    fn deref(&self) -> &Stack {
        &self.stack
    }
}

pub(crate) async fn stack() -> Shared {
    Shared {
        _room: ROOM.read().await,
        stack: connect().await,
    }
}

/// Waits until no test runs that asked for [`stack`]. Such tests wait until the guard is dropped.
pub(crate) async fn alone() -> RwLockWriteGuard<'static, ()> {
    ROOM.write().await
}

/// Connects to the stack, for a test that a storm does not disturb or that makes one.
pub(crate) async fn connect() -> Stack {
    match Stack::connect().await {
        Ok(stack) => stack,
        Err(problem) => panic!("{problem}"),
    }
}

/// Waits until the execution `arn` has run. Prints how long after `since` its container started.
pub(crate) async fn runs_after(stack: &Stack, what: &str, lock: &str, arn: &str, since: u64) {
    let ended = stack.wait(arn, 60).await;
    assert!(ended.ran(), "{ended:?}");
    let start = stack.container_start(lock, arn).await;
    let millis = start.saturating_sub(since);
    eprintln!("figure: {what}: the next container starts {millis} ms after it");
}

/// Waits until the lock has no holder, and checks that another run of it succeeds.
pub(crate) async fn is_usable(stack: &Stack, input: &BatchInput) {
    stack.wait_free(input.lock(), 30).await;
    let ended = stack.run(&input.clone().seconds(0.2), 30).await;
    assert!(ended.ran(), "{ended:?}");
}

/// Returns the one execution that ran, and the others.
pub(crate) fn one_that_ran(all: Vec<Ended>) -> (Ended, Vec<Ended>) {
    let (mut ran, others): (Vec<_>, Vec<_>) = all.into_iter().partition(Ended::ran);
    assert_eq!(ran.len(), 1, "{ran:?} ran, not {others:?}");
    (ran.remove(0), others)
}

/// Checks that `count` containers of `lock` ran, never two at once, and that none was stopped.
pub(crate) async fn ran_alone(stack: &Stack, lock: &str, count: usize) -> Vec<Record> {
    ran_alone_but_stopped(stack, lock, count, &[]).await
}

/// Checks the same as [`ran_alone`], but the work of the executions `stopped` may have been
/// stopped.
pub(crate) async fn ran_alone_but_stopped(
    stack: &Stack,
    lock: &str,
    count: usize,
    stopped: &[&str],
) -> Vec<Record> {
    let expected = stopped
        .iter()
        .fold(Expected::permits(1), |expected, one| expected.stops(one));
    let containers = stack.judge(lock, &expected).await;
    assert_eq!(
        containers.len(),
        count,
        "containers of {lock}: {containers:?}"
    );
    stack.records(lock).await
}
